/* A decoder with experts: it learns, threads and neighbors change no bit, recomputing changes nothing,
   decoding with packed weights gives the rows of the whole batch, and loads are evened out by biases. */
#include "model/prepare.h"
#include "model/toy.h"

static const hd_optimizer_opt adamw = {
    .kind = HD_OPT_ADAMW, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .clip = 1, .decay = 0.01f};

static hd_gpt_opt experts_opt(void)
{
    hd_gpt_opt o = toy_gpt_opt();
    o.names = &hd_gpt_names_llama, o.no_positions = true;
    o.stack.rms = o.stack.gated = o.stack.unbiased = true, o.stack.act = HD_silu, o.stack.inner = 40;
    o.stack.layers = 3;
    o.stack.experts = (hd_experts_opt){
        .count = 6, .used = 2, .shared = 1, .inner = 20, .normalized = true, .scaling = 1, .first = 1};
    return o;
}

enum { STEPS = 12 };

typedef struct run_of {
    double loss[STEPS];
    hd_real *value;
} run_of;

static run_of trained(const hd_gpt_opt *o, int threads)
{
    run_of out;
    toy m;
    toy_open(&m, threads, NULL, o, &adamw);
    for (int t = 0; t < STEPS; t++) {
        toy_batch b = toy_range(t, 32 - t);
        out.loss[t] = toy_step(&m, &b, 0, 0.005, (uint32_t)t);
    }
    size_t bytes = (m.params->trainable + m.params->moving) * sizeof(hd_real);
    out.value = malloc(bytes);
    m.backend->download(m.backend, out.value, m.params->value, bytes);
    toy_close(&m);
    return out;
}

static size_t sizes_of(const hd_gpt_opt *o)
{
    toy m;
    toy_open(&m, 1, NULL, o, NULL);
    size_t all = (m.params->trainable + m.params->moving) * sizeof(hd_real);
    toy_close(&m);
    return all;
}

static void it_learns_and_threads_and_recomputing_change_no_bit(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) { /* no balance, over all layers, by item with a bias */
        hd_gpt_opt o = experts_opt();
        if (how) o.stack.experts.balance = 0.01f;
        if (how == 2) {
            o.stack.experts.by_item = o.stack.experts.bias = true, o.stack.experts.bias_rate = 0.01f;
            o.stack.experts.router = HD_ROUTER_SIGMOID;
        }
        run_of one = trained(&o, 1), three = trained(&o, 3);
        hd_gpt_opt again = o;
        again.stack.recompute = true;
        run_of recomputed = trained(&again, 2);
        assert_true(one.loss[STEPS - 1] < one.loss[0] - 0.1);
        assert_memory_equal(one.loss, three.loss, sizeof one.loss);
        assert_memory_equal(one.value, three.value, sizes_of(&o));
        assert_memory_equal(one.loss, recomputed.loss, sizeof one.loss);
        assert_memory_equal(one.value, recomputed.value, sizes_of(&o));
        free(one.value), free(three.value), free(recomputed.value);
    }
}

static void balance_losses_change_what_is_learned(void **state)
{
    (void)state;
    run_of run[3];
    for (int how = 0; how < 3; how++) {
        hd_gpt_opt o = experts_opt();
        o.stack.experts.balance = how ? 0.1f : 0, o.stack.experts.by_item = how == 2;
        run[how] = trained(&o, 1);
    }
    assert_true(run[0].loss[0] == run[1].loss[0] && run[0].loss[0] == run[2].loss[0]);
    for (int i = 0; i < 3; i++) assert_true(run[i].loss[STEPS - 1] != run[(i + 1) % 3].loss[STEPS - 1]);
    for (int i = 0; i < 3; i++) free(run[i].value);
}

/* A row of a whole batch, and the same with weights packed for decoding. */
static void packed_weights_and_neighbors_change_no_bit(void **state)
{
    (void)state;
    toy m;
    hd_err err = {0};
    hd_gpt_opt o = experts_opt();
    toy_open(&m, 2, NULL, &o, NULL);
    stir(m.params);
    toy_batch b = toy_range(0, 20);
    hd_real *all = toy_logits(&m, &b), *at = all;
    assert_int_equal(hd_gpt_prepare(m.g, HD_DECODING, &err), HD_OK);
    hd_real *packed = toy_logits(&m, &b);
    assert_memory_equal(all, packed, b.target_rows * TOY_VOCAB * sizeof *all);
    for (int32_t i = 0; i < 20; i++) {
        toy_batch alone = toy_range(i, 1);
        hd_real *one = toy_logits(&m, &alone);
        assert_memory_equal(at, one, alone.target_rows * TOY_VOCAB * sizeof *one);
        at += alone.target_rows * TOY_VOCAB;
        free(one);
    }
    free(all), free(packed);
    toy_close(&m);
}

/* Largest load by the mean of the last update, minus 1, the worst of all layers. */
static double overload(const toy *m)
{
    double worst = 0;
    for (size_t i = 0; i < m->params->balances; i++) {
        const hd_tensor *was = &m->params->balanced[i].was->t;
        size_t n = hd_count_of(was);
        hd_real load[64];
        double sum = 0, most = 0;
        m->backend->download(m->backend, load, was->data, n * sizeof *load);
        for (size_t e = 0; e < n; e++) sum += (double)load[e], most = fmax(most, (double)load[e]);
        worst = fmax(worst, most * (double)n / sum - 1);
    }
    return worst;
}

static void biases_even_out_a_skewed_start(void **state)
{
    (void)state;
    double end[2];
    for (int how = 0; how < 2; how++) {
        toy m;
        hd_gpt_opt o = experts_opt();
        o.stack.experts.router = HD_ROUTER_SIGMOID;
        o.stack.experts.bias = true, o.stack.experts.bias_rate = how ? 0.01f : 0;
        toy_open(&m, 2, NULL, &o, &adamw);
        for (size_t i = 0; i < m.params->balances; i++) { /* the first two experts get all */
            const hd_real skew[6] = {1, 1};
            hd_param *router = m.g->stack.block[1 + i].experts->router;
            hd_real spread[6 * 32]; /* scores that differ from row to row */
            fill_normal(spread, COUNT_OF(spread), 0.3, 70 + i);
            hd_params_set(m.params, router, spread);
            hd_params_set(m.params, m.params->balanced[i].bias, skew);
        }
        const toy_batch b = toy_range(0, 32);
        for (int t = 0; t < 150; t++) {
            toy_step(&m, &b, 0, 0.0001, (uint32_t)t);
            if (!t) assert_true(overload(&m) > 1.9); /* 3 - 1 */
        }
        end[how] = overload(&m);
        toy_close(&m);
    }
    print_message("MaxVio 2 to %.2f, without biases %.2f\n", end[1], end[0]);
    assert_true(end[0] > 1 && end[1] < 0.3);
}

static void tensors_are_called_as_published(void **state)
{
    (void)state;
    toy m;
    hd_gpt_opt o = experts_opt();
    o.stack.experts.bias = true;
    toy_open(&m, 1, NULL, &o, NULL);
    static const char *const names[] = {"layers.0.mlp.gate_proj.weight",
                                        "layers.1.mlp.gate.weight",
                                        "layers.1.mlp.gate.e_score_correction_bias",
                                        "layers.2.mlp.experts.5.gate_proj.weight",
                                        "layers.2.mlp.experts.0.up_proj.weight",
                                        "layers.2.mlp.experts.3.down_proj.weight",
                                        "layers.2.mlp.shared_experts.down_proj.weight",
                                        "layers.2.post_attention_layernorm.weight"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!hd_params_find(m.params, names[i])) fail_msg("there is no %s", names[i]);
    assert_null(hd_params_find(m.params, "layers.0.mlp.gate.weight"));
    assert_null(hd_params_find(m.params, "layers.1.mlp.gate_proj.weight"));
    toy_close(&m);
}

/* Weights that a token meets, twice, and attention. */
static void operations_are_those_of_used_experts(void **state)
{
    (void)state;
    toy m;
    hd_gpt_opt o = experts_opt();
    toy_open(&m, 1, NULL, &o, NULL);
    double weights = 0;
    for (size_t i = 0; i < m.params->count; i++) {
        const hd_param *p = m.params->list[i];
        if (!p->name || p->alias || p->t.rank != 2) continue;
        weights += (double)hd_count_of(&p->t) * (strstr(p->name, ".experts.") ? 2 / 6. : 1);
    }
    double attention = 3 * 2 * 2 * 32;
    assert_true(fabs(hd_gpt_flops(m.g, 1, 1) - 2 * weights - attention) < 1e-6 * weights);
    toy_close(&m);
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        hd_experts_opt o;
        const char *text;
    } cases[] = {
        {{.count = 4, .used = 5, .inner = 8}, "5 of 4 experts"},
        {{.count = 4, .used = 0, .inner = 8}, "0 of 4 experts"},
        {{.count = 5000, .used = 2, .inner = 8}, "of at most 1024"},
        {{.count = 4, .used = 2}, "no hidden columns"},
        {{.count = 8, .used = 4, .inner = 8, .groups = 4, .groups_used = 1}, "1 of 4 groups of 8 experts"},
        {{.count = 8, .used = 1, .inner = 8, .groups = 3, .groups_used = 1}, "groups"},
        {{.count = 8, .used = 1, .inner = 8, .shared = -1}, "-1 shared experts"},
    };
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_gpt_opt o = experts_opt();
        hd_gpt *m = NULL;
        hd_err err = {0};
        o.stack.experts = cases[i].o;
        assert_int_equal(hd_gpt_new(&m, b, &o, false, &err), HD_EARG);
        if (!strstr(err.text, cases[i].text)) fail_msg("%zu: %s", i, err.text);
    }
    hd_gpt_opt o = experts_opt();
    hd_gpt *m = NULL;
    hd_err err = {0};
    o.names = NULL, o.stack.gated = false;
    assert_int_equal(hd_gpt_new(&m, b, &o, false, &err), HD_EARG);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_and_threads_and_recomputing_change_no_bit),
        cmocka_unit_test(balance_losses_change_what_is_learned),
        cmocka_unit_test(packed_weights_and_neighbors_change_no_bit),
        cmocka_unit_test(biases_even_out_a_skewed_start),
        cmocka_unit_test(tensors_are_called_as_published),
        cmocka_unit_test(operations_are_those_of_used_experts),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
