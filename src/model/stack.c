/* Transformer blocks, one on the other. */
#include "model/stack.h"

#include <math.h>
#include <stdarg.h>
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

const hd_stack_names hd_stack_gpt2 = {.layers = "h",
                                      .self = "attn",
                                      .cross = "crossattention",
                                      .query = "q_attn",
                                      .joint = "c_attn",
                                      .out = "c_proj",
                                      .norm = {"ln_1", "ln_cross_attn", "ln_2"},
                                      .in = "mlp.c_fc",
                                      .back = "mlp.c_proj",
                                      .last = "ln_f",
                                      .transposed = true,
                                      .norm_first = true};

/* Of the whole model's name, since its last norm is no part of what it calls the encoder. */
const hd_stack_names hd_stack_vit = {.layers = "encoder.layer",
                                     .self = "attention",
                                     .query = "attention.query",
                                     .key = "attention.key",
                                     .value = "attention.value",
                                     .out = "output.dense",
                                     .norm = {"layernorm_before", NULL, "layernorm_after"},
                                     .in = "intermediate.dense",
                                     .back = "output.dense",
                                     .last = "layernorm"};

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

enum { MOST_ATTENTION = 1 << 20, MOST_BUCKETS = 1024, MOST_SPAN = 1 << 20 };

/* Columns of all heads together. */
static size_t attention_width(const hd_stack_opt *o)
{
    return o->head_width ? (size_t)o->heads * o->head_width : o->width;
}

static const hd_stack_names *names_of(const hd_stack_opt *o)
{
    return o->names ? o->names : &hd_stack_marian;
}

static hd_init init_of(const hd_stack_opt *o)
{
    return o->init.kind == HD_INIT_ZERO ? (hd_init){HD_INIT_XAVIER, 1, 0} : o->init;
}

/* A name inside the stack. */
static const char *named(char to[160], const hd_stack_opt *o, const char *format, ...)
{
    va_list args;
    int at = snprintf(to, 160, "%s%s", o->name, *o->name ? "." : "");
    va_start(args, format);
    if (at < 160) vsnprintf(to + at, 160 - (size_t)at, format, args);
    va_end(args);
    return to;
}

static hd_norm_layer norm_at(hd_params *p, const hd_stack_opt *o, const char *name)
{
    return hd_norm_make(p, o->width, o->eps, o->rms,
                        o->plain ? HD_PLAIN
                        : o->rms ? HD_GAIN_ONLY
                                 : HD_AFFINE,
                        name);
}

static hd_mha attention_at(hd_params *p, const hd_stack_opt *o, const char *name, bool cross)
{
    const hd_stack_names *n = names_of(o);
    hd_mha m = hd_mha_make(p, &(hd_mha_opt){.width = o->width,
                                            .head_width = o->head_width,
                                            .heads = o->heads,
                                            .kv_heads = o->kv_heads,
                                            .no_bias = o->plain || o->unbiased,
                                            .no_qkv_bias = o->unbiased_qkv,
                                            .no_key_bias = o->unbiased_keys,
                                            .dropout = o->attention_dropout,
                                            .init = init_of(o),
                                            .name = name,
                                            .query = n->query,
                                            .key = n->key,
                                            .value = n->value,
                                            .out = n->out,
                                            .joint = n->joint,
                                            .cross = cross,
                                            .transposed = n->transposed});
    if (o->unscaled_scores) m.extra.scale = 1;
    return m;
}

/* Vectors of distances (Music Transformer): for each head, the last is distance 0. */
static void make_distances(hd_params *p, const hd_stack_opt *o, hd_mha *m, const char *name)
{
    hd_init init = {HD_INIT_NORMAL, (float)(1 / sqrt((double)m->head_width)), 0};
    hd_param *rows = hd_param_add(p, (size_t)o->heads * (size_t)o->relative_span, m->head_width, init,
                                  "%s.relative_keys.weight", name);
    if (rows) m->extra.distance = &rows->t;
}

/* Block 0 owns the numbers, the others use them. */
static void make_relative(hd_params *p, const hd_stack_opt *o, hd_block *b)
{
    const hd_stack_names *n = names_of(o);
    hd_init init = {HD_INIT_NORMAL, (float)(1 / sqrt((double)o->width)), 0};
    char name[160];
    hd_param *table = hd_param_add(p, o->relative.buckets, (size_t)o->heads, init, "%s.weight",
                                   named(name, o, "%s.0.%s.relative_attention_bias", n->layers, n->self));
    for (int l = 0; table && l < o->layers; l++) {
        hd_attend_opt *a = &b[l].self.extra;
        a->table = &table->t, a->table_both_ways = !o->causal, a->table_reach = o->relative.reach;
    }
}

static void make_block(hd_params *p, const hd_stack_opt *o, hd_block *b, int layer)
{
    const hd_stack_names *n = names_of(o);
    hd_dense_opt dense = {.init = init_of(o), .no_bias = o->unbiased, .transposed = n->transposed};
    char name[160];
#define NAMED(last) named(name, o, "%s.%d.%s", n->layers, layer, last)
#define NORM(i, when) \
    if (n->norm_first == (when)) b->norm[i] = norm_at(p, o, NAMED(n->norm[i]))
    b->has_cross = o->cross;
    NORM(0, true);
    b->self = attention_at(p, o, NAMED(n->self), false);
    if (o->relative_span) make_distances(p, o, &b->self, NAMED(n->self));
    b->self.extra.block = o->local_block;
    NORM(0, false);
    if (o->cross) {
        NORM(1, true);
        b->cross = attention_at(p, o, NAMED(n->cross), true);
        NORM(1, false);
    }
    NORM(2, true);
    b->ffn = (hd_ffn){.act = o->act, .dropout = o->inner_dropout};
    b->ffn.in = hd_dense_make(p, o->width, o->inner, &dense, NAMED(o->gated ? n->gated[0] : n->in));
    if (o->gated) b->ffn.gate = hd_dense_make(p, o->width, o->inner, &dense, NAMED(n->gated[1]));
    b->ffn.out = hd_dense_make(p, o->inner, o->width, &dense, NAMED(n->back));
    NORM(2, false);
#undef NORM
#undef NAMED
}

/* Buckets of a side begin with exact ones, half of them; the last has to lie beyond. */
hd_status hd_stack_check(const hd_stack_opt *o, hd_err *err)
{
    const hd_relative *r = &o->relative;
    if (o->heads < 1 || (!o->head_width && o->width % (size_t)o->heads))
        return hd_err_set(err, HD_EARG, "a width of %zu cannot be split over %d heads", o->width, o->heads);
    if (o->head_width > (size_t)MOST_ATTENTION / (size_t)o->heads)
        return hd_err_set(err, HD_EARG, "%d heads of %zu columns are more than %d", o->heads, o->head_width,
                          MOST_ATTENTION);
    if (o->kv_heads < 0 || (o->kv_heads && o->heads % o->kv_heads))
        return hd_err_set(err, HD_EARG, "%d heads cannot share %d heads of keys and values", o->heads,
                          o->kv_heads);
    if (r->buckets && (r->buckets < 4 || r->buckets > MOST_BUCKETS || r->reach <= (int)(r->buckets / 2)))
        return hd_err_set(err, HD_EARG,
                          "relative positions have 4 to %d buckets and reach farther than half of them: not "
                          "%zu, which reach %d",
                          MOST_BUCKETS, r->buckets, r->reach);
    if (o->relative_span < 0 || o->relative_span > MOST_SPAN || o->local_block < 0)
        return hd_err_set(err, HD_EARG,
                          "relative attention has 0 to %d distances and blocks of 0 or more: not "
                          "%d and %d",
                          MOST_SPAN, o->relative_span, o->local_block);
    return HD_OK;
}

hd_status hd_stack_make(hd_stack *out, hd_params *p, const hd_stack_opt *opt, hd_err *err)
{
    char name[160];
    if (opt->gated && !names_of(opt)->gated[0])
        return hd_err_set(err, HD_EARG, "blocks of these names have no gate");
    if (opt->cross && !names_of(opt)->cross)
        return hd_err_set(err, HD_EARG, "blocks of these names have no cross-attention");
    *out = (hd_stack){.opt = *opt, .block = hd_mem_array((size_t)opt->layers, sizeof *out->block)};
    if (!out->block) return hd_err_nomem(err, (size_t)opt->layers * sizeof *out->block);
    for (int l = 0; l < opt->layers; l++) make_block(p, opt, &out->block[l], l);
    if (opt->relative.buckets) make_relative(p, opt, out->block);
    if (opt->pre_norm) out->last = norm_at(p, opt, named(name, opt, "%s", names_of(opt)->last));
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
    bool pre, placed;
    float dropout, drop_path;
    hd_places places; /* their tensors are inputs */
} layer_call;

static hd_tensor *run_layer(hd_run *r, const void *context, hd_tensor *const *in)
{
    const layer_call *c = context;
    hd_places places = c->places;
    if (c->placed) places.query = in[2], places.memory = in[3];
    hd_stream s = {.x = {in[0], c->seg},
                   .pre = c->pre,
                   .dropout = c->dropout,
                   .drop_path = c->drop_path,
                   .places = c->placed ? &places : NULL};
    hd_block_of(r, c->block, &s, (hd_rows){in[1], c->memory_seg}, c->mask, NULL, NULL);
    return hd_stream_end(r, &s, NULL).t;
}

static void run_block(hd_run *r, const hd_stack *k, const hd_block *b, hd_stream *s, hd_rows memory,
                      hd_slot *slot)
{
    hd_mask mask = k->opt.causal ? HD_CAUSAL : HD_FULL;
    if (!k->opt.recompute || !r->taping) {
        hd_block_of(r, b, s, memory, mask, slot, slot && k->opt.cross ? slot + 1 : NULL);
        return;
    }
    const hd_places places = s->places ? *s->places : (hd_places){0};
    layer_call *c = hd_host_take(r, sizeof *c);
    if (!c) return;
    *c = (layer_call){b,          s->x.seg,     memory.seg, mask, s->pre, s->places != NULL,
                      s->dropout, s->drop_path, places};
    s->x.t =
        hd_recompute(r, run_layer, c, (hd_tensor *const[]){s->x.t, memory.t, places.query, places.memory},
                     s->places ? 4 : 2);
}

static int layer_slots(const hd_stack *k)
{
    return 1 + k->opt.cross;
}

size_t hd_stack_slots(const hd_stack *k, hd_slot_kind *kinds)
{
    int n = k->opt.layers * layer_slots(k);
    for (int i = 0; kinds && i < n; i++) kinds[i] = i % layer_slots(k) ? HD_FIXED : HD_GROW;
    return (size_t)n;
}

/* Many rows that nobody learns from: what a block leaves behind is moved to where its intermediates began,
   and those are given back. */
enum { MANY = 1 << 18 }; /* numbers */

typedef struct keeper {
    hd_tensor *x, *pending;
    hd_arena_mark mark;
    bool keeps;
} keeper;

static keeper keeper_of(hd_run *r, const hd_stream *s, const hd_slot *slot)
{
    keeper k = {.keeps = !r->taping && !hd_probe_here(r) && !slot && s->x.t && hd_count_of(s->x.t) >= MANY};
    if (!k.keeps) return k;
    k.x = hd_like(r, s->x.t);
    k.pending = s->pre ? hd_like(r, s->x.t) : NULL;
    k.mark = hd_arena_here(&r->step);
    k.keeps = k.x && (k.pending || !s->pre);
    return k;
}

static hd_tensor *keep(hd_run *r, hd_tensor *place, hd_tensor *t)
{
    if (t && t != place) HD_CALL(r, mix, .y = place, .x = t, .a = 1);
    return t ? place : NULL;
}

static void run_stream(hd_run *r, const hd_stack *k, int first, int end, hd_stream *s, hd_rows memory,
                       hd_slot *slot)
{
    s->pre = k->opt.pre_norm, s->dropout = k->opt.dropout;
    const keeper kept = keeper_of(r, s, slot);
    for (int l = first; l < end; l++) {
        hd_probe_enter(r, "%d", l);
        s->drop_path = l ? k->opt.drop_path * (float)l / (float)(k->opt.layers - 1) : 0;
        run_block(r, k, &k->block[l], s, memory, slot ? slot + layer_slots(k) * l : NULL);
        hd_probe_leave(r);
        if (!kept.keeps) continue;
        s->x.t = keep(r, kept.x, s->x.t), s->pending = keep(r, kept.pending, s->pending);
        hd_arena_rewind(&r->step, kept.mark);
    }
}

static hd_rows run_blocks(hd_run *r, const hd_stack *k, int first, int end, hd_stream s, hd_rows memory,
                          hd_slot *slot)
{
    run_stream(r, k, first, end, &s, memory, slot);
    return hd_stream_end(r, &s, end == k->opt.layers ? &k->last : NULL);
}

hd_rows hd_stack_of(hd_run *r, const hd_stack *k, hd_rows x, hd_rows memory, hd_slot *slot)
{
    return run_blocks(r, k, 0, k->opt.layers, (hd_stream){.x = x}, memory, slot);
}

hd_rows hd_stack_rows_at_layer(hd_run *r, const hd_stack *k, int layers, hd_rows x)
{
    return run_blocks(r, k, 0, layers, (hd_stream){.x = x}, (hd_rows){0}, NULL);
}

/* Draws go by item and row, so that they are those of the whole block. */
static void run_first(hd_run *r, const hd_block *b, hd_stream *s, const hd_seg *one)
{
    const int32_t *index = s->x.seg->begin;
    hd_rows all = hd_stream_in(r, s, &b->norm[0]);
    hd_rows asking = {hd_gather(r, all.t, index, one->rows, 1), one};
    s->x = (hd_rows){hd_gather(r, s->x.t, index, one->rows, 1), one};
    hd_stream_out(r, s, &b->norm[0], hd_mha_of(r, &b->self, asking, all, HD_FULL, NULL));
    hd_stream_out(r, s, &b->norm[2], hd_ffn_of(r, &b->ffn, hd_stream_in(r, s, &b->norm[2])));
}

hd_rows hd_stack_first(hd_run *r, const hd_stack *k, hd_rows x, const hd_seg *one)
{
    int end = k->opt.layers - 1;
    hd_stream s = {.x = x};
    if (!x.t || !one) return (hd_rows){0};
    run_stream(r, k, 0, end, &s, (hd_rows){0}, NULL);
    s.drop_path = end ? k->opt.drop_path : 0;
    run_first(r, &k->block[end], &s, one);
    return hd_stream_end(r, &s, &k->last);
}

hd_rows hd_stack_placed(hd_run *r, const hd_stack *k, int first, int count, hd_rows x, hd_rows memory,
                        const hd_places *places)
{
    return run_blocks(r, k, first, first + count, (hd_stream){.x = x, .places = places}, memory, NULL);
}

double hd_stack_flops(const hd_stack_opt *o, double items, double length, double memory)
{
    double d = (double)o->width, f = (double)o->inner * (o->gated ? 1.5 : 1), a = (double)attention_width(o),
           kv = o->kv_heads ? a * o->kv_heads / o->heads : a;
    double each = 4 * d * (a + kv) + 4 * d * f;
    if (!o->cross)
        return o->layers * (items * length) *
               (each + 4 * a * length + 2 * a * fmin((double)o->relative_span, length));
    return o->layers * items *
           (length * (each + 4 * d * a) + memory * 4 * d * kv + 4 * a * (length * length + length * memory));
}
