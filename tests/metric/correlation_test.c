/* Pearson's and Spearman's correlation of cases that are worked out by hand. */
#include "check.h"

#include "metric/correlation.h"

static double spearman(const double *x, const double *y, size_t n)
{
    hd_err err = {0};
    double rho = 0;
    if (hd_spearman(&rho, x, y, n, &err)) fail_msg("%s", err.text);
    return rho;
}

static void pearson_by_hand(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4}, y[] = {2, 1, 4, 3}, down[] = {-10, -20, -30, -40};
    /* deviations -1.5 -0.5 0.5 1.5 and -0.5 -1.5 1.5 0.5: products 0.75 0.75 0.75 0.75, squares 5 and 5 */
    assert_true(fabs(hd_pearson(x, y, 4) - 3.0 / 5) < 1e-15);
    assert_true(fabs(hd_pearson(x, down, 4) + 1) < 1e-15);
    static const double far[] = {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4}; /* far from 0 it is the same */
    assert_true(fabs(hd_pearson(far, y, 4) - 3.0 / 5) < 1e-9);
}

static void what_does_not_vary_has_none(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3}, same[] = {5, 5, 5};
    assert_true(isnan(hd_pearson(x, same, 3)) && isnan(hd_pearson(same, x, 3)));
    assert_true(isnan(hd_pearson(x, x, 1)) && isnan(hd_pearson(x, x, 0)));
    assert_true(isnan(spearman(x, same, 3)) && isnan(spearman(x, x, 0)));
}

static void spearman_is_of_ranks(void **state)
{
    (void)state;
    static const double x[] = {1, 10, 100, 1000}, y[] = {0.1, 0.2, 0.3, 4000}, turned[] = {4, 3, 2, 1};
    assert_true(fabs(spearman(x, y, 4) - 1) < 1e-15);
    assert_true(fabs(spearman(x, turned, 4) + 1) < 1e-15);
    /* without ties 1 - 6 sum d^2 / (n (n^2 - 1)): ranks 1 2 3 4 5 and 2 1 4 3 5, d^2 1 1 1 1 0 */
    static const double a[] = {1, 2, 3, 4, 5}, b[] = {20, 10, 40, 30, 50};
    assert_true(fabs(spearman(a, b, 5) - (1 - 6.0 * 4 / (5 * 24))) < 1e-15);
}

/* 1 2 2 3 has the ranks 1 2.5 2.5 4, deviations -1.5 0 0 1.5; 1 2 3 4 has -1.5 -0.5 0.5 1.5: 4.5 over
   sqrt(4.5 * 5). */
static void ties_share_the_mean_of_their_ranks(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4}, mixed[] = {2, 3, 1, 2};
    assert_true(fabs(spearman(x, y, 4) - 4.5 / sqrt(4.5 * 5)) < 1e-15);
    static const double z[] = {2, 4, 1, 3}; /* 2.5 4 1 2.5 to 2 4 1 3: 0 + 2.25 + 2.25 + 0 over the same */
    assert_true(fabs(spearman(mixed, z, 4) - 4.5 / sqrt(4.5 * 5)) < 1e-15);
}

static void want_of_memory_is_said(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3};
    size_t blocks = hd_mem_now().blocks;
    for (size_t n = 1; n <= 2; n++) {
        hd_err err = {0};
        double rho;
        hd_mem_fail_at(n);
        assert_int_equal(hd_spearman(&rho, x, x, 3, &err), HD_ENOMEM);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pearson_by_hand),        cmocka_unit_test(what_does_not_vary_has_none),
        cmocka_unit_test(spearman_is_of_ranks),   cmocka_unit_test(ties_share_the_mean_of_their_ranks),
        cmocka_unit_test(want_of_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
