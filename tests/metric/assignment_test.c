/* The assignment costs no more than the best of all assignments, tried one by one. */
#include "metric/assignment.h"

#include "check.h"

enum { MOST = 7 };

/* The least cost of giving rows from `row` on each a free column; rows <= cols. */
static double tried(const double *cost, size_t rows, size_t cols, size_t row, unsigned taken)
{
    if (row == rows) return 0;
    double best = INFINITY;
    for (size_t c = 0; c < cols; c++)
        if (!(taken >> c & 1))
            best = fmin(best, cost[row * cols + c] + tried(cost, rows, cols, row + 1, taken | 1u << c));
    return best;
}

static double brute(const double *cost, size_t rows, size_t cols)
{
    double turned[MOST * MOST];
    if (rows <= cols) return tried(cost, rows, cols, 0, 0);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) turned[c * rows + r] = cost[r * cols + c];
    return tried(turned, cols, rows, 0, 0);
}

static double assigned(const double *cost, size_t rows, size_t cols, int32_t *column)
{
    hd_err err = {0};
    unsigned taken = 0;
    size_t with = 0;
    double sum = 0;
    assert_int_equal(hd_assign(cost, rows, cols, column, &err), HD_OK);
    for (size_t r = 0; r < rows; r++) {
        if (column[r] < 0) continue;
        assert_true((size_t)column[r] < cols);
        assert_false(taken >> column[r] & 1);
        taken |= 1u << column[r], with++;
        sum += cost[r * cols + (size_t)column[r]];
    }
    assert_int_equal(with, rows < cols ? rows : cols);
    return sum;
}

static void equal_to_brute_force(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(5, 1);
    for (int round = 0; round < 600; round++) {
        size_t rows = hd_rng_below(&rng, MOST) + 1, cols = hd_rng_below(&rng, MOST) + 1;
        double cost[MOST * MOST];
        int32_t column[MOST];
        bool tied = round % 2; /* few different costs: many answers are the best */
        for (size_t i = 0; i < rows * cols; i++)
            cost[i] = tied ? (double)hd_rng_below(&rng, 3) : 10 * hd_rng_normal(&rng);
        double best = brute(cost, rows, cols), sum = assigned(cost, rows, cols, column);
        assert_true(fabs(sum - best) <= 1e-9 * (1 + fabs(best)));
    }
}

/* Costs that are no numbers are taken only where there is no other way. */
static void broken_costs_are_the_last_choice(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(6, 1);
    const double broken[] = {NAN, INFINITY, -INFINITY};
    for (int round = 0; round < 400; round++) {
        size_t rows = hd_rng_below(&rng, MOST) + 1, cols = hd_rng_below(&rng, MOST) + 1;
        double cost[MOST * MOST], plain[MOST * MOST];
        int32_t column[MOST];
        for (size_t i = 0; i < rows * cols; i++) {
            plain[i] = cost[i] = hd_rng_normal(&rng);
            if (hd_rng_below(&rng, 3)) continue;
            cost[i] = broken[hd_rng_below(&rng, 3)], plain[i] = 1e6;
        }
        double best = brute(plain, rows, cols), sum = 0;
        assigned(cost, rows, cols, column);
        for (size_t r = 0; r < rows; r++)
            if (column[r] >= 0) sum += plain[r * cols + (size_t)column[r]];
        assert_true(fabs(sum - best) <= 1e-8);
    }
}

static void nothing_to_assign_is_fine(void **state)
{
    (void)state;
    hd_err err = {0};
    int32_t column[2] = {5, 5};
    assert_int_equal(hd_assign(NULL, 0, 3, column, &err), HD_OK);
    assert_int_equal(hd_assign(NULL, 2, 0, column, &err), HD_OK);
    assert_int_equal(column[0], -1);
    assert_int_equal(column[1], -1);
}

/* The size of a DETR: 100 queries, 30 boxes. */
static void no_exchange_improves_a_large_one(void **state)
{
    (void)state;
    enum { QUERIES = 100, BOXES = 30 };
    hd_rng rng = hd_rng_make(7, 1);
    double cost[QUERIES * BOXES], sum = 0;
    int32_t column[QUERIES], again[QUERIES];
    hd_err err = {0};
    for (size_t i = 0; i < QUERIES * BOXES; i++) cost[i] = hd_rng_unit(&rng);
    assert_int_equal(hd_assign(cost, QUERIES, BOXES, column, &err), HD_OK);
    for (size_t i = 0; i < QUERIES; i++)
        if (column[i] >= 0) sum += cost[i * BOXES + (size_t)column[i]];
    /* no exchange of two rows makes it cheaper */
    for (size_t i = 0; i < QUERIES; i++)
        for (size_t k = 0; column[i] >= 0 && k < QUERIES; k++) {
            double now = cost[i * BOXES + (size_t)column[i]], then = cost[k * BOXES + (size_t)column[i]];
            if (column[k] >= 0)
                now += cost[k * BOXES + (size_t)column[k]], then += cost[i * BOXES + (size_t)column[k]];
            assert_true(then >= now - 1e-12);
        }
    assert_int_equal(hd_assign(cost, QUERIES, BOXES, again, &err), HD_OK);
    assert_memory_equal(column, again, sizeof column);
    assert_true(sum > 0 && sum < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_brute_force),
        cmocka_unit_test(broken_costs_are_the_last_choice),
        cmocka_unit_test(nothing_to_assign_is_fine),
        cmocka_unit_test(no_exchange_improves_a_large_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
