/* The sine code of positions: numbers of DETR, and gradients. */
#include "op/gradient.h"

static void codes_are_those_of_detr(void **state)
{
    (void)state;
    /* cell (0,0) of a map of 2 x 3 cells, 4 columns for each side: y first */
    static const double want[] = {1.3e-06, -1, .031411, .99951, .86603, -.5, .020942, .99978};
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    const hd_real cell[] = {(hd_real)(1 / (3 + 1e-6)), (hd_real)(1 / (2 + 1e-6))};
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *y = hd_sine(&r, hd_from(&r, 1, 2, cell), 4, (float)(2 * 3.14159265358979), 10000);
    assert_run_ok(&r);
    hd_real *have = host_copy(&r, y);
    for (size_t i = 0; i < COUNT_OF(want); i++)
        if (fabs((double)have[i] - want[i]) > 1e-5) /* the digits that are printed */
            fail_msg("column %zu: %g, not %g", i, (double)have[i], want[i]);
    free(have);
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_tensor *sine(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    return hd_sine(r, x[0], (size_t)c->n, 3, 20);
}

static void gradients_agree_with_differences(void **state)
{
    (void)state;
    static const gradient_case cases[] = {CASE("two numbers", sine, LEAVES_OF(LEAF("x", 5, 2)), .n = 6),
                                          CASE("four numbers", sine, LEAVES_OF(LEAF("x", 7, 4)), .n = 2)};
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_detr),
        cmocka_unit_test(gradients_agree_with_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
