/* One matrix shifts every position by the same distance, in double, whatever the layout. Tables of grids are
   resized as torch does it, and the gradient flows back into them. */
#include "op/gradient.h"

#include "nn/position.h"

static void one_matrix_shifts_every_position(void **state)
{
    (void)state;
    enum { ROWS = 500, MOST = 64 };
    static hd_real p[ROWS * MOST], m[MOST * MOST];
    static const hd_sinusoid layouts[] = {{0}, {.halves = true}, {.first = 1}, {.base = 100, .offset = 3}};
    double worst = 0, moved = 0;
    for (size_t k = 0; k < COUNT_OF(layouts); k++)
        for (size_t d = 2; d <= MOST; d += 6)
            for (size_t tau = 1; tau < 100; tau += 13) {
                hd_sinusoid_fill(p, ROWS, d, &layouts[k]);
                hd_sinusoid_shift(m, d, (double)tau, &layouts[k]);
                for (size_t t = 0; t + tau < ROWS; t++)
                    for (size_t i = 0; i < d; i++) {
                        double sum = 0, want = (double)p[(t + tau) * d + i];
                        for (size_t j = 0; j < d; j++) sum += (double)m[i * d + j] * (double)p[t * d + j];
                        worst = fmax(worst, fabs(sum - want));
                        moved = fmax(moved, fabs(want - (double)p[t * d + i]));
                    }
            }
    print_message("off by %.2g at most\n", worst);
    assert_true(worst < 1e-12 && moved > 1);
}

/* torch's interpolate(mode="bicubic", align_corners=False) of 0 1 2 3 to 6 */
static void four_positions_become_six_as_in_torch(void **state)
{
    (void)state;
    enum { N = 4, TO = 6 };
    const double expected[TO] = {-.0868056, .40625, 1.212963, 1.787037, 2.59375, 3.086806};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_real table[(1 + N * N) * 2];
    for (size_t i = 0; i <= N * N; i++) /* a class token, then across and down */
        table[2 * i] = (hd_real)(i ? (i - 1) % N : 9), table[2 * i + 1] = (hd_real)(i ? (i - 1) / N : 7);
    hd_tensor *t = hd_from(&r, 1 + N * N, 2, table);
    assert_ptr_equal(hd_positions_resized(&r, t, &(hd_position_grid){1, N, N, N, N}), t);
    hd_real *y = host_copy(&r, hd_positions_resized(&r, t, &(hd_position_grid){1, N, N, TO, TO}));
    assert_true(y[0] == 9 && y[1] == 7);
    for (size_t i = 0; i < TO * TO; i++) {
        assert_true(fabs((double)y[2 + 2 * i] - expected[i % TO]) < 1e-6);
        assert_true(fabs((double)y[3 + 2 * i] - expected[i / TO]) < 1e-6);
    }
    free(y);
    y = host_copy(&r, hd_positions_resized(&r, t, &(hd_position_grid){1, N, N, 3, TO}));
    for (size_t i = 0; i < 3 * TO; i++) assert_true(fabs((double)y[2 + 2 * i] - expected[i % TO]) < 1e-6);
    free(y);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void a_table_that_is_no_square_is_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    size_t side;
    assert_true(hd_position_square(197, 1, &side) && side == 14);
    assert_true(hd_position_square(1, 0, &side) && side == 1);
    assert_false(hd_position_square(197, 0, &side));
    assert_false(hd_position_square(1, 1, &side));
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *t = random_rows(&r, 17, 2, 1, 1);
    assert_null(hd_positions_resized(&r, t, &(hd_position_grid){0, 4, 4, 6, 6}));
    assert_int_equal(r.err.status, HD_ESHAPE);
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_tensor *resized(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    (void)c;
    return hd_positions_resized(r, x[0], &(hd_position_grid){2, 3, 3, 5, 2});
}

static void resizing_follows_differences(void **state)
{
    (void)state;
    static const gradient_case cases[] = {
        CASE("positions resized", resized, LEAVES_OF(LEAF("table", 11, 3)))};
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_matrix_shifts_every_position),
        cmocka_unit_test(four_positions_become_six_as_in_torch),
        cmocka_unit_test(a_table_that_is_no_square_is_refused),
        cmocka_unit_test(resizing_follows_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
