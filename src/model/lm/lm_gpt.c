/* GPT as a language model, with the names of GPT-2 or those of Llama. */
#include "model/lm/gpt.h"
#include "model/formula.h"
#include "model/lm/lm_parts.h"
#include "model/prepare.h"

static void drop(hd_lm *m)
{
    hd_gpt_free(m->model);
}

static hd_status make(hd_lm *m, hd_backend *b, hd_err *err)
{
    const hd_lm_opt *o = &m->opt;
    if (!(o->stack.eps > 0)) m->opt.stack.eps = 1e-5f;
    hd_gpt_opt g = {.stack = o->stack,
                    .vocab = o->vocab,
                    .positions = o->positions > o->context ? o->positions : o->context,
                    .position = o->position,
                    .embedding_dropout = o->embedding_dropout,
                    .embedding_scale = o->embedding_scale,
                    .logit_cap = o->logit_cap,
                    .names = o->kind == HD_LM_gpt ? &hd_gpt_names_gpt2 : &hd_gpt_names_llama,
                    .untied = !o->tied,
                    .lora = o->lora,
                    .no_positions = o->no_positions};
    if (o->stack.act == HD_IDENTITY) g.stack.act = HD_gelu_tanh;
    hd_gpt *gpt = NULL;
    hd_status s = hd_gpt_make(&gpt, b, &g, err);
    if (s) return s;
    m->model = gpt;
    m->params = &gpt->params;
    return HD_OK;
}

static hd_status fill_tables(void *self, hd_err *err)
{
    return hd_gpt_fill(((hd_lm *)self)->model, err);
}

static hd_tensor *loss(hd_run *r, const hd_lm *m, const hd_lm_batch *b, hd_cache *state,
                       const hd_loss_opt *opt)
{
    (void)state;
    return hd_gpt_loss(r, m->model, hd_gpt_forward(r, m->model, b->ids, b->seg, NULL), b->target, opt);
}

static hd_tensor *loss_of(hd_run *r, const hd_lm *m, hd_rows x, const int32_t *target, const hd_loss_opt *opt)
{
    return hd_gpt_loss(r, m->model, x, target, opt);
}

static double flops(const void *self, double windows, double length, double outputs)
{
    (void)outputs;
    return hd_gpt_flops(((const hd_lm *)self)->model, (size_t)windows, (size_t)length);
}

static const hd_gpt *gpt_of(const void *self)
{
    return ((const hd_lm *)self)->model;
}

static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    return hd_gpt_rows_at_layer(r, gpt_of(self), layers, in);
}

static size_t width(const void *self, int layer)
{
    (void)layer;
    return ((const hd_lm *)self)->opt.stack.width;
}

static hd_param *table(const void *self)
{
    return gpt_of(self)->front.table;
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_gpt(p, gpt_of(self));
}

static void describe_experts(const hd_experts_opt *o, hd_details *to)
{
    hd_details_whole(to, "experts", (uint64_t)o->count);
    hd_details_whole(to, "experts used", (uint64_t)o->used);
    if (o->shared) hd_details_whole(to, "shared experts", (uint64_t)o->shared);
    hd_details_whole(to, "expert size", o->inner);
    hd_details_text(to, "router", hd_router_names[o->router]);
}

/* Numbers that a cache keeps of a token in all layers, and what ordinary attention of the same heads would
   keep. */
static void describe_cache(const hd_stack_opt *o, size_t kept, size_t ordinary, hd_details *to)
{
    const uint64_t layers = (uint64_t)o->layers, bytes = 2;
    hd_details_whole(to, "numbers in the cache", layers * kept);
    if (kept == ordinary) return;
    hd_details_whole(to, "cache bytes, bf16", bytes * layers * kept);
    hd_details_whole(to, "ordinary cache, bf16", bytes * layers * ordinary);
    hd_details_real(to, "cache smaller by", (double)ordinary / (double)kept, " times");
}

/* What modern blocks have beside. */
static void describe_blocks(const hd_stack_opt *o, hd_details *to)
{
    size_t kv = (size_t)(o->kv_heads ? o->kv_heads : o->heads),
           head = o->head_width ? o->head_width : o->width / (size_t)o->heads;
    size_t kept = 2 * kv * head, ordinary = 2 * (size_t)o->heads * head;
    if (o->latent.rank) {
        kept = o->latent.rank + o->latent.rotated;
        ordinary = (size_t)o->heads * (o->latent.plain + o->latent.value);
        hd_details_whole(to, "latent rank", o->latent.rank);
        hd_details_whole(to, "query rank", o->latent.query_rank);
        hd_details_whole(to, "key columns of a head", o->latent.plain + o->latent.rotated);
        hd_details_whole(to, "value columns", o->latent.value);
    } else {
        hd_details_whole(to, "key and value heads", kv);
        hd_details_whole(to, "head size", head);
    }
    hd_details_whole(to, "feed-forward size", o->inner);
    if (o->rotary.kind)
        hd_details_whole(to, "rope theta", (uint64_t)(o->rotary.theta > 0 ? o->rotary.theta : 10000));
    if (o->rotary.scaling.kind)
        hd_details_text(to, "rope scaling", hd_rotary_scaling_names[o->rotary.scaling.kind]);
    if (o->window) hd_details_whole(to, "window", (uint64_t)o->window);
    if (o->experts.count) describe_experts(&o->experts, to);
    if (o->qk_norm) hd_details_text(to, "q/k norm", hd_qk_norm_names[o->qk_norm]);
    describe_cache(o, kept, ordinary, to);
}

static void describe_lora(const hd_lm *m, hd_details *to)
{
    const hd_lora_opt *o = &m->opt.lora;
    uint64_t learned = 0;
    for (size_t i = 0; i < m->params->count; i++)
        if (m->params->list[i]->adapter) learned += hd_count_of(&m->params->list[i]->t);
    hd_details_text(to, "adapter", "LoRA");
    hd_details_whole(to, "rank", (uint64_t)o->rank);
    hd_details_real(to, "alpha", o->alpha, "");
    hd_details_text(to, "targets", o->targets);
    hd_details_whole(to, "adapter parameters", learned);
}

static void describe(const void *self, hd_details *to)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_details_text(to, "model", hd_lm_names[o->kind]);
    hd_details_whole(to, "layers", (uint64_t)o->stack.layers);
    hd_details_whole(to, "context", o->context);
    hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    hd_details_whole(to, "width", o->stack.width);
    if (o->kind != HD_LM_gpt) describe_blocks(&o->stack, to);
    if (o->stack.relative_span) hd_details_whole(to, "relative distances", (uint64_t)o->stack.relative_span);
    if (o->stack.local_block) hd_details_whole(to, "local blocks", (uint64_t)o->stack.local_block);
    if (o->stack.rotary.kind)
        hd_details_text(to, "positions", "rotary");
    else if (o->no_positions || o->position)
        hd_details_text(to, "positions", o->no_positions ? "none" : hd_gpt_position_names[o->position]);
    if (o->lora.rank) describe_lora(self, to);
}

static hd_attention_layers attention(const void *self, hd_attention_kind k)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    hd_attention_layers a = {.bare = true};
    if (k == HD_ATTENTION_DECODER) hd_attention_layers_add(&a, 0, o->stack.layers, o->stack.heads);
    return a;
}

/* Where blocks are not those of GPT-2. */
static const char *block_formula(const hd_stack_opt *o, const char *name)
{
    if (o->experts.count && hd_formula_is(name, "router"))
        return o->experts.router == HD_ROUTER_SIGMOID ? "sigmoid(norm W_r)" : "softmax(norm W_r)";
    if (o->experts.count && hd_formula_is(name, "experts"))
        return o->experts.normalized ? "the largest of router, which then sum to 1, and 0 for all others"
                                     : "the largest of router, and 0 for all others";
    if (o->rms && hd_formula_is(name, "norm")) return "sum / sqrt(mean of squares + eps) * gain";
    if (o->rotary.kind && (hd_formula_is(name, "Q") || hd_formula_is(name, "K")))
        return hd_formula_is(name, "Q") ? "norm W_Q, pairs of columns turned by the position"
                                        : "norm W_K, pairs of columns turned by the position";
    if (o->gated && hd_formula_is(name, "gate")) return "norm W3";
    if (o->gated && hd_formula_is(name, "gated")) return "act(hidden) * gate";
    if (o->gated && hd_formula_is(name, "out")) return "gated W2";
    return NULL;
}

static const char *formula(const void *self, const char *name)
{
    const hd_lm_opt *o = &((const hd_lm *)self)->opt;
    if (hd_formula_is(name, "X")) return o->no_positions || o->stack.rotary.kind ? "emb" : "emb + position";
    const char *modern = block_formula(&o->stack, name);
    if (modern) return modern;
    if (o->stack.relative_span && hd_formula_is(name, "scores"))
        return "Q K^T + S, S_ij = q_i e_(i-j): Q E^T skewed, so that its columns are keys, not distances";
    if (hd_formula_is(name, "logits")) return "y E^T: y is the row above, E the table of tokens";
    return hd_formula_block(o->stack.pre_norm, name);
}

#define OF_BLOCKS(title)                                                                                    \
    {                                                                                                       \
        HD_LM_COMMON, .name = title, .fill_tables = fill_tables, .describe = describe, .rows = rows,        \
                      .head_dropout = HD_HEAD_DROPOUT_POOLED, .width = width, .table = table,               \
                      .stepper = hd_lm_gpt_stepper, .prepare = prepare, .attention = attention,             \
                      .attends = HD_ATTENTION_DECODER, .formula = formula, .flops = flops,                  \
                      .lm = {.make = make, .free = drop, .loss = loss, .loss_of = loss_of, .blocks = true}, \
    }

const hd_model_type hd_model_gpt = OF_BLOCKS("gpt"), hd_model_llama = OF_BLOCKS("llama"),
                    hd_model_moe = OF_BLOCKS("moe"), hd_model_deepseek = OF_BLOCKS("deepseek");
