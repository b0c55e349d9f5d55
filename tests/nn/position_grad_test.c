/* One matrix shifts every position by the same distance, in double, whatever the layout. */
#include "check.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_matrix_shifts_every_position)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
