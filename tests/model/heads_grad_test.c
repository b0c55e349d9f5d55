/* Derivatives of a loss with respect to the factors of heads, against differences, in double: of every head,
   of all items together and item by item. */
#include "model/encdec_cases.h"
#include "model/heads.h"

/* The five-point rule: rounding is 1e-15 times the loss over H, and H^4/30 of the fifth derivative. */
#define H         1e-4
#define TOLERANCE 1e-6

static double loss_of(toy *m, const toy_batch *b)
{
    hd_heads_begin(&m->run);
    double loss = hd_loss_total(&m->run, toy_loss(m, b, 0));
    hd_heads_end(&m->run);
    assert_run_ok(&m->run);
    return loss;
}

static double difference(toy *m, const toy_batch *b, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_of(m, b);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

static hd_heads heads_of(const toy *m)
{
    const hd_model of = hd_encdec_model(m->t);
    hd_err err = {0};
    hd_heads h;
    if (hd_heads_init(&h, &of, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < h.layers; i++)
        for (size_t k = 0; k < h.layer[i].heads; k++)
            h.layer[i].factor[k] = 1 - (hd_real)((i + k) % 3) * (hd_real)0.25;
    return h;
}

/* by_item: a row of a batch says what it adds; recurrent decoders tell of all rows together. */
static void check(const encdec_case *c, bool by_item)
{
    toy m;
    hd_encdec_opt o = encdec_opt(c);
    encdec_open(&m, &o, 2);
    for (size_t i = 0; i < m.params->count; i++)
        m.params->list[i]->t.wants_grad = false; /* as opened to run */
    hd_heads h = heads_of(&m);
    toy_batch b = toy_range(2, 3);
    m.run.heads = &h;
    h.graded = true;
    loss_of(&m, &b);
    h.graded = false;
    size_t flows = 0;
    for (size_t i = 0; i < h.layers; i++)
        for (size_t k = 0; k < h.layer[i].heads; k++) {
            hd_heads_layer *l = &h.layer[i];
            double sum = 0, size = 0, whole = difference(&m, &b, &l->factor[k]);
            for (int32_t key = 2; key < 5; key++) {
                toy_batch one = toy_range(key, 1);
                double d = difference(&m, &one, &l->factor[k]);
                sum += d, size += fabs(d);
            }
            if (!(fabs(l->slope[k] - whole) < TOLERANCE * (1 + fabs(whole))))
                fail_msg("%s: %s.%zu: %.9g, not %.9g", c->name, l->name, k, l->slope[k], whole);
            if (!(fabs(sum - whole) < 10 * TOLERANCE)) fail_msg("%s: items do not add up", c->name);
            if (by_item && !(fabs(l->effect[k] - size) < TOLERANCE * (1 + size)))
                fail_msg("%s: %s.%zu: %.9g, not %.9g by item", c->name, l->name, k, l->effect[k], size);
            flows += fabs(whole) > 1e-4;
        }
    assert_true(flows > 0);
    m.run.heads = NULL;
    hd_heads_release(&h);
    toy_close(&m);
}

static void factors_have_their_derivatives(void **state)
{
    (void)state;
    static const encdec_case cases[] = {
        MODEL("transformer", "transformer:2", "transformer:2"),
        MODEL("pre-norm", "transformer:1", "transformer:1", .pre_norm = true),
        MODEL("T5, whose blocks are recomputed", "transformer:1", "transformer:1", .t5 = true,
              .untied = true),
        MODEL("cells that ask after a word", "bi-gru:1", "gru:1",
              .r = {.query = HD_QUERY_current, .read = HD_READING_tanh}),
        MODEL("cells that ask before it", "bi-gru:1", "gru:1", .r = {.read = HD_READING_deep})};
    for (size_t i = 0; i < COUNT_OF(cases); i++) check(&cases[i], i < 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_have_their_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
