/* Networks of handwriting: steps with a cache are the rows of all points at once, the window is monotone, the
   text is read or not. */
#include "check.h"
#include "model/stroke/handwriting.h"

enum { POINTS = 9, LETTERS = 4, VOCAB = 7, WIDTH = 12 };

typedef struct toy {
    hd_backend *b;
    hd_run run;
    hd_handwriting *m;
} toy;

static toy toy_make(int window, int layers)
{
    hd_err err = {0};
    toy t = {.b = backend_of("cpu", 2)};
    t.run = run_on(t.b);
    hd_handwriting_opt o = {.width = WIDTH,
                            .vocab = VOCAB,
                            .layers = layers,
                            .mixtures = 2,
                            .window = window,
                            .scale.deviation = {1, 1}};
    if (hd_handwriting_new(&t.m, t.b, &o, true, &err) || hd_handwriting_draw(t.m, 5, 2, &err))
        fail_msg("%s", err.text);
    return t;
}

static void toy_free(toy *t)
{
    hd_run_release(&t->run);
    hd_handwriting_free(t->m);
    hd_backend_free(t->b);
}

/* Two items, the second one shorter, and texts of 4 and 2 characters. */
static hd_handwriting_batch batch_of(hd_run *r, const int32_t *len, const hd_real *points, const int32_t *ids)
{
    const int32_t letters[] = {LETTERS, 2};
    size_t rows = (size_t)(len[0] + len[1]);
    return (hd_handwriting_batch){.point = {hd_from(r, rows, 3, points), hd_seg_of(r, len, 2, NULL)},
                                  .text = hd_seg_of(r, letters, 2, NULL),
                                  .ids = hd_ints(r, ids, LETTERS + 2)};
}

static const int32_t ids[] = {4, 5, 6, 4, 5, 6}, others[] = {4, 5, 5, 4, 5, 6};

static void steps_give_the_rows_of_all_points(void **state)
{
    (void)state;
    for (int window = 0; window < 4; window += 3) {
        toy t = toy_make(window, 3);
        hd_cache *cache = NULL;
        hd_err err = {0};
        hd_real points[2 * POINTS * 3], next[2][3];
        fill_normal(points, COUNT_OF(points), 1, 9);
        const int32_t all[] = {POINTS, POINTS}, one[] = {1, 1};
        hd_run_begin(&t.run, HD_INFERENCE);
        hd_handwriting_batch b = batch_of(&t.run, all, points, ids);
        hd_real *want = host_copy(&t.run, hd_handwriting_rows(&t.run, t.m, &b, NULL, NULL).t);
        assert_int_equal(hd_handwriting_cache(&cache, t.m, 2, &err), HD_OK);
        for (size_t at = 0; at < POINTS; at++) {
            for (size_t i = 0; i < 2; i++) memcpy(next[i], points + 3 * (i * POINTS + at), sizeof next[i]);
            hd_run_begin(&t.run, HD_INFERENCE);
            b = batch_of(&t.run, one, next[0], ids);
            hd_real *have = host_copy(&t.run, hd_handwriting_rows(&t.run, t.m, &b, cache, NULL).t);
            for (size_t i = 0; i < 2; i++) /* the same bits: sums have one order */
                if (memcmp(have + i * 13, want + (i * POINTS + at) * 13, 13 * sizeof *have))
                    fail_msg("window %d: point %zu of item %zu differs", window, at, i);
            free(have);
        }
        hd_cache_free(cache);
        free(want);
        toy_free(&t);
    }
}

static void the_window_only_moves_on(void **state)
{
    (void)state;
    toy t = toy_make(3, 2);
    hd_real points[2 * POINTS * 3];
    fill_normal(points, COUNT_OF(points), 1, 9);
    const int32_t len[] = {POINTS, 5};
    hd_handwriting_seen seen = {0};
    hd_run_begin(&t.run, HD_INFERENCE);
    hd_handwriting_batch b = batch_of(&t.run, len, points, ids);
    hd_handwriting_rows(&t.run, t.m, &b, NULL, &seen);
    assert_run_ok(&t.run);
    hd_real *kappa = host_copy(&t.run, seen.kappa);
    for (size_t r = 1; r < POINTS + 5; r++)
        for (size_t k = 0; k < 3; k++)
            if (r != POINTS && !(kappa[3 * r + k] > kappa[3 * (r - 1) + k])) fail_msg("row %zu", r);
    free(kappa);
    toy_free(&t);
}

/* Only the text that an item has, and only in a model with a window. */
static void the_text_is_read(void **state)
{
    (void)state;
    for (int window = 0; window < 4; window += 3) {
        toy t = toy_make(window, 2);
        hd_real points[2 * POINTS * 3], *y[2];
        fill_normal(points, COUNT_OF(points), 1, 9);
        const int32_t len[] = {POINTS, 5};
        for (int i = 0; i < 2; i++) {
            hd_run_begin(&t.run, HD_INFERENCE);
            hd_handwriting_batch b = batch_of(&t.run, len, points, i ? others : ids);
            y[i] = host_copy(&t.run, hd_handwriting_rows(&t.run, t.m, &b, NULL, NULL).t);
        }
        assert_int_equal(memcmp(y[0], y[1], POINTS * 13 * sizeof **y) != 0, window > 0);
        assert_memory_equal(y[0] + POINTS * 13, y[1] + POINTS * 13, 5 * 13 * sizeof **y);
        free(y[0]), free(y[1]);
        toy_free(&t);
    }
}

static void what_makes_no_model_is_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_handwriting *m = NULL;
    const hd_handwriting_opt good = {
        .width = 4, .vocab = 3, .layers = 1, .mixtures = 1, .scale.deviation = {1, 1}};
    hd_handwriting_opt bad[6] = {good, good, good, good, good, good};
    bad[0].layers = 0, bad[1].mixtures = 1000, bad[2].window = -1, bad[3].scale.deviation[1] = 0;
    bad[4].scale.mean[0] = NAN, bad[5].dropout = 1;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        assert_int_equal(hd_handwriting_new(&m, b, &bad[i], false, &err), HD_EARG);
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_give_the_rows_of_all_points),
        cmocka_unit_test(the_window_only_moves_on),
        cmocka_unit_test(the_text_is_read),
        cmocka_unit_test(what_makes_no_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
