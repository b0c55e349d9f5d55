/* The gradient of BERT's loss against differences, in double: some numbers of every tensor a file holds.
   Dropout is on: its masks are fixed by the step. */
#include "check.h"
#include "model/bert_toy.h"

/* The five-point rule: rounding is 1e-15 times the loss over H, and H^4/30 of the fifth derivative. Gradients
   much smaller than the largest are measured against FLOOR of it. */
#define H         1e-4
#define FLOOR     1e-3
#define TOLERANCE 1e-6

enum { SAMPLES = 16 };

static double loss_at(bert_toy *t, bool back)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_TRAIN);
    r->taping = back;
    hd_bert_batch b = bt_batch(r, bt_ids);
    double loss = hd_loss_total(r, hd_bert_loss(r, t->m, &b, &(hd_loss_opt){.coef = 1, .smoothing = 0.1f}));
    if (back) hd_backward(r);
    assert_run_ok(r);
    return loss;
}

static double slope(bert_toy *t, hd_real *x)
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

static void check(const hd_bert_opt *o, size_t wanted)
{
    hd_rng rng = hd_rng_make(8, 8);
    double largest = 0, worst = 0;
    const char *where = "-";
    size_t tensors = 0;
    bert_toy t;
    bt_open(&t, o, 1);
    hd_params *p = &t.m->params;
    loss_at(&t, true);
    for (size_t i = 0; i < p->trainable; i++) largest = fmax(largest, fabs((double)p->grad[i]));
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias) continue;
        tensors++;
        const hd_real *grad = one->grad.data;
        size_t n = hd_count_of(&one->t);
        bool flows = false;
        for (size_t k = 0; k < n; k++) flows = flows || fabs((double)grad[k]) > 1e-9 * largest;
        /* a key's bias moves all scores of a query alike */
        if (!flows && !strstr(one->name, "key.bias")) fail_msg("nothing flows to %s", one->name);
        for (size_t k = 0; k < SAMPLES; k++) {
            size_t at = hd_rng_below(&rng, (uint32_t)n);
            double a = (double)grad[at], numeric = slope(&t, (hd_real *)one->t.data + at);
            double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
            if (!(error <= worst)) worst = error, where = one->name;
        }
    }
    assert_int_equal(tensors, wanted);
    if (!(worst < TOLERANCE)) fail_msg("%g at %s", worst, where);
    bt_close(&t);
}

static void every_tensor_has_its_gradient(void **state)
{
    (void)state;
    hd_bert_opt o = bt_opt();
    o.stack.dropout = 0.2f;
    check(&o, 5 + 2 * 16 + 5);
}

/* Narrow token vectors, and numbers for distances, which all blocks share. */
static void so_have_those_of_other_families(void **state)
{
    (void)state;
    hd_bert_opt o = bt_opt();
    o.embedding = 6, o.no_types = true;
    o.stack.relative = (hd_relative){.buckets = 8, .reach = 20};
    check(&o, 4 + 2 + 2 * 16 + 1 + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_tensor_has_its_gradient),
                                       cmocka_unit_test(so_have_those_of_other_families)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
