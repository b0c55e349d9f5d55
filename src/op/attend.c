/* Attention over segments: self, cross, masked and cached are this one op with different segments. With a
   probe attached the kernel also writes the scores it otherwise never keeps. */
#include "op/op.h"

#include <math.h>

enum { TABLE_REACH = 128 }; /* unless told otherwise */
enum { Q, K, V, LSE, ADDITIVE, TABLE, CENTER, RAGGED, GATE, DISTANCE };

/* Usually q, k and v are all columns of one product or two, and nothing else reads those. Then their
   gradients need not be cleared first: attention alone writes every number of them. */
static bool fresh_grads(hd_run *r, hd_tensor *const *in, const hd_attention *at)
{
    size_t cols = 0, bases = 0;
    for (int i = Q; i <= V; i++) {
        hd_tensor *x = in[i], *base = x->base ? x->base : x;
        if (!x->wants_grad || base->grad || base->is_param || hd_rows_of(x) != hd_rows_of(base)) return false;
        bool seen = false;
        for (int j = Q; j < i; j++) {
            const hd_tensor *z = in[j];
            if ((z->base ? z->base : z) != base) continue;
            seen = true;
            if (z->offset < x->offset + hd_cols_of(x) && x->offset < z->offset + hd_cols_of(z)) return false;
        }
        if (!seen) bases += hd_cols_of(base);
        cols += hd_cols_of(x);
    }
    if (cols != bases || at->kseg->overlap) return false;
    for (int i = Q; i <= V; i++) {
        hd_tensor *base = in[i]->base ? in[i]->base : in[i];
        const hd_seg *seg = i == Q ? at->qseg : at->kseg;
        bool unused, whole = seg->full && seg->rows == hd_rows_of(base);
        hd_grad(r, base, whole && !base->grad ? &unused : NULL);
    }
    return true;
}

static void attend_back(hd_run *r, const hd_node *n)
{
    hd_tensor *const *in = n->in;
    const hd_attention *at = n->opt;
    bool fresh = fresh_grads(r, in, at);
    HD_CALL(r, attend_back, .dq = hd_grad(r, in[Q], NULL), .dk = hd_grad(r, in[K], NULL),
            .dv = hd_grad(r, in[V], NULL), .fresh_q = fresh, .fresh_k = fresh, .fresh_v = fresh,
            .dadditive = hd_grad(r, in[ADDITIVE], NULL), .dtable = hd_grad(r, in[TABLE], NULL),
            .dcenter = hd_grad(r, in[CENTER], NULL), .dragged = hd_grad(r, in[RAGGED], NULL),
            .dgate = hd_grad(r, in[GATE], NULL), .ddistance = hd_grad(r, in[DISTANCE], NULL),
            .dy = n->y->grad, .y = n->y, .q = in[Q], .k = in[K], .v = in[V], .lse = in[LSE], .at = at);
}

/* The first row of each item in a ragged [sum Tq*Tk, H] tensor; *total gets the number of rows. */
static int32_t *ragged_begin(hd_run *r, const hd_seg *q, const hd_seg *k, size_t *total)
{
    size_t n = q->items, at = 0;
    const int32_t *qlen = hd_seg_lens(r, q), *klen = hd_seg_lens(r, k);
    int32_t *begin = hd_host_take(r, (n + 1) * sizeof *begin);
    if (!qlen || !klen || !begin) return NULL;
    for (size_t i = 0; i < n; i++) {
        begin[i] = (int32_t)at;
        at += (size_t)qlen[i] * (size_t)klen[i];
        if (at > INT32_MAX)
            return hd_fail(r, HD_ELIMIT, "attend: %zu scores in one batch are too many to hand out", at);
    }
    *total = at;
    return hd_ints(r, begin, n);
}

static bool fits(hd_run *r, const hd_tensor *t, size_t rows, size_t cols, const char *what)
{
    if (!t || ((!rows || hd_rows_of(t) == rows) && hd_cols_of(t) == cols)) return true;
    hd_fail(r, HD_ESHAPE, "attend: %s is %zu x %zu, expected %zu x %zu", what, hd_rows_of(t), hd_cols_of(t),
            rows, cols);
    return false;
}

/* Half of the buckets of one side are exact distances; the reach must be larger. */
static bool table_serves(hd_run *r, const hd_attend_opt *o, size_t buckets)
{
    size_t exact = buckets / (o->table_both_ways ? 4 : 2);
    if (exact && (o->table_reach ? o->table_reach : TABLE_REACH) > (int)exact) return true;
    hd_fail(r, HD_EARG, "attend: a table of %zu buckets cannot reach %d", buckets,
            o->table_reach ? o->table_reach : TABLE_REACH);
    return false;
}

static bool distance_serves(hd_run *r, const hd_attend_opt *o, size_t heads)
{
    size_t rows = hd_rows_of(o->distance);
    if (rows && rows % heads == 0 && o->mask == HD_CAUSAL && o->score == HD_DOT) return true;
    hd_fail(r, HD_EARG,
            "attend: %zu vectors of distances for %zu heads: each needs as many, a causal mask and the dot "
            "score",
            rows, heads);
    return false;
}

static bool check(hd_run *r, hd_rows q, hd_rows k, hd_rows v, const hd_attend_opt *o, size_t heads,
                  size_t groups)
{
    if (!heads || !groups || heads % groups)
        return hd_fail(r, HD_EARG, "attend: %zu heads cannot share %zu key heads", heads, groups) != NULL;
    size_t hd = hd_cols_of(q.t);
    if (hd % heads || hd_cols_of(k.t) % groups || hd_cols_of(v.t) % groups ||
        hd / heads != hd_cols_of(k.t) / groups)
        return hd_fail(r, HD_ESHAPE, "attend: q has %zu columns for %zu heads, k %zu and v %zu for %zu", hd,
                       heads, hd_cols_of(k.t), hd_cols_of(v.t), groups) != NULL;
    if (hd_rows_of(k.t) != hd_rows_of(v.t))
        return hd_fail(r, HD_ESHAPE, "attend: %zu keys, %zu values", hd_rows_of(k.t), hd_rows_of(v.t)) !=
               NULL;
    if (!q.seg || !k.seg)
        return hd_fail(r, HD_EARG, "attend: %s without segments", q.seg ? "keys" : "queries") != NULL;
    if (!hd_seg_fits(r, "attend", q.t, q.seg, o->dropout > 0) || !hd_seg_fits(r, "attend", k.t, k.seg, false))
        return false;
    if (k.seg->page && q.seg->longest > 1)
        return hd_fail(r, HD_ESHAPE, "attend: %zu queries at a time over keys in blocks", q.seg->longest) !=
               NULL;
    if (q.seg->items != k.seg->items)
        return hd_fail(r, HD_ESHAPE, "attend: %zu items of queries, %zu of keys", q.seg->items,
                       k.seg->items) != NULL;
    if (!(o->dropout >= 0 && o->dropout < 1))
        return hd_fail(r, HD_EARG, "attend: dropout %g is not in [0, 1)", (double)o->dropout) != NULL;
    if (o->score == HD_ADDITIVE && !o->additive)
        return hd_fail(r, HD_EARG, "attend: the additive score needs its weight") != NULL;
    if (o->center && !(o->sigma > 0) && !(o->sigma == 0 && o->window > 0))
        return hd_fail(r, HD_EARG, "attend: sigma is %g", (double)o->sigma) != NULL;
    if (o->table && !table_serves(r, o, hd_rows_of(o->table))) return false;
    if (o->distance && !distance_serves(r, o, heads)) return false;
    if (o->cap < 0 ||
        (o->cap > 0 && (o->score != HD_DOT || o->table || o->distance || o->center || o->ragged)))
        return hd_fail(r, HD_EARG, "attend: a cap of %g on scores with biases, or below 0", (double)o->cap) !=
               NULL;
    if (o->block < 0 || (o->block && o->mask != HD_CAUSAL))
        return hd_fail(r, HD_EARG, "attend: local blocks of %d positions need a causal mask", o->block) !=
               NULL;
    return fits(r, o->additive, 1, hd, "additive") && fits(r, o->table, 0, heads, "table") &&
           fits(r, o->distance, 0, hd / heads, "distance") && fits(r, o->ragged, 0, heads, "ragged") &&
           fits(r, o->gate, 1, heads, "gate") &&
           fits(r, o->center, hd_rows_of(q.t), o->center ? (hd_cols_of(o->center) == 1 ? 1 : heads) : 0,
                "center");
}

typedef struct shown {
    hd_tensor *raw, *scaled, *masked, *weights;
    const int32_t *begin;
} shown;

static shown make_shown(hd_run *r, const hd_seg *q, const hd_seg *k, size_t heads)
{
    shown s = {0};
    size_t total = 0;
    if (!hd_probe_here(r) || r->again) return s;
    s.begin = ragged_begin(r, q, k, &total);
    s.raw = hd_new_reals(r, total, heads), s.scaled = hd_new_reals(r, total, heads);
    s.masked = hd_new_reals(r, total, heads), s.weights = hd_new_reals(r, total, heads);
    return s;
}

hd_rows hd_attend(hd_run *r, hd_rows q, hd_rows k, hd_rows v, const hd_attend_opt *o)
{
    hd_rows none = {0};
    size_t heads = (size_t)o->heads, groups = o->kv_heads ? (size_t)o->kv_heads : heads, total = 0;
    if (!q.t || !k.t || !v.t || !check(r, q, k, v, o, heads, groups)) return none;
    double d = (double)(hd_cols_of(q.t) / heads);
    hd_attention at = {.heads = (int)heads,
                       .kv_heads = (int)groups,
                       .scale = o->scale != 0        ? o->scale
                                : o->score == HD_DOT ? (float)(1 / sqrt(d))
                                                     : 1,
                       .cap = o->cap,
                       .mask = o->mask,
                       .window = o->window,
                       .block = o->block,
                       .score = o->score,
                       .additive = o->additive,
                       .table = o->table,
                       .table_both_ways = o->table_both_ways,
                       .table_reach = o->table_reach ? o->table_reach : TABLE_REACH,
                       .distance = o->distance,
                       .center = o->center,
                       .sigma = o->sigma,
                       .ragged = o->ragged,
                       .gate = o->gate,
                       .qseg = q.seg,
                       .kseg = k.seg,
                       .draw = hd_draw_next(r, o->dropout, q.seg)};
    if (o->ragged) {
        at.ragged_begin = ragged_begin(r, q.seg, k.seg, &total);
        if (hd_rows_of(o->ragged) != total)
            return hd_fail(r, HD_ESHAPE, "attend: %zu explicit scores, the segments have %zu",
                           hd_rows_of(o->ragged), total),
                   none;
    }
    hd_tensor *y = hd_new(r, hd_rows_of(q.t), heads * (hd_cols_of(v.t) / groups)),
              *lse = r->taping ? hd_new_reals(r, hd_rows_of(q.t), heads) : NULL;
    if (!q.seg->full || q.seg->rows != hd_rows_of(q.t)) hd_clear(r, y); /* rows of no item get zeros */
    shown s = make_shown(r, q.seg, k.seg, heads);
    HD_CALL(r, attend, .y = y, .q = q.t, .k = k.t, .v = v.t, .lse = lse, .at = &at, .raw = s.raw,
            .scaled = s.scaled, .masked = s.masked, .weights = s.weights, .out_begin = s.begin);
    hd_probe_offer_scores(r, "scores", s.raw, q.seg, k.seg);
    hd_probe_offer_scores(r, "scaled", s.scaled, q.seg, k.seg);
    hd_probe_offer_scores(r, "masked", s.masked, q.seg, k.seg);
    hd_probe_offer_scores(r, "softmax", s.weights, q.seg, k.seg);
    return (hd_rows){hd_record_opt(r, y, NULL, attend_back, at, q.t, k.t, v.t, lse, o->additive, o->table,
                                   o->center, o->ragged, o->gate, o->distance),
                     q.seg};
}
