/* Models with LoRA: nothing is added at first, merged weights compute the same, also with a cache, and only
   the thin matrices take memory of training. */
#include "model/llama_toy.h"

/* Sums of a few dozen products of numbers around 1 in another order. */
#define CLOSE 1e-5

static const hd_lora_opt LORA = {.rank = 3, .alpha = 6, .targets = "all"};

static void fill_adapter(hd_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->adapter) continue;
        hd_real x[1024];
        assert_true(hd_count_of(&one->t) <= COUNT_OF(x));
        fill_normal(x, hd_count_of(&one->t), 0.1, 90 + i);
        hd_params_set(p, one, x);
    }
}

static double apart(const hd_real *a, const hd_real *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = d;
    }
    return most;
}

/* One token after the other, with the cache. */
static hd_real *logits_one_by_one(lm_toy *t, const int32_t *ids, int32_t n)
{
    hd_err err = {0};
    hd_cache *cache = NULL;
    hd_run *r = &t->run;
    hd_real *all = malloc((size_t)n * LLAMA_VOCAB * sizeof *all);
    if (hd_gpt_cache(&cache, t->m->model, 1, &err)) fail_msg("%s", err.text);
    for (int32_t i = 0; i < n; i++) {
        const int32_t one = 1;
        hd_run_begin(r, HD_INFERENCE);
        const hd_seg *seg = hd_seg_of(r, &one, 1, NULL);
        hd_rows x = hd_gpt_forward(r, t->m->model, hd_ints(r, ids + i, 1), seg, cache);
        hd_real *row = host_copy(r, hd_gpt_logits(r, t->m->model, x));
        memcpy(all + i * LLAMA_VOCAB, row, LLAMA_VOCAB * sizeof *row);
        free(row);
    }
    hd_cache_free(cache);
    return all;
}

static void check_case(const llama_case *c)
{
    enum { N = 12, ALL = N * LLAMA_VOCAB };
    int32_t ids[LLAMA_TEXT];
    hd_err err = {0};
    hd_lm_opt o = llama_opt(c), with = o;
    with.lora = LORA;
    lm_toy plain, t;
    llama_text(ids);
    lm_open(&plain, &o, 1, false), lm_open(&t, &with, 2, true);
    llama_fill(plain.m->params, c->from_one);
    for (size_t i = 0; i < t.m->params->count; i++) {
        hd_param *one = t.m->params->list[i], *of = one->name && !one->adapter && !one->alias
                                                        ? hd_params_find(plain.m->params, one->name)
                                                        : NULL;
        if (of) hd_params_set(t.m->params, one, of->t.data);
        if (one->adapter && strstr(one->name, "lora_B"))
            memset(one->t.data, 0, hd_count_of(&one->t) * sizeof(hd_real));
    }
    hd_real *first = llama_logits(&plain, ids, N), *none = llama_logits(&t, ids, N);
    assert_true(apart(first, none, ALL) <= 0);
    fill_adapter(t.m->params);
    hd_real *added = llama_logits(&t, ids, N), *slow = logits_one_by_one(&t, ids, N);
    if (hd_lora_merge(t.m->params, &err)) fail_msg("%s", err.text);
    hd_real *merged = llama_logits(&t, ids, N);
    print_message("%-16s moved by %.2f, merged %.1e, one by one %.1e\n", c->name, apart(first, added, ALL),
                  apart(added, merged, ALL), apart(added, slow, ALL));
    assert_true(apart(first, added, ALL) > 0.1);
    assert_true(apart(added, merged, ALL) < CLOSE && apart(added, slow, ALL) < CLOSE);
    free(first), free(none), free(added), free(slow), free(merged);
    lm_close(&plain), lm_close(&t);
}

static void merged_models_compute_what_adapters_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(llama_cases); i++) check_case(&llama_cases[i]);
}

static void only_the_adapter_has_gradients_and_files(void **state)
{
    (void)state;
    for (hd_lm_kind kind = HD_LM_gpt; kind < HD_LM_KINDS; kind++) {
        lm_toy t;
        size_t learned = 0, held = 0;
        hd_lm_opt o = lm_opt(kind);
        o.lora = LORA;
        lm_open(&t, &o, 1, true);
        const hd_params *p = t.m->params;
        for (size_t i = 0; i < p->count; i++) {
            const hd_param *one = p->list[i];
            if (one->adapter) learned += (hd_count_of(&one->t) + 15) / 16 * 16;
            if (hd_params_has(p, one)) held++, assert_true(one->adapter);
            assert_int_equal(one->t.grad != NULL, one->adapter);
        }
        assert_true(held > 0);
        assert_int_equal(p->trainable, learned);
        assert_true(p->trainable * 2 < p->total);
        lm_close(&t);
    }
}

static void targets_are_the_ends_of_names(void **state)
{
    (void)state;
    static const struct {
        const char *targets;
        size_t layers; /* of 2 blocks */
    } cases[] = {{"q_proj", 2},
                 {"q_proj,v_proj", 4},
                 {"self_attn.o_proj", 2},
                 {"layers.1.mlp.up_proj", 1},
                 {"all", 14}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        lm_toy t;
        size_t n = 0;
        hd_lm_opt o = lm_opt(HD_LM_llama);
        o.lora = LORA;
        snprintf(o.lora.targets, sizeof o.lora.targets, "%s", cases[c].targets);
        lm_open(&t, &o, 1, true);
        for (size_t i = 0; i < t.m->params->count; i++) n += t.m->params->list[i]->adapter;
        assert_int_equal(n, 2 * cases[c].layers);
        lm_close(&t);
    }
    static const char *const wrong[] = {"_proj", "q_proj,lm_head", "embed_tokens", "", "input_layernorm"};
    hd_backend *b = backend_of("cpu", 1);
    for (size_t c = 0; c < COUNT_OF(wrong); c++) {
        hd_lm *m = NULL;
        hd_err err = {0};
        hd_lm_opt o = lm_opt(HD_LM_llama);
        o.lora = LORA;
        snprintf(o.lora.targets, sizeof o.lora.targets, "%s", wrong[c]);
        assert_int_equal(hd_lm_new(&m, &o, b, true, &err), HD_EARG);
        assert_true(strstr(err.text, "there are q_proj,k_proj,v_proj,o_proj") || !*wrong[c]);
    }
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_models_compute_what_adapters_do),
        cmocka_unit_test(only_the_adapter_has_gradients_and_files),
        cmocka_unit_test(targets_are_the_ends_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
