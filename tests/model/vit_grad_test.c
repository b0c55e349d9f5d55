/* The gradient of a small ViT's loss against differences, in double: with and without a class token, with a
   distillation token, with a convolutional stem. Dropout is on: its masks are fixed by the step. */
#include "model/vit_toy.h"

/* The five-point rule, as for other classifiers. */
#define H         1e-5
#define FLOOR     1e-3
#define TOLERANCE 1e-6

enum { SAMPLES = 10 };

static double loss_at(vit_toy *t, bool back)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_TRAIN);
    r->taping = back;
    hd_class_batch b = vt_batch(t, 0, VT_ITEMS);
    double loss =
        hd_loss_total(r, hd_classifier_loss(r, t->m, &b, &(hd_loss_opt){.coef = 1, .smoothing = 0.1f}));
    if (back) hd_backward(r);
    assert_run_ok(r);
    return loss;
}

static double slope(vit_toy *t, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_at(t, false);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

/* side: of the pictures; another than the model's resizes its positions. */
static void check(const char *what, const hd_classifier_opt *o, int height, int width)
{
    hd_rng rng = hd_rng_make(8, 8);
    double largest = 0, worst = 0;
    const char *where = "-";
    vit_toy t;
    vt_open(&t, o, 1, true);
    vt_size(&t, height, width);
    hd_params *p = t.m->params;
    loss_at(&t, true);
    for (size_t i = 0; i < p->trainable; i++) largest = fmax(largest, fabs((double)p->grad[i]));
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || !one->t.wants_grad) continue;
        const hd_real *grad = one->grad.data;
        size_t n = hd_count_of(&one->t);
        bool flows = false;
        for (size_t k = 0; k < n; k++) flows = flows || fabs((double)grad[k]) > 1e-9 * largest;
        /* a key's bias moves all scores of a query alike */
        if (!flows && !strstr(one->name, "key.bias")) fail_msg("%s: nothing flows to %s", what, one->name);
        for (size_t k = 0; k < SAMPLES; k++) {
            size_t at = hd_rng_below(&rng, (uint32_t)n);
            double a = (double)grad[at], numeric = slope(&t, (hd_real *)one->t.data + at);
            double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
            if (!(error <= worst)) worst = error, where = one->name;
        }
    }
    if (!(worst < TOLERANCE)) fail_msg("%s: %g at %s", what, worst, where);
    vt_close(&t);
}

static void every_form_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    check("class token", &o, VT_SIDE, VT_SIDE);
    check("class token, other size", &o, 16, 8);
    o.body.image.distilled = true, o.body.image.stack.unbiased_qkv = true;
    check("distillation token", &o, VT_SIDE, VT_SIDE);
    o = vt_opt(HD_POOL_mean);
    check("mean", &o, VT_SIDE, VT_SIDE);
    o.body.image.channels = 1, o.body.image.stem = 2;
    check("stem", &o, VT_SIDE, VT_SIDE);
    o = vt_opt(HD_POOL_first), o.body.image.stem = 1;
    check("stem and class token", &o, VT_SIDE, VT_SIDE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_goes_back_as_it_went_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
