/* The gradient of a classifier's loss against differences, in double: every pooling and kind of body, some
   numbers of every tensor a file holds. Dropout is on: its masks are fixed by the step. */
#include "model/classifier_toy.h"

/* The five-point rule, as for language models: rounding over 12 H, and H^4/30 of the fifth derivative.
   Gradients much smaller than the largest are measured against FLOOR of it. Steps are small, for a maximum
   turns from one row to another: rounding is then 1e-15 times 18 over 12 H, 2e-10. */
#define H         1e-5
#define FLOOR     1e-3
#define TOLERANCE 1e-6

enum { SAMPLES = 12 };

/* What is learned beside, with the same draws: rows come first in either. */
static double words_at(classifier_toy *t)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_TRAIN);
    r->taping = false;
    hd_class_batch b = ct_batch(t, 0, CT_ITEMS, false);
    hd_rows x = hd_model_rows(r, &t->m->body, &b.in);
    double loss = hd_loss_total(
        r, t->m->body.type->lm.loss_of(r, t->m->body.self, x, b.next, &(hd_loss_opt){.weight = b.share}));
    assert_run_ok(r);
    return loss;
}

static double loss_at(classifier_toy *t, bool some, bool back)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_TRAIN);
    r->taping = back;
    hd_class_batch b = ct_batch(t, 0, CT_ITEMS, some);
    double loss =
        hd_loss_total(r, hd_classifier_loss(r, t->m, &b, &(hd_loss_opt){.coef = 1, .smoothing = 0.1f}));
    if (back) hd_backward(r);
    assert_run_ok(r);
    return t->words ? loss + words_at(t) : loss;
}

static double slope(classifier_toy *t, bool some, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_at(t, some, false);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

static bool mixed; /* whether items are */

static void check(const char *what, const hd_classifier_opt *o, bool some, bool words)
{
    hd_pool_kind pool = o->pool;
    hd_rng rng = hd_rng_make(8, 8);
    double largest = 0, worst = 0;
    const char *where = "-";
    classifier_toy t;
    ct_open(&t, o, true);
    t.words = words, t.mixed = mixed;
    hd_params *p = t.m->params;
    loss_at(&t, some, true);
    for (size_t i = 0; i < p->trainable; i++) largest = fmax(largest, fabs((double)p->grad[i]));
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias) continue;
        const hd_real *grad = one->grad.data;
        size_t n = hd_count_of(&one->t);
        bool flows = false;
        for (size_t k = 0; k < n; k++) flows = flows || fabs((double)grad[k]) > 1e-9 * largest;
        /* a key's bias moves all scores of a query alike; the first row comes from no state before it; words
           are asked for or not */
        if (!flows && !strstr(one->name, "k_proj.bias") && !strstr(one->name, "key.bias") &&
            (words || strncmp(one->name, "decoder.", 8)) &&
            !(pool == HD_POOL_first && strstr(one->name, "weight_hh")))
            fail_msg("%s, %s: nothing flows to %s", what, hd_pool_names[pool], one->name);
        for (size_t k = 0; k < SAMPLES; k++) {
            size_t at = hd_rng_below(&rng, (uint32_t)n);
            double a = (double)grad[at], numeric = slope(&t, some, (hd_real *)one->t.data + at);
            double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
            if (!(error <= worst)) worst = error, where = one->name;
        }
    }
    if (!(worst < TOLERANCE)) fail_msg("%s, %s: %g at %s", what, hd_pool_names[pool], worst, where);
    ct_close(&t);
}

static void check_model(const char *stages, hd_pool_kind pool, bool some)
{
    hd_classifier_opt o = ct_opt(stages, pool);
    check(stages, &o, some, false);
}

static void every_body_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    static const char *const models[] = {"bert", "gpt", "lstm", "gru", "rnn"};
    for (size_t i = 0; i < COUNT_OF(models); i++)
        for (int pool = 0; pool < HD_POOL_each; pool++) {
            hd_classifier_opt o = ct_opt_from(models[i], (hd_pool_kind)pool);
            check(models[i], &o, false, false);
            o.head = &hd_head_number, o.classes = 1;
            check(models[i], &o, false, false);
        }
}

static void words_that_are_learned_beside_add_their_gradient(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt", "lstm", "gru", "rnn"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        hd_classifier_opt o = ct_opt_from(models[i], HD_POOL_last);
        check(models[i], &o, false, true);
    }
}

static void every_pooling_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    static const char *const stages[] = {"rnn",  "gru:2",   "bi-lstm", "transformer", "bi-gru+transformer",
                                         "none", "conv3:2", "conv5"};
    for (size_t i = 0; i < COUNT_OF(stages); i++)
        for (int pool = 0; pool < HD_POOLS; pool++) check_model(stages[i], (hd_pool_kind)pool, false);
    hd_classifier_opt letters = ct_opt("rnn", HD_POOL_last);
    letters.body.one_hot = true, letters.body.cell = HD_sigmoid;
    check("one-hot letters, sigmoid cells", &letters, false, false);
    check_model("bi-rnn", HD_POOL_each, true);
}

static void classes_of_mixed_items_share_the_gradient(void **state)
{
    (void)state;
    mixed = true;
    check_model("bi-gru", HD_POOL_mean, false);
    check_model("transformer", HD_POOL_first, false);
    mixed = false;
}

/* -log p of either class, by its share; no smoothing. */
static void classes_of_mixed_items_share_the_loss(void **state)
{
    (void)state;
    static const double share[CT_ITEMS] = {0.3f, 1, 0.75f};
    static const int other[CT_ITEMS] = {1, 0, 0};
    classifier_toy t;
    hd_classifier_opt o = ct_opt("gru", HD_POOL_last);
    o.body.stack.dropout = 0;
    ct_open(&t, &o, true);
    t.mixed = true;
    hd_run_begin(&t.run, HD_INFERENCE);
    hd_class_batch b = ct_batch(&t, 0, CT_ITEMS, false);
    hd_real *logp = host_copy(&t.run, hd_classifier_logp(&t.run, t.m, &b));
    double expected = 0;
    for (size_t i = 0; i < CT_ITEMS; i++)
        expected -= share[i] * (double)logp[i * CT_CLASSES + (size_t)ct_class[i]] +
                    (1 - share[i]) * (double)logp[i * CT_CLASSES + (size_t)other[i]];
    hd_run_begin(&t.run, HD_TRAIN);
    b = ct_batch(&t, 0, CT_ITEMS, false);
    double loss = hd_loss_total(&t.run, hd_classifier_loss(&t.run, t.m, &b, &(hd_loss_opt){.coef = 1}));
    if (!(fabs(loss - expected) < 1e-6)) fail_msg("%g, expected %g", loss, expected); /* shares are floats */
    free(logp);
    ct_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pooling_goes_back_as_it_went_forward),
                                       cmocka_unit_test(every_body_goes_back_as_it_went_forward),
                                       cmocka_unit_test(words_that_are_learned_beside_add_their_gradient),
                                       cmocka_unit_test(classes_of_mixed_items_share_the_gradient),
                                       cmocka_unit_test(classes_of_mixed_items_share_the_loss)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
