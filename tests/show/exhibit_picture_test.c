/* A picture and a small ViT, number by number: bytes, pixels, products, weights and labels follow from each
 * other. */
#include "model/vit_toy.h"
#include "show/exhibit.h"

static const hd_exhibit_item *item(const hd_exhibit *x, const char *name)
{
    const hd_exhibit_item *t = hd_exhibit_find(x, name);
    if (!t) fail_msg("there is no %s", name);
    return t;
}

static hd_model_folder folder_of(const vit_toy *t)
{
    hd_model_folder f = {.model = hd_classifier_model(t->m), .pictures = true};
    hd_err err = {0};
    for (int i = 0; i < VT_CLASSES; i++)
        assert_int_equal(hd_vocab_add(&f.labels, (const char[]){(char)('a' + i), 0}, 1, &err), HD_OK);
    return f;
}

static void numbers_follow_from_each_other(void **state)
{
    (void)state;
    vit_toy t;
    hd_err err = {0};
    hd_exhibit *x = NULL;
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vt_open(&t, &o, 2, false);
    hd_model_folder f = folder_of(&t);
    if (hd_exhibit_picture(&x, &t.run, &f, &t.image[1], &err)) fail_msg("%s", err.text);
    assert_int_equal(x->reads, 10);
    assert_int_equal(x->cells[0] * x->cells[1], 9);
    assert_string_equal(x->read[0].piece, "[class]");
    assert_string_equal(x->read[6].piece, "2,3");
    const hd_exhibit_item *green = item(x, "green"), *pixels = item(x, "enc.pixels"),
                          *emb = item(x, "enc.emb");
    assert_int_equal(green->rows, VT_SIDE);
    assert_true(green->value[5 * VT_SIDE + 7] == t.image[1].pixel[3 * (5 * VT_SIDE + 7) + 1]);
    /* row 5, column 7 lies in cell 2,2, whose row is 5, at its row 1 and column 3 */
    hd_real worth[3 * 256];
    hd_image_worth(worth, &t.m->opt.body.image.prepare);
    size_t at = 5 * pixels->cols + 16 + 1 * VT_PATCH + 3;
    assert_true(pixels->value[at] == worth[256 + t.image[1].pixel[3 * (5 * VT_SIDE + 7) + 1]]);
    const hd_param *w = hd_params_find(t.m->params, "vit.embeddings.patch_embeddings.projection.weight");
    assert_non_null(w);
    double sum = 0;
    for (size_t i = 0; i < pixels->cols; i++)
        sum += (double)pixels->value[5 * pixels->cols + i] *
               (double)((hd_real *)w->t.data)[2 * pixels->cols + i];
    assert_true(fabs(sum - (double)emb->value[5 * emb->cols + 2]) < 1e-5);
    const hd_exhibit_item *weights = item(x, "enc.1.self.softmax"), *probs = item(x, "probs");
    assert_int_equal(weights->heads, 2);
    assert_int_equal(weights->across, HD_EXHIBIT_READ);
    for (size_t i = 0; i < 2 * 10; i++) {
        sum = 0;
        for (size_t j = 0; j < 10; j++) sum += (double)weights->value[i * 10 + j];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    hd_run_begin(&t.run, HD_INFERENCE); /* the same as without a probe */
    hd_class_batch b = vt_batch(&t, 1, 2);
    hd_real *logp = host_copy(&t.run, hd_classifier_logp(&t.run, t.m, &b));
    for (size_t i = 0; i < VT_CLASSES; i++)
        assert_true(fabs(exp((double)logp[i]) - (double)probs->value[i]) < 1e-6);
    free(logp);
    assert_int_equal(x->tops, VT_CLASSES);
    assert_true(x->top[0].p >= x->top[1].p);
    assert_int_equal(x->top[0].token.piece[0], 'a' + x->top[0].token.id);
    hd_exhibit_free(x);
    hd_vocab_release(&f.labels);
    vt_close(&t);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    vit_toy t;
    hd_classifier_opt o = vt_opt(HD_POOL_mean);
    vt_open(&t, &o, 1, false);
    hd_model_folder f = folder_of(&t);
    for (size_t n = 0;; n++) { /* first without: the backend's own memory stays */
        hd_exhibit *x = NULL;
        hd_err err = {0};
        hd_arena_release(&t.run.host), hd_arena_release(&t.run.step);
        size_t blocks = hd_mem_now().blocks, before = hd_mem_now().calls;
        hd_mem_fail_at(n);
        hd_status s = hd_exhibit_picture(&x, &t.run, &f, &t.image[0], &err);
        bool reached = hd_mem_now().calls - before >= n;
        hd_mem_fail_at(0);
        if (!s) hd_exhibit_free(x);
        if (s && s != HD_ENOMEM) fail_msg("%s", err.text);
        hd_arena_release(&t.run.host), hd_arena_release(&t.run.step);
        if (n) assert_int_equal(hd_mem_now().blocks, blocks);
        if (n && !reached) break;
    }
    hd_vocab_release(&f.labels);
    vt_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_from_each_other),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
