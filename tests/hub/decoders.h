/* Small decoders of every family: folders as transformers saves them, with weights drawn as
   published/make_decoders.py draws them, and what it gives for them. Include after check.h and scratch.h. */
#ifndef DECODERS_H
#define DECODERS_H

#include "hub/imported.h"
#include "model/lm/gpt.h"
#include "task/language/language.h"

#define DECODER_TOKENIZER HEED_SOURCE "/tests/text/published/llama3/tokenizer.json"

enum { VOCAB = 512, WIDTH = 32, INNER = 48, IDS = 96, SEEN = 9, STRIDE = 32, WRITTEN = 64 };
enum { LONG = 2100, LONG_SEEN = 5 };

static const int rows_seen[SEEN] = {0, 1, 7, 8, 9, 31, 63, 64, 95},
                 long_rows_seen[LONG_SEEN] = {96, 511, 1024, 2047, 2099};

#define LATENT(query)                                                         \
    {                                                                         \
        .rank = 16, .query_rank = query, .plain = 8, .rotated = 8, .value = 6 \
    }

static const struct shape {
    const char *name;
    size_t layers, heads, kv_heads, head;
    bool untied, qkv_bias, bias, qk_norm, output_norms; /* bias: of all that is no norm */
    bool whole_norm;                                    /* q/k norms go over all heads */
    size_t experts, inner, dense; /* so many, of so many columns, but in the first layers */
    bool mixtral;
    hd_latent_opt latent;
    size_t shared; /* columns of shared experts */
    bool bias_of_choice;
} shapes[] = {
    {"llama", 3, 4, 2, 8, .untied = true},
    {"llama-biased", 3, 4, 2, 8, .bias = true},
    {"llama-linear", 3, 4, 4, 8, .untied = false},
    {"llama-dynamic", 3, 4, 4, 8, .untied = false},
    {"mistral", 3, 4, 2, 16, .untied = true},
    {"qwen2", 3, 4, 2, 8, .untied = true, .qkv_bias = true},
    {"qwen3", 3, 4, 2, 16, .qk_norm = true},
    {"gemma", 3, 4, 1, 16, .untied = false},
    {"gemma2", 3, 4, 2, 16, .output_norms = true},
    {"gemma3", 4, 4, 2, 16, .qk_norm = true, .output_norms = true},
    {"mixtral", 3, 4, 2, 8, .untied = true, .experts = 4, .inner = 24, .mixtral = true},
    {"olmoe", 3, 4, 2, 8, .untied = true, .qk_norm = true, .whole_norm = true, .experts = 8, .inner = 24},
    {"qwen3_moe", 3, 4, 2, 16, .untied = true, .qk_norm = true, .experts = 8, .inner = 24, .dense = 1},
    {"deepseek_v2", 3, 4, .untied = true, .latent = LATENT(12), .experts = 8, .inner = 12, .dense = 1,
     .shared = 24},
    {"deepseek_v2-lite", 3, 4, .untied = true, .latent = LATENT(0), .experts = 8, .inner = 12, .dense = 1,
     .shared = 12},
    {"deepseek_v3", 3, 4, .untied = true, .latent = LATENT(12), .experts = 8, .inner = 12, .dense = 1,
     .shared = 12, .bias_of_choice = true},
    {"deepseek_v3-halves", 3, 4, .latent = LATENT(0), .experts = 8, .inner = 12, .shared = 12,
     .bias_of_choice = true},
};

#undef LATENT

/* -- folders -- */

/* cols 0: a vector. */
__attribute__((format(printf, 4, 5))) static void put(store *s, size_t rows, size_t cols, const char *format,
                                                      ...)
{
    char name[128];
    const size_t shape[2] = {rows, cols}, count = rows * (cols ? cols : 1);
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    float *x = malloc(count * sizeof *x);
    draw(x, count, name, 0.6f, !cols && strstr(name, "norm.weight"));
    s->tensor[s->count] = hd_shaped(x, HD_F32, cols ? 2 : 1, shape);
    s->named[s->count] = (hd_named){strdup(name), &s->tensor[s->count]};
    s->count++;
}

static void put_linear(store *s, size_t layer, const char *name, size_t out, size_t in, bool bias)
{
    put(s, out, in, "model.layers.%zu.%s.weight", layer, name);
    if (bias) put(s, out, 0, "model.layers.%zu.%s.bias", layer, name);
}

static void put_experts(store *s, const struct shape *d, size_t l)
{
    static const char *const names[2][3] = {{"gate_proj", "up_proj", "down_proj"}, {"w1", "w3", "w2"}};
    const char *const where = d->mixtral ? "block_sparse_moe" : "mlp";
    put(s, d->experts, WIDTH, "model.layers.%zu.%s.gate.weight", l, where);
    for (size_t e = 0; e < d->experts; e++)
        for (int i = 0; i < 3; i++)
            put(s, i == 2 ? WIDTH : d->inner, i == 2 ? d->inner : WIDTH,
                "model.layers.%zu.%s.experts.%zu.%s.weight", l, where, e, names[d->mixtral][i]);
    if (d->bias_of_choice) put(s, d->experts, 0, "model.layers.%zu.mlp.gate.e_score_correction_bias", l);
    for (int i = 0; d->shared && i < 3; i++)
        put(s, i == 2 ? WIDTH : d->shared, i == 2 ? d->shared : WIDTH,
            "model.layers.%zu.mlp.shared_experts.%s.weight", l, names[0][i]);
}

static void put_latent(store *s, const struct shape *d, size_t l)
{
    const hd_latent_opt *a = &d->latent;
    const size_t asked = d->heads * (a->plain + a->rotated);
    if (a->query_rank) {
        put_linear(s, l, "self_attn.q_a_proj", a->query_rank, WIDTH, false);
        put(s, a->query_rank, 0, "model.layers.%zu.self_attn.q_a_layernorm.weight", l);
    }
    put_linear(s, l, a->query_rank ? "self_attn.q_b_proj" : "self_attn.q_proj", asked,
               a->query_rank ? a->query_rank : WIDTH, false);
    put_linear(s, l, "self_attn.kv_a_proj_with_mqa", a->rank + a->rotated, WIDTH, false);
    put(s, a->rank, 0, "model.layers.%zu.self_attn.kv_a_layernorm.weight", l);
    put_linear(s, l, "self_attn.kv_b_proj", d->heads * (a->plain + a->value), a->rank, false);
    put_linear(s, l, "self_attn.o_proj", WIDTH, d->heads * a->value, false);
}

static void put_attention(store *s, const struct shape *d, size_t l)
{
    const bool qkv = d->bias || d->qkv_bias;
    put_linear(s, l, "self_attn.q_proj", d->heads * d->head, WIDTH, qkv);
    put_linear(s, l, "self_attn.k_proj", d->kv_heads * d->head, WIDTH, qkv);
    put_linear(s, l, "self_attn.v_proj", d->kv_heads * d->head, WIDTH, qkv);
    put_linear(s, l, "self_attn.o_proj", WIDTH, d->heads * d->head, d->bias);
}

static void put_layer(store *s, const struct shape *d, size_t l)
{
    put(s, WIDTH, 0, "model.layers.%zu.input_layernorm.weight", l);
    put(s, WIDTH, 0, "model.layers.%zu.post_attention_layernorm.weight", l);
    (d->latent.rank ? put_latent : put_attention)(s, d, l);
    if (d->experts && l >= d->dense)
        put_experts(s, d, l);
    else {
        put_linear(s, l, "mlp.gate_proj", INNER, WIDTH, d->bias);
        put_linear(s, l, "mlp.up_proj", INNER, WIDTH, d->bias);
        put_linear(s, l, "mlp.down_proj", WIDTH, INNER, d->bias);
    }
    for (int i = 0; d->qk_norm && i < 2; i++)
        put(s, d->whole_norm ? (i ? d->kv_heads : d->heads) * d->head : d->head, 0,
            "model.layers.%zu.self_attn.%c_norm.weight", l, "qk"[i]);
    for (int i = 0; d->output_norms && i < 2; i++)
        put(s, WIDTH, 0, "model.layers.%zu.%s_feedforward_layernorm.weight", l, i ? "post" : "pre");
}

static void copy_whole(const char *from, const char *to)
{
    size_t size;
    char *bytes = get_file(from, &size);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
    free(bytes);
}

static void put_weights(store *s, const struct shape *d)
{
    put(s, VOCAB, WIDTH, "model.embed_tokens.weight");
    for (size_t l = 0; l < d->layers; l++) put_layer(s, d, l);
    put(s, WIDTH, 0, "model.norm.weight");
    if (d->untied) put(s, VOCAB, WIDTH, "lm_head.weight");
}

CHECK_UNUSED static void put_decoder(const struct shape *d, const char *folder)
{
    char path[HD_PATH];
    store s = {0};
    put_weights(&s, d);
    mkdir(at("%s", folder), 0755);
    snprintf(path, sizeof path, PUBLISHED "decoders/%s.json", d->name);
    copy_whole(path, at("%s/config.json", folder));
    copy_whole(DECODER_TOKENIZER, at("%s/tokenizer.json", folder));
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

/* -- what transformers gives -- */

static int32_t *ids_of(FILE *f, int32_t *ids, int count)
{
    for (int i = 0; i < count; i++) assert_int_equal(fscanf(f, "%d", &ids[i]), 1);
    return ids;
}

/* Logits of these rows of a text. */
static void check_rows(FILE *f, hd_run *r, const hd_model_folder *l, const int32_t *ids, int32_t length,
                       const int *rows, int count)
{
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, &length, 1, NULL);
    hd_rows x = hd_model_rows(r, &l->model, &(hd_items){.seg = seg, .ids = hd_ints(r, ids, (size_t)length)});
    hd_real *logits = host_copy(r, hd_gpt_logits(r, hd_model_folder_lm(l)->model, x));
    for (int i = 0; i < count; i++)
        for (int k = 0; k < VOCAB / STRIDE; k++) {
            double want, got = (double)logits[(size_t)rows[i] * VOCAB + (size_t)(k * STRIDE)];
            assert_int_equal(fscanf(f, "%lf", &want), 1);
            if (!(fabs(want - got) < 1e-4))
                fail_msg("row %d, token %d: %g, not %g", rows[i], k * STRIDE, got, want);
        }
    free(logits);
}

static void check_written(FILE *f, hd_run *r, const hd_model_folder *l, const int32_t *ids)
{
    hd_err err = {0};
    hd_stepper stepper;
    hd_found *found = NULL;
    int32_t want[WRITTEN], count = 8;
    const hd_lm *m = hd_model_folder_lm(l);
    assert_int_equal(m->type->stepper(&stepper, m, ids, &count, 1, 0, &err), HD_OK);
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = WRITTEN};
    if (hd_search(&found, r, &stepper, &o, &err)) fail_msg("%s", err.text);
    const hd_guess *g = hd_found_at(found, 0);
    assert_int_equal(g->length, WRITTEN);
    assert_memory_equal(g->ids, ids_of(f, want, WRITTEN), sizeof want);
    hd_found_free(found);
    hd_stepper_release(&stepper);
}

CHECK_UNUSED static void check_decoder(const char *folder, const char *name)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    char path[HD_PATH];
    snprintf(path, sizeof path, PUBLISHED "decoders/%s.txt", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    if (folder_open(&l, at("%s", folder), "lm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    int32_t ids[IDS], count = 0;
    assert_int_equal(fscanf(f, "%d", &count), 1);
    assert_int_equal(count, IDS);
    ids_of(f, ids, IDS);
    check_rows(f, &r, l, ids, IDS, rows_seen, SEEN);
    check_written(f, &r, l, ids);
    int32_t more[LONG];
    for (int i = 0; i < LONG; i++) more[i] = (i * i * 7 + 13 * i + 5) % 500;
    check_rows(f, &r, l, more, LONG, long_rows_seen, LONG_SEEN);
    fclose(f);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

#endif
