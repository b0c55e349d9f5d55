/* Transformer blocks, one on the other. */
#include "model/stack.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"

const hd_stack_names hd_stack_marian = {
    .layers = "layers",
    .self = "self_attn",
    .cross = "encoder_attn",
    .query = "q_proj",
    .key = "k_proj",
    .value = "v_proj",
    .out = "out_proj",
    .norm = {"self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"},
    .in = "fc1",
    .back = "fc2",
    .last = "layer_norm"};

const hd_stack_names hd_stack_bert = {
    .layers = "layer",
    .self = "attention",
    .cross = "crossattention",
    .query = "self.query",
    .key = "self.key",
    .value = "self.value",
    .out = "output.dense",
    .norm = {"attention.output.LayerNorm", "crossattention.output.LayerNorm", "output.LayerNorm"},
    .in = "intermediate.dense",
    .back = "output.dense",
    .last = "layer_norm"};

/* The sublayers of a T5 are numbered. */
#define T5_NAMES(feed_forward)                                                                  \
    {                                                                                           \
        .layers = "block", .self = "layer.0.SelfAttention", .cross = "layer.1.EncDecAttention", \
        .query = "q", .key = "k", .value = "v", .out = "o",                                     \
        .norm = {"layer.0.layer_norm", "layer.1.layer_norm", feed_forward ".layer_norm"},       \
        .in = feed_forward ".DenseReluDense.wi", .back = feed_forward ".DenseReluDense.wo",     \
        .gated = {feed_forward ".DenseReluDense.wi_0", feed_forward ".DenseReluDense.wi_1"},    \
        .last = "final_layer_norm"                                                              \
    }

const hd_stack_names hd_stack_t5_encoder = T5_NAMES("layer.1"), hd_stack_t5_decoder = T5_NAMES("layer.2");

size_t hd_stack_attention_width(const hd_stack_opt *o)
{
    return o->head_width ? (size_t)o->heads * o->head_width : o->width;
}

static const hd_stack_names *names_of(const hd_stack_opt *o)
{
    return o->names ? o->names : &hd_stack_marian;
}

static hd_norm_layer norm_at(hd_params *p, const hd_stack_opt *o, const char *name)
{
    return hd_norm_make(p, o->width, o->eps, o->rms,
                        o->plain ? HD_PLAIN
                        : o->rms ? HD_GAIN_ONLY
                                 : HD_AFFINE,
                        name);
}

static hd_mha attention_at(hd_params *p, const hd_stack_opt *o, const char *name)
{
    const hd_stack_names *n = names_of(o);
    hd_mha m = hd_mha_make(p, &(hd_mha_opt){.width = o->width,
                                            .head_width = o->head_width,
                                            .heads = o->heads,
                                            .no_bias = o->plain || o->unbiased,
                                            .dropout = o->attention_dropout,
                                            .init = {HD_INIT_XAVIER, 1, 0},
                                            .name = name,
                                            .query = n->query,
                                            .key = n->key,
                                            .value = n->value,
                                            .out = n->out});
    if (o->unscaled_scores) m.extra.scale = 1;
    return m;
}

/* Block 0 owns the numbers, the others use them. */
static void make_relative(hd_params *p, const hd_stack_opt *o, hd_block *b)
{
    const hd_stack_names *n = names_of(o);
    hd_init init = {HD_INIT_NORMAL, (float)(1 / sqrt((double)o->width)), 0};
    hd_param *table = hd_param_add(p, o->relative.buckets, (size_t)o->heads, init,
                                   "%s.%s.0.%s.relative_attention_bias.weight", o->name, n->layers, n->self);
    for (int l = 0; table && l < o->layers; l++) {
        hd_attend_opt *a = &b[l].self.extra;
        a->table = &table->t, a->table_both_ways = !o->cross, a->table_reach = o->relative.reach;
    }
}

static void make_block(hd_params *p, const hd_stack_opt *o, hd_block *b, int layer)
{
    hd_dense_opt dense = {.init = {HD_INIT_XAVIER, 1, 0}, .no_bias = o->unbiased};
    const hd_stack_names *n = names_of(o);
    char name[160];
#define NAMED(last) (snprintf(name, sizeof name, "%s.%s.%d.%s", o->name, n->layers, layer, last), name)
    b->has_cross = o->cross;
    b->self = attention_at(p, o, NAMED(n->self));
    b->norm[0] = norm_at(p, o, NAMED(n->norm[0]));
    if (o->cross) b->cross = attention_at(p, o, NAMED(n->cross));
    if (o->cross) b->norm[1] = norm_at(p, o, NAMED(n->norm[1]));
    b->ffn = (hd_ffn){.act = o->act, .dropout = o->inner_dropout};
    b->ffn.in = hd_dense_make(p, o->width, o->inner, &dense, NAMED(o->gated ? n->gated[0] : n->in));
    if (o->gated) b->ffn.gate = hd_dense_make(p, o->width, o->inner, &dense, NAMED(n->gated[1]));
    b->ffn.out = hd_dense_make(p, o->inner, o->width, &dense, NAMED(n->back));
    b->norm[2] = norm_at(p, o, NAMED(n->norm[2]));
#undef NAMED
}

hd_status hd_stack_make(hd_stack *out, hd_params *p, const hd_stack_opt *opt, hd_err *err)
{
    char name[160];
    if (opt->gated && !names_of(opt)->gated[0])
        return hd_err_set(err, HD_EARG, "blocks of these names have no gate");
    *out = (hd_stack){.opt = *opt, .block = hd_mem_array((size_t)opt->layers, sizeof *out->block)};
    if (!out->block) return hd_err_nomem(err, (size_t)opt->layers * sizeof *out->block);
    for (int l = 0; l < opt->layers; l++) make_block(p, opt, &out->block[l], l);
    if (opt->relative.buckets) make_relative(p, opt, out->block);
    snprintf(name, sizeof name, "%s.%s", opt->name, names_of(opt)->last);
    if (opt->pre_norm) out->last = norm_at(p, opt, name);
    out->opt.name = NULL;
    return HD_OK;
}

void hd_stack_release(hd_stack *s)
{
    hd_mem_free(s->block);
    *s = (hd_stack){0};
}

typedef struct layer_call { /* a block as hd_recompute sees it; pre-norm streams always come in with nothing
                               pending */
    const hd_block *block;
    const hd_seg *seg, *memory_seg;
    hd_mask mask;
    bool pre;
    float dropout;
} layer_call;

static hd_tensor *run_layer(hd_run *r, const void *context, hd_tensor *const *in)
{
    const layer_call *c = context;
    hd_stream s = {.x = {in[0], c->seg}, .pre = c->pre, .dropout = c->dropout};
    hd_block_of(r, c->block, &s, (hd_rows){in[1], c->memory_seg}, c->mask, NULL, NULL);
    return hd_stream_end(r, &s, NULL).t;
}

static void run_block(hd_run *r, const hd_stack *k, const hd_block *b, hd_stream *s, hd_rows memory,
                      hd_slot *slot)
{
    hd_mask mask = k->opt.cross ? HD_CAUSAL : HD_FULL;
    if (!k->opt.recompute || !r->taping) {
        hd_block_of(r, b, s, memory, mask, slot, slot ? slot + 1 : NULL);
        return;
    }
    layer_call *c = hd_host_take(r, sizeof *c);
    if (!c) return;
    *c = (layer_call){b, s->x.seg, memory.seg, mask, s->pre, s->dropout};
    s->x.t = hd_recompute(r, run_layer, c, (hd_tensor *const[]){s->x.t, memory.t}, 2);
}

static hd_rows run_blocks(hd_run *r, const hd_stack *k, int layers, hd_rows x, hd_rows memory, hd_slot *slot)
{
    hd_stream s = {.x = x, .pre = k->opt.pre_norm, .dropout = k->opt.dropout};
    for (int l = 0; l < layers; l++) {
        hd_probe_enter(r, "%d", l);
        run_block(r, k, &k->block[l], &s, memory, slot ? slot + HD_STACK_SLOTS * l : NULL);
        hd_probe_leave(r);
    }
    return hd_stream_end(r, &s, layers == k->opt.layers ? &k->last : NULL);
}

hd_rows hd_stack_of(hd_run *r, const hd_stack *k, hd_rows x, hd_rows memory, hd_slot *slot)
{
    return run_blocks(r, k, k->opt.layers, x, memory, slot);
}

hd_rows hd_stack_behind(hd_run *r, const hd_stack *k, int layers, hd_rows x)
{
    return run_blocks(r, k, layers, x, (hd_rows){0}, NULL);
}
