/* Convolutions over tokens: what a row sees of its item, and that it sees nothing of another. Gradients are
   in classifier_grad_test.c and encdec_grad_test.c, items alone and in a batch in classifier_test.c. */
#include "model/classifier_toy.h"

/* Rows behind the encoder of items of these lengths; the caller frees them. */
static hd_real *rows_of(classifier_toy *t, const int32_t *ids, const int32_t *len, size_t items)
{
    size_t rows = 0;
    for (size_t i = 0; i < items; i++) rows += (size_t)len[i];
    hd_run_begin(&t->run, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(&t->run, len, items, NULL);
    return host_copy(
        &t->run,
        hd_model_rows(&t->run, &t->m->body, &(hd_items){.seg = seg, .ids = hd_ints(&t->run, ids, rows)}).t);
}

static void a_row_sees_as_far_as_the_kernel_reaches(void **state)
{
    (void)state;
    static const struct {
        const char *stages;
        int reach;
    } cases[] = {{"conv:1", 1},  {"conv3:1", 1}, {"conv5:1", 2},
                 {"conv3:3", 3}, {"conv5:2", 4}, {"conv7:1", 3}};
    enum { FIRST = 8, SECOND = 7, ALL = FIRST + SECOND, WIDTH = 6 };
    const int32_t len[] = {FIRST, SECOND};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        classifier_toy t;
        hd_classifier_opt o = ct_opt(cases[k].stages, HD_POOL_each);
        ct_open(&t, &o, false);
        int32_t ids[ALL];
        for (int i = 0; i < ALL; i++) ids[i] = i % CT_VOCAB;
        hd_real *before = rows_of(&t, ids, len, 2);
        for (int j = 0; j < ALL; j++) {
            int32_t kept = ids[j];
            ids[j] = (kept + 1) % CT_VOCAB;
            hd_real *after = rows_of(&t, ids, len, 2);
            for (int i = 0; i < ALL; i++) {
                bool same_item = (i < FIRST) == (j < FIRST), near = abs(i - j) <= cases[k].reach;
                bool changed = memcmp(before + i * WIDTH, after + i * WIDTH, WIDTH * sizeof *after);
                if (changed != (same_item && near)) fail_msg("%s: row %d by token %d", cases[k].stages, i, j);
            }
            free(after);
            ids[j] = kept;
        }
        free(before);
        ct_close(&t);
    }
}

/* A batch is filled up with rows that belong to no item. */
static void what_fills_a_batch_up_is_not_seen(void **state)
{
    (void)state;
    enum { ROWS = 5, MORE = 3, WIDTH = 6 };
    const int32_t ids[ROWS + MORE] = {1, 2, 3, 4, 5, 1, 2, 3}, len[] = {2, 3};
    classifier_toy t;
    hd_classifier_opt o = ct_opt("conv5:2", HD_POOL_each);
    ct_open(&t, &o, false);
    hd_real *alone = rows_of(&t, ids, len, 2);
    hd_run_begin(&t.run, HD_INFERENCE);
    const hd_seg *seg =
        hd_seg_within(&t.run, len, 2, NULL, (hd_bounds){.rows = ROWS + MORE, .items = 4, .longest = 4});
    hd_real *filled =
        host_copy(&t.run, hd_model_rows(&t.run, &t.m->body,
                                        &(hd_items){.seg = seg, .ids = hd_ints(&t.run, ids, ROWS + MORE)})
                              .t);
    assert_memory_equal(filled, alone, ROWS * WIDTH * sizeof *alone);
    free(alone), free(filled);
    ct_close(&t);
}

/* Weights of 1 for one neighbor alone, and no norm to speak of: a row becomes itself and that neighbor. */
static void neighbors_are_read_from_the_farthest_before_to_the_farthest_behind(void **state)
{
    (void)state;
    enum { WIDTH = 6, ROWS = 5 };
    const int32_t ids[ROWS] = {1, 2, 3, 4, 5}, len[] = {ROWS};
    for (int place = 0; place < 5; place++) {
        classifier_toy t;
        hd_classifier_opt o = ct_opt("conv5:1", HD_POOL_each);
        o.body.stack.pre_norm = false, o.body.stack.act = HD_IDENTITY;
        ct_open(&t, &o, false);
        hd_param *w = hd_params_find(t.m->params, "model.encoder.conv.0.weight");
        const hd_param *table = hd_params_find(t.m->params, "model.encoder.embed_tokens.weight");
        assert_non_null(w);
        hd_real *x = w->t.data;
        const hd_real *e = table->t.data;
        memset(x, 0, hd_count_of(&w->t) * sizeof *x);
        for (int c = 0; c < WIDTH; c++) x[c * 5 * WIDTH + place * WIDTH + c] = 1;
        hd_real *got = rows_of(&t, ids, len, 1);
        for (int i = 0; i < ROWS; i++) {
            int at = i + place - 2;
            double y[WIDTH], mean = 0, square = 0;
            for (int c = 0; c < WIDTH; c++) {
                y[c] = (double)e[ids[i] * WIDTH + c] +
                       (at >= 0 && at < ROWS ? (double)e[ids[at] * WIDTH + c] : 0);
                mean += y[c] / WIDTH;
            }
            for (int c = 0; c < WIDTH; c++) square += (y[c] - mean) * (y[c] - mean) / WIDTH;
            for (int c = 0; c < WIDTH; c++)
                assert_true(fabs((y[c] - mean) / sqrt(square + 1e-5) - (double)got[i * WIDTH + c]) < 1e-4);
        }
        free(got);
        ct_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_sees_as_far_as_the_kernel_reaches),
        cmocka_unit_test(what_fills_a_batch_up_is_not_seen),
        cmocka_unit_test(neighbors_are_read_from_the_farthest_before_to_the_farthest_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
