/* Dropout: the rate is right, the mean is kept, nothing happens outside training, and a mask depends on its
 * key alone. */
#include "check.h"

enum { ROWS = 200, COLS = 301 };

/* dropout of ones: 0 or the scale */
static hd_real *masks(hd_run *r, hd_mode mode, float p, const int32_t *len, size_t items, const int32_t *key,
                      size_t rows, int draws_before)
{
    hd_run_begin(r, mode);
    hd_tensor *x = hd_ones(r, rows, COLS);
    for (int i = 0; i < draws_before; i++) hd_dropout(r, x, 0.5f, NULL);
    return host_copy(r, hd_dropout(r, x, p, len ? hd_seg_of(r, len, items, key) : NULL));
}

static void the_rate_is_right_and_the_mean_is_kept(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    const float rates[] = {0.01f, 0.1f, 0.3f, 0.5f, 0.9f, 0.999f};
    for (size_t k = 0; k < COUNT_OF(rates); k++) {
        hd_real *m = masks(&r, HD_TRAIN, rates[k], NULL, 0, NULL, ROWS, 0);
        double p = (double)rates[k], mean = 0, dropped = 0, scale = 1 / (1 - p);
        for (size_t i = 0; i < ROWS * COLS; i++) {
            assert_true(m[i] == 0 ||
                        fabs((double)m[i] / scale - 1) <
                            1e-2); /* p is rounded to 1/65536: of 0.001 kept that is 1.5 % at most */
            dropped += m[i] == 0, mean += (double)m[i] / (ROWS * COLS);
        }
        double sd =
            sqrt(p * (1 - p) / (ROWS * COLS)); /* binomial; four standard deviations, and the rounding of p */
        assert_true(fabs(dropped / (ROWS * COLS) - p) < 4 * sd + 1e-5);
        assert_true(fabs(mean - 1) < (4 * sd + 1e-5) * scale);
        free(m);
    }
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Neighbors in a row, in a column and in the next op agree as often as independent draws do. */
static void draws_are_not_correlated(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_real *m = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 0),
            *next = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 1);
    const size_t steps[] = {1, 2, COLS, COLS + 1, 2 * COLS};
    for (size_t k = 0; k <= COUNT_OF(steps); k++) {
        size_t step = k < COUNT_OF(steps) ? steps[k] : 0, n = ROWS * COLS - step;
        double same = 0;
        for (size_t i = 0; i < n; i++) same += (m[i] == 0) == ((step ? m[i + step] : next[i]) == 0);
        assert_true(fabs(same / (double)n - 0.5) < 4 * 0.5 / sqrt((double)n));
    }
    free(m), free(next);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void nothing_is_dropped_outside_training(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_run_begin(&r, HD_INFERENCE);
    hd_tensor *x = random_rows(&r, 3, 4, 1, 1);
    assert_ptr_equal(hd_dropout(&r, x, 0.5f, NULL), x);
    hd_run_begin(&r, HD_TRAIN);
    x = random_rows(&r, 3, 4, 1, 1);
    assert_ptr_equal(hd_dropout(&r, x, 0, NULL), x);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void seed_step_and_op_each_change_the_mask(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_real *m[5];
    m[0] = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 0);
    m[1] = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 1);
    r.now.number++;
    m[2] = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 0);
    r.now.number--, r.now.seed++;
    m[3] = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 0);
    r.now.seed--;
    m[4] = masks(&r, HD_TRAIN, 0.5f, NULL, 0, NULL, ROWS, 0);
    for (int i = 1; i < 4; i++) assert_memory_not_equal(m[0], m[i], ROWS * COLS * sizeof **m);
    assert_memory_equal(m[0], m[4], ROWS * COLS * sizeof **m);
    for (int i = 0; i < 5; i++) free(m[i]);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Item 40 of the corpus has the same mask alone, first, or last in a batch; without keys the place in the
 * batch counts. */
static void a_mask_follows_the_item_not_its_place(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    const int32_t alone[] = {6}, last[] = {5, 0, 6}, first[] = {6, 9}, key_alone[] = {40},
                  key_last[] = {7, 8, 40}, key_first[] = {40, 7};
    size_t bytes = 6 * COLS * sizeof(hd_real);
    hd_real *m[4];
    m[0] = masks(&r, HD_TRAIN, 0.3f, alone, 1, key_alone, 6, 0);
    m[1] = masks(&r, HD_TRAIN, 0.3f, last, 3, key_last, 11, 0);
    m[2] = masks(&r, HD_TRAIN, 0.3f, first, 2, key_first, 15, 0);
    m[3] = masks(&r, HD_TRAIN, 0.3f, last, 3, NULL, 11, 0);
    assert_memory_equal(m[0], m[1] + 5 * COLS, bytes);
    assert_memory_equal(m[0], m[2], bytes);
    assert_memory_equal(m[1], m[2] + 6 * COLS,
                        5 * COLS * sizeof **m); /* item 7, as far as the shorter goes */
    assert_memory_not_equal(m[0], m[3] + 5 * COLS, bytes);
    for (int i = 0; i < 4; i++) free(m[i]);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* Stochastic depth: of each item the branch is there, and scaled, or not. The draw follows the item. */
static void a_path_is_dropped_for_whole_items(void **state)
{
    (void)state;
    enum { ITEMS = 4000, WIDE = 5 };
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    static int32_t len[ITEMS], key[ITEMS];
    hd_real *m[2];
    for (int turn = 0; turn < 2; turn++) {
        size_t rows = 0;
        for (int i = 0; i < ITEMS; i++) {
            key[i] = turn ? ITEMS - 1 - i : i; /* the same items, in the other order */
            len[i] = key[i] % 3 + 1, rows += (size_t)len[i];
        }
        hd_run_begin(&r, HD_TRAIN);
        hd_tensor *zero = hd_scale(&r, hd_ones(&r, rows, WIDE), 0), *sum = NULL;
        hd_norm_opt o = {.eps = 1, .drop_path = 0.25f, .seg = hd_seg_of(&r, len, ITEMS, key)};
        hd_norm_residual(&r, zero, hd_ones(&r, rows, WIDE), NULL, NULL, &o, &sum);
        m[turn] = host_copy(&r, sum);
        if (turn) continue;
        size_t at = 0, kept = 0;
        for (int i = 0; i < ITEMS; at += (size_t)len[i] * WIDE, i++) {
            assert_true(m[0][at] == 0 || fabs((double)m[0][at] - 4.0 / 3) < 1e-4);
            for (size_t k = 0; k < (size_t)len[i] * WIDE; k++) assert_true(m[0][at + k] == m[0][at]);
            kept += m[0][at] != 0;
        }
        assert_true(fabs((double)kept / ITEMS - 0.75) < 4 * sqrt(0.25 * 0.75 / ITEMS));
    }
    size_t at = 0, back = 0;
    for (int i = 0; i < ITEMS; i++) back += (size_t)len[i] * WIDE;
    for (int i = 0; i < ITEMS; i++) { /* len is that of the second turn */
        int32_t n = i % 3 + 1;
        back -= (size_t)n * WIDE;
        assert_true(m[0][at] == m[1][back]);
        at += (size_t)n * WIDE;
    }
    free(m[0]), free(m[1]);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_right_and_the_mean_is_kept),
        cmocka_unit_test(draws_are_not_correlated),
        cmocka_unit_test(nothing_is_dropped_outside_training),
        cmocka_unit_test(seed_step_and_op_each_change_the_mask),
        cmocka_unit_test(a_mask_follows_the_item_not_its_place),
        cmocka_unit_test(a_path_is_dropped_for_whole_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
