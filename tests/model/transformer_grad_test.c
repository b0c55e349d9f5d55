/* The gradient of whole models against differences, in double: six numbers of every tensor a file holds.
   Dropout is on: its masks are fixed by the step, so the loss is as smooth as without. */
#include "model/toy.h"

/* The five-point rule: the rounding of a loss around 100 (1.4e-14) over 12 H, times 18, is 5e-11; the fifth
   derivative adds H^4/30 of itself. Gradients much smaller than the tensor's largest (a key's bias has none
   at all: softmax does not see it) are measured against FLOOR of the model's largest. */
#define H         5e-4
#define FLOOR     1e-3
#define TOLERANCE 1e-7

enum { SAMPLES = 6, SEEN = 3 };

static double loss_at(toy *m, const toy_batch *b)
{
    m->run.now.number = SEEN;
    hd_run_begin(&m->run, HD_TRAIN);
    m->run.taping = false;
    double loss = hd_loss_total(&m->run, toy_loss(m, b, 0.1f));
    assert_run_ok(&m->run);
    return loss;
}

/* The k-th sample of n: the first, the last and some between. */
static size_t place(size_t k, size_t n, hd_rng *rng)
{
    return k == 0 ? 0 : k == 1 ? n - 1 : hd_rng_below(rng, (uint32_t)n);
}

/* Moves one number by steps of H. */
static double slope(toy *m, const toy_batch *b, hd_real *x)
{
    hd_real kept = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = kept + (hd_real)((k < 2 ? k - 2 : k - 1) * H);
        at[k] = loss_at(m, b);
    }
    *x = kept;
    return (at[0] - at[3] + 8 * (at[2] - at[1])) / (12 * H);
}

static double check_all(toy *m, const toy_batch *b, const char *name)
{
    hd_rng rng = hd_rng_make(8, 8);
    double largest = 0, worst = 0;
    const char *where = "-";
    size_t tensors = 0, silent = 0;
    toy_back(m, b, 0.1f, SEEN);
    for (size_t i = 0; i < m->params->trainable; i++)
        largest = fmax(largest, fabs((double)m->params->grad[i]));
    for (size_t i = 0; i < m->params->count; i++) {
        hd_param *p = m->params->list[i];
        if (!p->name || p->alias) continue;
        assert_true(p->t.wants_grad);
        size_t n = hd_count_of(&p->t);
        bool flows = false;
        for (size_t k = 0; k < n; k++) flows |= fabs((double)((hd_real *)p->grad.data)[k]) > 1e-6 * largest;
        silent += !flows;
        for (size_t k = 0; k < SAMPLES; k++) {
            size_t at = place(k, n, &rng);
            double a = (double)((hd_real *)p->grad.data)[at],
                   numeric = slope(m, b, (hd_real *)p->t.data + at);
            double error = fabs(a - numeric) / (fabs(a) + fabs(numeric) + FLOOR * largest);
            if (!(error <= worst)) worst = error, where = p->name;
        }
        tensors++;
    }
    print_message("%-28s %zu tensors, worst %.1e (%s)\n", name, tensors, worst, where);
    size_t biases_of_keys = m->t && !m->t->opt.stack.unbiased_keys
                                ? (size_t)(m->t->opt.encoder_layers + 2 * m->t->opt.decoder_layers)
                                : 0;
    assert_int_equal(silent, biases_of_keys); /* everything else is reached */
    return worst;
}

static toy_batch short_batch(void)
{
    toy_batch b = {0};
    static const int32_t keys[] = {0, 3, 5};
    for (size_t i = 0; i < COUNT_OF(keys); i++) toy_add(&b, keys[i]);
    return b;
}

static void the_transformer_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool pre_norm, recompute, untied, learned, unbiased_keys;
        hd_unary act;
        int kv_heads; /* of 4 */
    } cases[] = {
        {"post-norm", .act = HD_gelu},
        {"pre-norm", .pre_norm = true, .act = HD_silu},
        {"post-norm, recompute", .recompute = true, .act = HD_gelu_tanh},
        {"pre-norm, recompute", .pre_norm = true, .recompute = true, .act = HD_gelu},
        {"two heads of keys and values", .act = HD_gelu, .kv_heads = 2},
        {"one head of keys and values", .pre_norm = true, .act = HD_gelu, .kv_heads = 1},
        {"keys without bias", .pre_norm = true, .act = HD_gelu, .unbiased_keys = true},
        {"keys without bias, recompute", .recompute = true, .act = HD_gelu, .unbiased_keys = true},
        {"pre-norm, untied, learned", .pre_norm = true, .untied = true, .learned = true, .act = HD_tanh},
    };
    const toy_batch b = short_batch();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        toy m;
        hd_encdec_opt o = toy_opt();
        o.stack.width = 12, o.stack.inner = 20, o.positions = 16, o.output_bias = true;
        o.stack.pre_norm = cases[c].pre_norm, o.stack.recompute = cases[c].recompute,
        o.tied = !cases[c].untied, o.learned_positions = cases[c].learned, o.stack.act = cases[c].act;
        o.stack.dropout = o.stack.attention_dropout = o.stack.inner_dropout = 0.1f;
        o.stack.kv_heads = cases[c].kv_heads, o.stack.unbiased_keys = cases[c].unbiased_keys;
        toy_open(&m, 1, &o, NULL, NULL);
        stir(m.params);
        double worst = check_all(&m, &b, cases[c].name);
        if (!(worst < TOLERANCE)) fail_msg("%s: %g", cases[c].name, worst);
        toy_close(&m);
    }
}

static bool all_zero(const hd_real *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}

/* Rounding would move zeros that no file holds: nothing may reach them. */
static void keys_without_bias_get_no_gradient(void **state)
{
    (void)state;
    const toy_batch b = short_batch();
    toy m;
    hd_encdec_opt o = toy_opt();
    o.stack.unbiased_keys = true;
    toy_open(&m, 1, &o, NULL, NULL);
    stir(m.params);
    toy_back(&m, &b, 0.1f, SEEN);
    assert_null(hd_params_find(m.params, "model.encoder.layers.0.self_attn.k_proj.bias"));
    assert_non_null(hd_params_find(m.params, "model.encoder.layers.0.self_attn.q_proj.bias"));
    const hd_mha *const all[] = {&m.t->encoder.stage[0].stack.block[1].self, &m.t->stack[0].block[0].self,
                                 &m.t->stack[0].block[1].cross};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_true(all_zero(all[i]->k_bias->t.data, o.stack.width));
        assert_true(all_zero(all[i]->k_bias->grad.data, o.stack.width));
        assert_false(all_zero(all[i]->v_bias->grad.data, o.stack.width));
    }
    toy_close(&m);
}

static void gpt_goes_back_as_it_went_forward(void **state)
{
    (void)state;
    const toy_batch b = short_batch();
    for (int k = 0; k < 4; k++) {
        bool post = k == 1;
        toy m;
        hd_gpt_opt o = toy_gpt_opt();
        o.stack.kv_heads = k < 2 ? 0 : k - 1;
        o.stack.width = 12, o.positions = 16, o.stack.pre_norm = !post,
        o.stack.dropout = o.stack.attention_dropout = 0.1f;
        toy_open(&m, 1, NULL, &o, NULL);
        stir(m.params);
        assert_true(check_all(&m, &b, post ? "gpt, post-norm" : "gpt") < TOLERANCE);
        toy_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_transformer_goes_back_as_it_went_forward),
        cmocka_unit_test(keys_without_bias_get_no_gradient),
        cmocka_unit_test(gpt_goes_back_as_it_went_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
