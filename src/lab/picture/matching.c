/* Costs of random tables, matched in three ways. */
#include "lab/picture/matching.h"

#include <math.h>

#include "base/rng.h"
#include "metric/assignment.h"

enum { MOST = HD_MATCHING_MOST };

/* The least sum of costs from a row on, by trying all columns that are left. */
static double try_all(const double *cost, size_t rows, size_t cols, size_t row, unsigned taken)
{
    double least = row == rows ? 0 : (double)INFINITY;
    for (size_t c = 0; row < rows && c < cols; c++)
        if (!(taken >> c & 1))
            least = fmin(least, cost[row * cols + c] + try_all(cost, rows, cols, row + 1, taken | 1u << c));
    return least;
}

/* The sum where each row in turn takes the cheapest column that is left. */
static double take_turns(const double *cost, size_t rows, size_t cols)
{
    double sum = 0;
    unsigned taken = 0;
    for (size_t k = 0; k < rows; k++) {
        size_t best = cols;
        for (size_t c = 0; c < cols; c++)
            if (!(taken >> c & 1) && (best == cols || cost[k * cols + c] < cost[k * cols + best])) best = c;
        taken |= 1u << best, sum += cost[k * cols + best];
    }
    return sum;
}

hd_status hd_matching_try(hd_matching *to, uint64_t seed, hd_err *err)
{
    hd_rng rng = hd_rng_make(seed, 8);
    double gap = 0, sum = 0, greedy = 0, cost[MOST * MOST];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < HD_MATCHING_TABLES; i++) {
        const size_t rows = 1 + hd_rng_below(&rng, MOST),
                     cols = rows + hd_rng_below(&rng, (uint32_t)(MOST + 1 - rows));
        double matched = 0;
        int32_t column[MOST] = {0};
        for (size_t k = 0; k < rows * cols; k++) cost[k] = hd_rng_unit(&rng);
        s = hd_assign(cost, rows, cols, column, err);
        for (size_t k = 0; k < rows; k++) matched += cost[k * cols + (size_t)column[k]];
        const double least = try_all(cost, rows, cols, 0, 0);
        sum += least, greedy += take_turns(cost, rows, cols), gap = fmax(gap, fabs(matched - least));
    }
    *to = (hd_matching){gap, greedy / sum};
    return s;
}
