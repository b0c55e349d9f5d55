/* Transformer blocks, one on the other. */
#include "model/stack.h"

#include <math.h>

#include "base/mem.h"

typedef struct layer_call { /* a block as hd_recompute sees it; pre-norm streams always come in with nothing
                               pending */
    const hd_block *block;
    const hd_seg *seg, *memory_seg;
    hd_mask mask;
    bool pre, placed;
    float dropout, drop_path;
    hd_places places; /* their tensors are inputs */
    int32_t *load;    /* of experts */
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
                   .load = c->load,
                   .places = c->placed ? &places : NULL};
    hd_block_of(r, c->block, &s, (hd_rows){in[1], c->memory_seg}, c->mask, NULL, NULL);
    return hd_stream_end(r, &s, NULL).t;
}

static void run_block(hd_run *r, const hd_stack *k, const hd_block *b, hd_stream *s, hd_rows memory,
                      hd_slot *slot)
{
    hd_mask mask = k->opt.causal ? HD_CAUSAL : HD_FULL;
    /* factors of heads are found by the scope, which a second run would not have */
    if (!k->opt.recompute || !r->taping || r->heads) {
        hd_block_of(r, b, s, memory, mask, slot, slot && k->opt.cross ? slot + 1 : NULL);
        return;
    }
    const hd_places places = s->places ? *s->places : (hd_places){0};
    layer_call *c = hd_host_take(r, sizeof *c);
    if (!c) return;
    *c = (layer_call){b,          s->x.seg,     memory.seg, mask,   s->pre, s->places != NULL,
                      s->dropout, s->drop_path, places,     s->load};
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

bool hd_stack_fills(const hd_stack *k)
{
    return k->opt.cross && k->opt.layers && !k->block[0].cross.query_norm.gain;
}

bool hd_stack_fill(hd_run *r, const hd_stack *k, hd_rows memory, hd_slot *slot)
{
    bool filled = true;
    for (int l = 0; filled && l < k->opt.layers; l++, slot += layer_slots(k))
        filled = hd_mha_fill(r, &k->block[l].cross, memory, slot + 1);
    return filled;
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
    s->load = hd_experts_load(r, &k->opt.experts);
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
    hd_probe_enter(r, "self");
    hd_rows all = hd_stream_in(r, s, &b->norm[0]);
    hd_rows asking = {hd_gather(r, all.t, index, one->rows, 1), one};
    s->x = (hd_rows){hd_gather(r, s->x.t, index, one->rows, 1), one};
    hd_stream_out(r, s, &b->norm[0], hd_mha_of(r, &b->self, asking, all, HD_FULL, NULL));
    hd_probe_leave(r);
    hd_stream_out(r, s, &b->norm[2], hd_ffn_of(r, &b->ffn, hd_stream_in(r, s, &b->norm[2])));
}

hd_rows hd_stack_first(hd_run *r, const hd_stack *k, hd_rows x, const hd_seg *one)
{
    int end = k->opt.layers - 1;
    hd_stream s = {.x = x};
    if (!x.t || !one) return (hd_rows){0};
    run_stream(r, k, 0, end, &s, (hd_rows){0}, NULL);
    s.drop_path = end ? k->opt.drop_path : 0;
    hd_probe_enter(r, "%d", end);
    run_first(r, &k->block[end], &s, one);
    hd_probe_leave(r);
    return hd_stream_end(r, &s, &k->last);
}

hd_rows hd_stack_placed(hd_run *r, const hd_stack *k, int first, int count, hd_rows x, hd_rows memory,
                        const hd_places *places)
{
    return run_blocks(r, k, first, first + count, (hd_stream){.x = x, .places = places}, memory, NULL);
}

/* Columns of all heads together. */
static size_t attention_width(const hd_stack_opt *o)
{
    return o->head_width ? (size_t)o->heads * o->head_width : o->width;
}

double hd_stack_flops(const hd_stack_opt *o, double items, double length, double memory)
{
    double d = (double)o->width, f = (double)o->inner * (o->gated ? 1.5 : 1), a = (double)attention_width(o),
           kv = o->kv_heads ? a * o->kv_heads / o->heads : a;
    double sparse = hd_experts_layers(&o->experts, o->layers) / (double)o->layers;
    double each = 4 * d * (a + kv) + (1 - sparse) * 4 * d * f, score = 4 * a;
    if (o->latent.rank) {
        each += hd_latent_flops(&o->latent, o->width, o->heads) - 4 * d * (a + kv);
        score = hd_latent_score_flops(&o->latent, o->heads);
    }
    if (sparse > 0) each += sparse * hd_experts_flops(&o->experts, o->width);
    if (!o->cross)
        return o->layers * (items * length) *
               (each + score * length + 2 * a * fmin((double)o->relative_span, length));
    return o->layers * items *
           (length * (each + 4 * d * a) + memory * 4 * d * kv + 4 * a * (length * length + length * memory));
}
