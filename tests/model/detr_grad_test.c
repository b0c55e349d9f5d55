/* The gradient of DETR's loss against differences, in double: some numbers of every tensor but those of the
   backbone. Of anchors with one layer: where a layer moves a box, nothing flows back through where it was. */
#include "model/detr_toy.h"

/* The five-point rule: rounding is 1e-15 times the loss over H, and H^4/30 of the fifth derivative. Gradients
   much smaller than the largest are measured against FLOOR of it. */
#define H         1e-4
#define FLOOR     1e-3
#define TOLERANCE 1e-6

enum { SAMPLES = 16 };

static double loss_at(detr_toy *t, int groups, bool back)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_TRAIN);
    r->taping = back;
    double loss = hd_loss_total(r, dt_loss(r, t->m, dt_objects, groups));
    if (back) hd_backward(r);
    assert_run_ok(r);
    return loss;
}

static double slope(detr_toy *t, int groups, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_at(t, groups, false);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

/* Nothing flows to a bias of keys, which moves all scores of a query alike, nor, where queries begin as
   zeros, to values of the first layer's self-attention but for their bias. */
static bool may_be_idle(const char *name, bool anchors)
{
    return strstr(name, "k_proj.bias") || (!anchors && strstr(name, "decoder.layers.0.self_attn"));
}

static void check(bool anchors, int layers, int groups, float reach)
{
    hd_rng rng = hd_rng_make(8, 8);
    double largest = 0, worst = 0;
    const char *where = "-";
    detr_toy t;
    hd_detr_opt o = dt_opt(anchors, layers);
    o.reach = reach;
    dt_open(&t, &o, 1);
    hd_params *p = &t.m->params;
    loss_at(&t, groups, true);
    for (size_t i = 0; i < p->trainable; i++) largest = fmax(largest, fabs((double)p->grad[i]));
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias || strstr(one->name, "backbone")) continue;
        const hd_real *grad = one->grad.data;
        size_t n = hd_count_of(&one->t);
        bool flows = false;
        for (size_t k = 0; k < n; k++) flows = flows || fabs((double)grad[k]) > 1e-9 * largest;
        if (!flows && !may_be_idle(one->name, anchors)) fail_msg("nothing flows to %s", one->name);
        for (size_t k = 0; k < SAMPLES; k++) {
            size_t at = hd_rng_below(&rng, (uint32_t)n);
            double a = (double)grad[at], numeric = slope(&t, groups, (hd_real *)one->t.data + at);
            double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
            if (!(error <= worst)) worst = error, where = one->name;
        }
    }
    if (!(worst < TOLERANCE)) fail_msg("%g at %s", worst, where);
    dt_close(&t);
}

static void learned_queries_have_their_gradients(void **state)
{
    (void)state;
    check(false, 2, 0, 0);
}

static void anchors_have_their_gradients(void **state)
{
    (void)state;
    check(true, 1, 0, 0);
}

static void noised_boxes_have_their_gradients(void **state)
{
    (void)state;
    check(true, 1, 2, 0);
    check(true, 1, 2, 0.5f); /* which sees only some cells */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learned_queries_have_their_gradients),
        cmocka_unit_test(anchors_have_their_gradients),
        cmocka_unit_test(noised_boxes_have_their_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
