/* Gumbel noise: its moments, the largest of a row as a sample, and a noise that depends on its key alone. */
#include "check.h"

enum { ROWS = 5000, COLS = 4 };

/* Mean 0.5772, variance pi^2 / 6; nothing infinite. */
static void the_noise_has_gumbels_moments(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *zeros = hd_scale(&r, hd_ones(&r, ROWS, 40), 0);
    hd_real *x = host_copy(&r, hd_gumbel(&r, zeros, NULL));
    double mean = 0, square = 0, n = ROWS * 40;
    for (size_t i = 0; i < ROWS * 40; i++) {
        assert_true(x[i] > -3 && x[i] < 17);
        mean += (double)x[i] / n, square += (double)x[i] * (double)x[i] / n;
    }
    assert_true(fabs(mean - 0.5772157) < 4 * 1.2825 / sqrt(n));
    assert_true(fabs(square - mean * mean - 1.6449341) < 0.03); /* the fourth moment is 14.6: 4 sd are 0.03 */
    free(x);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void the_largest_is_a_sample_of_the_softmax(void **state)
{
    (void)state;
    static const double share[COLS] = {0.5, 0.3, 0.15, 0.05};
    hd_real logits[COLS];
    double seen[COLS] = {0};
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    for (size_t i = 0; i < COLS; i++) logits[i] = (hd_real)(log(share[i]) + 3);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *z = hd_add(&r, hd_scale(&r, hd_ones(&r, ROWS, COLS), 0), hd_from(&r, 1, COLS, logits));
    hd_real *x = host_copy(&r, hd_gumbel(&r, z, NULL));
    for (size_t i = 0; i < ROWS; i++) {
        size_t best = 0;
        for (size_t k = 1; k < COLS; k++)
            if (x[i * COLS + k] > x[i * COLS + best]) best = k;
        seen[best] += 1.0 / ROWS;
    }
    for (size_t k = 0; k < COLS; k++)
        assert_true(fabs(seen[k] - share[k]) < 4 * sqrt(share[k] * (1 - share[k]) / ROWS));
    free(x);
    hd_run_release(&r);
    hd_backend_free(b);
}

static hd_real *noise(hd_run *r, const int32_t *len, const int32_t *key, size_t items, size_t rows)
{
    hd_run_begin(r, HD_INFERENCE);
    return host_copy(r, hd_gumbel(r, hd_ones(r, rows, COLS), hd_seg_of(r, len, items, key)));
}

static void the_noise_follows_the_item_not_its_place(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_real *alone = noise(&r, (int32_t[]){6}, (int32_t[]){40}, 1, 6),
            *last = noise(&r, (int32_t[]){5, 6}, (int32_t[]){7, 40}, 2, 11);
    assert_memory_equal(alone, last + 5 * COLS, 6 * COLS * sizeof *alone);
    assert_memory_not_equal(alone, last, 5 * COLS * sizeof *alone);
    free(last);
    r.now.number++;
    last = noise(&r, (int32_t[]){6}, (int32_t[]){40}, 1, 6);
    assert_memory_not_equal(alone, last, 6 * COLS * sizeof *alone);
    free(alone), free(last);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_noise_has_gumbels_moments),
        cmocka_unit_test(the_largest_is_a_sample_of_the_softmax),
        cmocka_unit_test(the_noise_follows_the_item_not_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
