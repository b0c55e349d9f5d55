/* A language model in config.json. */
#include "model/keys.h"
#include "model/lm/lm.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_BUCKETS = 1 << 28, MOST_LAYERS = 1000, MOST_WINDOW = 1 << 30 };

#define KEY(name, kind, field) HD_KEY_OF(hd_lm_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("model", CHOICE, kind), HD_KEY_NAMES(hd_lm_names)},
    {KEY("order", WHOLE, order), .least = 1, .most = 1000},
    {KEY("buckets", WHOLE, buckets), .least = 0, .most = MOST_BUCKETS},
    {KEY("layers", WHOLE, stack.layers), .least = 1, .most = MOST_LAYERS},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = 1024},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 0, .most = 4 * MOST_SIZE},
    {KEY("context", WHOLE, context), .least = 1, .most = MOST_SIZE},
    {KEY("vocabulary", WHOLE, vocab), .least = 1, .most = 64 * MOST_SIZE},
    {KEY("post_norm", NOT, stack.pre_norm)},
    {KEY("tied", FLAG, tied)},
    {KEY("add_k", REAL, k), .most = 1e9},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    {0},
};
/* Of a gpt. */
static const hd_key late[] = {
    {KEY("embedding_dropout", REAL, embedding_dropout), .most = 0.999, .when = HD_KEY_LATE},
    {KEY("attention_dropout", REAL, stack.attention_dropout), .most = 0.999, .when = HD_KEY_LATE},
    {KEY("eps", REAL, stack.eps), .most = 1, .when = HD_KEY_LATE},
    {KEY("relative", WHOLE, stack.relative_span), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("local_block", WHOLE, stack.local_block), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("no_positions", FLAG, no_positions), .when = HD_KEY_RARE},
    {KEY("position", CHOICE, position), HD_KEY_NAMES(hd_gpt_position_names), .when = HD_KEY_RARE},
    {KEY("positions", WHOLE, positions), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("align", WHOLE, align), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {0},
};
/* Of blocks that are not GPT-2's. */
static const hd_key modern[] = {
    {KEY("kv_heads", WHOLE, stack.kv_heads), .most = 1024, .when = HD_KEY_RARE},
    {KEY("head_width", WHOLE, stack.head_width), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("latent_rank", WHOLE, stack.latent.rank), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("latent_query_rank", WHOLE, stack.latent.query_rank), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("latent_plain", WHOLE, stack.latent.plain), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("latent_rotated", WHOLE, stack.latent.rotated), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("latent_value", WHOLE, stack.latent.value), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("rms", FLAG, stack.rms), .when = HD_KEY_RARE},
    {KEY("unit_gain", FLAG, stack.unit_gain), .when = HD_KEY_RARE},
    {KEY("output_norms", FLAG, stack.output_norms), .when = HD_KEY_RARE},
    {KEY("gated", FLAG, stack.gated), .when = HD_KEY_RARE},
    {KEY("unbiased", FLAG, stack.unbiased), .when = HD_KEY_RARE},
    {KEY("unbiased_out", FLAG, stack.unbiased_out), .when = HD_KEY_RARE},
    {KEY("unbiased_inner", FLAG, stack.unbiased_inner), .when = HD_KEY_RARE},
    {KEY("qk_norm", CHOICE, stack.qk_norm), HD_KEY_NAMES(hd_qk_norm_names), .when = HD_KEY_RARE},
    {KEY("query_scale", REAL, stack.query_scale), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("score_cap", REAL, stack.score_cap), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("logit_cap", REAL, logit_cap), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("embedding_scale", REAL, embedding_scale), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("window", WHOLE, stack.window), .most = MOST_WINDOW, .when = HD_KEY_RARE},
    {KEY("window_every", WHOLE, stack.window_every), .most = MOST_LAYERS, .when = HD_KEY_RARE},
    {KEY("window_from", WHOLE, stack.window_from), .most = MOST_LAYERS, .when = HD_KEY_RARE},
    {KEY("rotary", CHOICE, stack.rotary.kind), HD_KEY_NAMES(hd_rotary_names), .when = HD_KEY_RARE},
    {KEY("rotary_theta", REAL, stack.rotary.theta), .most = 1e15, .when = HD_KEY_RARE},
    {KEY("rotary_columns", WHOLE, stack.rotary.columns), .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("local_theta", REAL, stack.local_theta), .most = 1e15, .when = HD_KEY_RARE},
    {KEY("rotary_scaling", CHOICE, stack.rotary.scaling.kind), HD_KEY_NAMES(hd_rotary_scaling_names),
     .when = HD_KEY_RARE},
    {KEY("rotary_factor", REAL, stack.rotary.scaling.factor), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_low", REAL, stack.rotary.scaling.low), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_high", REAL, stack.rotary.scaling.high), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_original", WHOLE, stack.rotary.scaling.original), .most = MOST_WINDOW, .when = HD_KEY_RARE},
    {KEY("rotary_beta_fast", REAL, stack.rotary.scaling.beta_fast), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_beta_slow", REAL, stack.rotary.scaling.beta_slow), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_attention_factor", REAL, stack.rotary.scaling.attention_factor), .most = 1e6,
     .when = HD_KEY_RARE},
    {KEY("rotary_mscale", REAL, stack.rotary.scaling.mscale), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_mscale_all", REAL, stack.rotary.scaling.mscale_all), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("rotary_no_rounding", FLAG, stack.rotary.scaling.no_rounding), .when = HD_KEY_RARE},
    {0},
};
/* Of blocks with experts. */
static const hd_key experts[] = {
    {KEY("experts", WHOLE, stack.experts.count), .most = HD_EXPERTS_MOST, .when = HD_KEY_RARE},
    {KEY("experts_used", WHOLE, stack.experts.used), .most = HD_EXPERTS_USED_MOST, .when = HD_KEY_RARE},
    {KEY("shared_experts", WHOLE, stack.experts.shared), .most = 64, .when = HD_KEY_RARE},
    {KEY("expert_width", WHOLE, stack.experts.inner), .most = 4 * MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("dense_layers", WHOLE, stack.experts.first), .most = MOST_LAYERS, .when = HD_KEY_RARE},
    {KEY("experts_every", WHOLE, stack.experts.every), .most = MOST_LAYERS, .when = HD_KEY_RARE},
    {KEY("router", CHOICE, stack.experts.router), HD_KEY_NAMES(hd_router_names), .when = HD_KEY_RARE},
    {KEY("expert_groups", WHOLE, stack.experts.groups), .most = HD_EXPERTS_MOST, .when = HD_KEY_RARE},
    {KEY("expert_groups_used", WHOLE, stack.experts.groups_used), .most = HD_EXPERTS_MOST,
     .when = HD_KEY_RARE},
    {KEY("router_scale", REAL, stack.experts.scaling), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("router_normalized", FLAG, stack.experts.normalized), .when = HD_KEY_RARE},
    {KEY("router_bias", FLAG, stack.experts.bias), .when = HD_KEY_RARE},
    {0},
};
/* Of an adapter: its own weights are those of the two matrices. */
static const hd_key lora[] = {
    {KEY("lora_rank", WHOLE, lora.rank), .most = HD_LORA_MOST_RANK, .when = HD_KEY_RARE},
    {KEY("lora_alpha", REAL, lora.alpha), .most = 1e9, .when = HD_KEY_RARE},
    {KEY("lora_dropout", REAL, lora.dropout), .most = 0.999, .when = HD_KEY_RARE},
    {KEY("lora_targets", TEXT, lora.targets), .when = HD_KEY_RARE},
    {KEY("lora_base", TEXT, lora.base), .when = HD_KEY_RARE},
    {0},
};
static const hd_key last[] = {
    {KEY("smoothing", CHOICE, smoothing), HD_KEY_NAMES(hd_smoothing_names)},
    {KEY("activation", UNARY, stack.act)},
    {0},
};

void hd_lm_config_write(hd_text *to, const hd_lm_opt *o)
{
    hd_keys_write(to, keys, 0, o);
    if (hd_lm_types[o->kind]->lm.blocks) hd_keys_write(to, late, 0, o);
    if (hd_lm_types[o->kind]->lm.blocks) hd_keys_write(to, modern, 0, o);
    if (o->stack.experts.count) hd_keys_write(to, experts, 0, o);
    hd_keys_write(to, lora, 0, o);
    hd_keys_write(to, last, 0, o);
}

void hd_lm_config_read(hd_model_config *c, hd_lm_opt *o)
{
    *o = (hd_lm_opt){.stack.eps = 1e-5f};
    hd_keys_read(c, keys, 0, o);
    o->embedding_dropout = o->stack.attention_dropout = o->stack.dropout;
    hd_keys_read(c, late, 0, o);
    hd_keys_read(c, modern, 0, o);
    hd_keys_read(c, experts, 0, o);
    hd_keys_read(c, lora, 0, o);
    hd_keys_read(c, last, 0, o);
    if (hd_lm_types[o->kind]->lm.blocks && !o->stack.head_width && !o->stack.latent.rank &&
        o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}
