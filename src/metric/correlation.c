/* Correlations. */
#include "metric/correlation.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

double hd_pearson(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) mean_x += x[i] / (double)n, mean_y += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double dx = x[i] - mean_x, dy = y[i] - mean_y;
        xx += dx * dx, yy += dy * dy, xy += dx * dy;
    }
    return n > 1 && xx > 0 && yy > 0 ? xy / sqrt(xx) / sqrt(yy) : NAN;
}

typedef struct place {
    double value;
    size_t at;
} place;

static int by_value(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* Ranks from 0 on; room is of n places. */
static void rank_of(double *rank, place *room, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) room[i] = (place){x[i], i};
    qsort(room, n, sizeof *room, by_value);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && !(room[to].value > room[from].value);) to++;
        for (size_t i = from; i < to; i++) rank[room[i].at] = (double)(from + to - 1) / 2;
    }
}

hd_status hd_spearman(double *out, const double *x, const double *y, size_t n, hd_err *err)
{
    double *rank = hd_mem_array(2 * n + 1, sizeof *rank);
    place *room = hd_mem_array(n + 1, sizeof *room);
    hd_status s = rank && room ? HD_OK : hd_err_nomem(err, n * sizeof *room);
    if (!s) {
        rank_of(rank, room, x, n);
        rank_of(rank + n, room, y, n);
        *out = hd_pearson(rank, rank + n, n);
    }
    hd_mem_free(room);
    hd_mem_free(rank);
    return s;
}
