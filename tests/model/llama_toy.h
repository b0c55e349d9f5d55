/* Small models of the families that are options of one block: the same sizes and weights as transformers gets
   in tests/hub/published/blocks_check.py, whose logits are the goldens. */
#ifndef LLAMA_TOY_H
#define LLAMA_TOY_H

#include "model/lm_toy.h"

enum { LLAMA_VOCAB = 13, LLAMA_TEXT = 40, LLAMA_GOLDEN = 7 };

typedef struct llama_case {
    const char *name;
    hd_lm_opt opt;              /* what differs from llama_opt */
    bool from_one;              /* weights of norms are around 0 */
    float golden[LLAMA_GOLDEN]; /* logits at llama_places */
} llama_case;

CHECK_UNUSED static const int llama_places[LLAMA_GOLDEN][2] = {{0, 0},  {1, 5},  {7, 3},  {20, 12},
                                                               {39, 0}, {39, 6}, {39, 12}};

#define ROTARY(base, ...) .stack.rotary = {.kind = HD_ROTARY_HALVES, .theta = base, __VA_ARGS__}
#define GEMMA                                                                                             \
    .tied = true, .stack.head_width = 6, .stack.query_scale = 1.0f / 3, .stack.window = 5,                \
    .stack.unit_gain = true, .stack.output_norms = true, .stack.act = HD_gelu_tanh, .embedding_scale = 4, \
    .stack.unbiased = true

#define LATENT(query)                     \
    .tied = true, .stack.unbiased = true, \
    .stack.latent = {.rank = 8, .query_rank = query, .plain = 6, .rotated = 4, .value = 5}

CHECK_UNUSED static const llama_case llama_cases[] = {
    {"llama",
     {ROTARY(10000), .stack.unbiased = true},
     .golden = {1.1082963f, -1.0388687f, -1.1137488f, 1.3168460f, -0.1365472f, -1.0163070f, 1.2981575f}},
    {"llama, biases",
     {ROTARY(10000), .tied = true},
     .golden = {1.3264799f, -0.5789326f, -1.0250474f, 1.1582444f, -0.4312949f, -0.5986310f, 1.1155133f}},
    {"llama3",
     {ROTARY(10000, .scaling = {.kind = HD_ROTARY_LLAMA3, .factor = 8, .low = 1, .high = 4, .original = 16}),
      .stack.unbiased = true, .tied = true},
     .golden = {1.3434093f, -0.6856306f, -1.2678249f, 1.4039048f, -0.7616957f, -0.6791040f, 1.5378927f}},
    {"yarn",
     {ROTARY(10000, .scaling = {.kind = HD_ROTARY_YARN, .factor = 4, .original = 16}), .stack.unbiased = true,
      .tied = true},
     .golden = {1.3434093f, -0.7524925f, -1.2812070f, 1.4753782f, -0.5044091f, -0.8641948f, 1.4921595f}},
    {"mistral",
     {ROTARY(10000), .stack.unbiased = true, .stack.head_width = 6, .stack.window = 5},
     .golden = {-0.0787701f, -0.2651264f, 0.0697884f, -0.0513703f, 0.1187528f, -0.0250845f, -0.0900819f}},
    {"qwen2",
     {ROTARY(1000000), .tied = true, .stack.unbiased_out = true, .stack.unbiased_inner = true,
      .stack.window = 7, .stack.window_from = 2},
     .golden = {1.3728812f, -0.8405149f, -1.0454741f, 1.2395782f, 0.0078824f, -1.0895870f, 1.2374849f}},
    {"qwen3",
     {ROTARY(1000000), .tied = true, .stack.unbiased = true, .stack.head_width = 6,
      .stack.qk_norm = HD_QK_NORM_HEAD},
     .golden = {-0.0125703f, -0.2489324f, 0.0335724f, -0.0222649f, 0.1830633f, -0.1344110f, -0.0294353f}},
    {"gemma2",
     {ROTARY(10000), GEMMA, .stack.window_every = 2, .stack.score_cap = 2, .logit_cap = 3},
     .from_one = true,
     .golden = {0.8340303f, -0.1738250f, 0.2253476f, -0.1550816f, 0.6512391f, -0.4380999f, -0.1572820f}},
    {"gemma3",
     {ROTARY(1000000, .scaling = {.kind = HD_ROTARY_LINEAR, .factor = 8}), GEMMA, .stack.layers = 6,
      .stack.window_every = 3, .stack.local_theta = 10000, .stack.qk_norm = HD_QK_NORM_HEAD},
     .from_one = true,
     .golden = {0.5298610f, -0.1700557f, 0.2959473f, -0.2078499f, 0.7286816f, -0.4164346f, -0.2527085f}},
    {"deepseek v2",
     {.stack.rotary = {.kind = HD_ROTARY_INTERLEAVED, .theta = 10000}, LATENT(0)},
     .golden = {0.3214504f, -0.6138562f, 0.1139990f, 0.0850382f, 0.3955239f, -0.4112281f, 0.0744982f}},
    {"deepseek v3",
     {.stack.rotary =
          {.kind = HD_ROTARY_INTERLEAVED,
           .theta = 10000,
           .scaling = {.kind = HD_ROTARY_YARN, .factor = 4, .original = 16, .mscale = 1, .mscale_all = 1}},
      LATENT(7),
      .stack.query_scale = 0.40998203f}, /* 10^-1/2 (0.1 ln 4 + 1)^2 */
     .golden = {0.3214504f, 0.2385929f, -0.0496305f, 0.1134154f, 0.3315530f, -0.3931276f, 0.1177809f}},
};

CHECK_UNUSED static hd_lm_opt llama_opt(const llama_case *c)
{
    hd_lm_opt o = c->opt;
    o.kind = HD_LM_llama, o.vocab = LLAMA_VOCAB, o.context = 64, o.order = 1;
    o.start = LM_START, o.end = LM_END, o.unk = LM_UNK;
    hd_stack_opt *k = &o.stack;
    k->width = 16, k->inner = 24, k->heads = 4, k->kv_heads = k->latent.rank ? 0 : 2, k->eps = 1e-5f;
    k->pre_norm = k->rms = k->gated = true;
    if (!k->layers) k->layers = 4;
    if (!k->act) k->act = HD_silu;
    return o;
}

CHECK_UNUSED static void llama_text(int32_t *ids)
{
    for (int32_t i = 0; i < LLAMA_TEXT; i++) ids[i] = (7 * i * i + 3 * i + 1) % LLAMA_VOCAB;
}

/* Every tensor is a sine of its index, which begins by its name in transformers. */
CHECK_UNUSED static void llama_fill(hd_params *p, bool from_one)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        if (!one->name || one->alias) continue;
        char name[256];
        uint32_t hash = 0;
        snprintf(name, sizeof name, "%s%s", strncmp(one->name, "lm_head", 7) ? "model." : "", one->name);
        for (const char *c = name; *c; c++) hash = (hash * 31 + (uint32_t)*c) % 1000003;
        size_t n = hd_count_of(&one->t);
        bool vector = one->t.rank == 1, ones = strstr(name, "norm") && !from_one;
        hd_real *x = malloc(n * sizeof *x);
        for (size_t k = 0; k < n; k++)
            x[k] = (hd_real)(float)(sin(0.37 * (double)k + 0.001 * hash) * (vector ? 0.2 : 0.3) + ones);
        hd_params_set(p, one, x);
        free(x);
    }
}

/* Logits [n, vocabulary] of the first tokens, in new memory. */
CHECK_UNUSED static hd_real *llama_logits(lm_toy *t, const int32_t *ids, int32_t n)
{
    hd_run *r = &t->run;
    hd_run_begin(r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(r, &n, 1, NULL);
    hd_rows x = hd_gpt_forward(r, t->m->model, hd_ints(r, ids, (size_t)n), seg, NULL);
    return host_copy(r, hd_gpt_logits(r, t->m->model, x));
}

#endif
