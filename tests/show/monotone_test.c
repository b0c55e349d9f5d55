/* How monotone attention is: paths against all there are, rows counted by hand. */
#include "check.h"
#include "show/sound/monotone.h"
#include "show/sound/spectrogram.h"

enum { ROWS = 5, COLS = 6 };

static hd_monotone monotone_of(const float *w, size_t rows, size_t cols)
{
    hd_monotone m;
    hd_err err = {0};
    if (hd_monotone_of(&m, w, rows, cols, &err)) fail_msg("%s", err.text);
    return m;
}

static double best_from(const float *w, size_t row, size_t col)
{
    double best = 0;
    for (size_t j = col; row < ROWS && j < COLS; j++)
        best = fmax(best, (double)w[row * COLS + j] + best_from(w, row + 1, j));
    return best;
}

static void the_path_is_the_best_that_never_goes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        float w[ROWS * COLS];
        hd_rng rng = hd_rng_make(seed, 2);
        double held = 0;
        for (size_t i = 0; i < ROWS * COLS; i++) w[i] = (float)hd_rng_unit(&rng);
        hd_monotone m = monotone_of(w, ROWS, COLS);
        for (size_t i = 0; i < ROWS; i++) {
            assert_true(!i || m.path[i] >= m.path[i - 1]);
            held += (double)w[i * COLS + m.path[i]];
        }
        assert_true(fabs(held - best_from(w, 0, 0)) < 1e-12);
        hd_monotone_release(&m);
    }
}

static void rows_that_go_back_are_counted(void **state)
{
    (void)state;
    const float w[] = {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1};
    hd_monotone m = monotone_of(w, 5, 3);
    const size_t most[] = {0, 2, 1, 1, 2};
    assert_memory_equal(m.most, most, sizeof most);
    assert_int_equal(m.in_order, 4);
    assert_true(hd_monotone_share(&m) == 0.8 && m.span == 1);
    hd_monotone_release(&m);
    const float still[] = {0, 1, 0, 0, 0, 1, 0, 0}; /* in order, and yet it does not listen */
    m = monotone_of(still, 2, 4);
    assert_true(m.in_order == 2 && m.span == 0.25);
    hd_monotone_release(&m);
    m = monotone_of(w, 0, 3);
    assert_true(hd_monotone_share(&m) == 1 && m.span == 0);
    hd_monotone_release(&m);
}

static double grey_at(const hd_image *im, int x, int y)
{
    const uint8_t *p = im->pixel + 3 * (y * im->width + x);
    return 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
}

static void a_spectrogram_is_bright_where_it_is_loud(void **state)
{
    (void)state;
    enum { FRAMES = 2000, BINS = 8 };
    static float x[FRAMES * BINS];
    for (size_t t = 0; t < FRAMES; t++)
        for (size_t b = 0; b < BINS; b++) x[t * BINS + b] = t >= FRAMES / 2 && b < BINS / 2 ? 1 : -1;
    hd_image im;
    hd_err err = {0};
    if (hd_spectrogram(&im, x, FRAMES, BINS, &err)) fail_msg("%s", err.text);
    assert_true(im.width == 1500 && im.height == BINS && im.channels == 3);
    assert_true(grey_at(&im, 1400, BINS - 1) > 150); /* low bins are at the bottom */
    assert_true(grey_at(&im, 1400, 0) < 50 && grey_at(&im, 100, BINS - 1) < 50);
    hd_image_release(&im);
    if (hd_spectrogram(&im, x, 1, 1, &err)) fail_msg("%s", err.text);
    hd_image_release(&im);
    assert_int_equal(hd_spectrogram(&im, x, 0, BINS, &err), HD_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_is_the_best_that_never_goes_back),
        cmocka_unit_test(rows_that_go_back_are_counted),
        cmocka_unit_test(a_spectrogram_is_bright_where_it_is_loud),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
