/* Attention backward: weights are recomputed from the scores and the saved logarithm of their sum. One worker
   owns a kv head of an item; where gradients are shared by items (relative table, vectors of distances,
   additive weight, gates, overlapping memories) it owns the kv head of all items. */
#include "backend/cpu/attend/head.h"

typedef struct room {                /* one worker's scratch */
    hd_real *p, *dp;                 /* [QUERIES, stride]: weights, then their gradients */
    hd_real *keys_t, *keys, *values; /* packed for q k^T, ds k, dy v^T */
    hd_real *queries, *dys, *panel;
    hd_real *flat;               /* [stride]: slopes of the cap of one query's scores */
    hd_real *band, *far_t, *far; /* products with the vectors of distances, then their gradients; the vectors
                                    packed for q e^T, dband e */
} room;

enum { PIECES = 12 }; /* of a room */

typedef struct job {
    const hd_attend_back_args *g;
    hd_cpu *cpu;
    size_t stride, sizes[PIECES];
    bool whole; /* a unit is a kv head of all items */
} job;

/* p = exp(score - lse) with dropout applied to a second copy in `kept` (which may equal p without dropout).
 */
static void weights_row(const hd_head *h, hd_real *p, hd_real *flat, hd_reach reach, size_t a, hd_real lse)
{
    hd_reach sees = hd_head_sees(h, a);
    KERNEL(head_bias)(h, p, a, sees);
    hd_real *w = p + sees.lo;
    if (h->at->cap > 0) {
        vec share = hd_set(1 / (double)h->at->cap), one = hd_set(1);
        hd_real *to = flat + sees.lo;
        HD_COLUMNS(sees.hi - sees.lo, {
            vec t = L(w) * share;
            S(to, one - t * t);
        });
    }
    vec shift = hd_set(lse);
    HD_COLUMNS(sees.hi - sees.lo, { S(w, hd_exp(L(w) - shift)); });
    for (size_t j = reach.lo; j < sees.lo; j++) p[j] = 0;
    for (size_t j = sees.hi; j < reach.hi; j++) p[j] = 0;
}

/* In: p weights, dp = dy v^T. Out: p = weights after dropout times gate (for dv), dp = gradient of the biased
 * score. Returns sum of p*dp. */
static double slope_row(const hd_head *h, hd_real *p, hd_real *dp, hd_reach r, size_t a)
{
    size_t n = r.hi - r.lo;
    hd_real gate = h->at->gate ? ((hd_real *)h->at->gate->data)[h->head] : 1, mask[HD_MASK_RUN];
    uint64_t key = h->at->draw.p > 0 ? hd_mask_key(&h->at->draw, h->qrow + a) : 0;
    hd_mask_rule rule = hd_mask_rule_of(&h->at->draw);
    vec sum = hd_set(0), g = hd_set(gate);
    p += r.lo, dp += r.lo;
    for (size_t j = 0; h->at->draw.p > 0 && j < n; j += HD_MASK_RUN) {
        size_t run = n - j < HD_MASK_RUN ? n - j : HD_MASK_RUN;
        hd_real *s = dp + j;
        hd_mask_fill(mask, key, hd_head_draws(h) + r.lo + j, run, rule);
        HD_COLUMNS(run, { S(s, L(s) * L(mask)); });
    }
    HD_COLUMNS(n, { sum += L(p) * L(dp); });
    hd_real delta = hd_sum(sum);
    vec m = hd_set(delta);
    HD_COLUMNS(n, { S(dp, L(p) * (L(dp) - m) * g); });
    for (size_t j = 0; j < n; j += HD_MASK_RUN) {
        size_t run = n - j < HD_MASK_RUN ? n - j : HD_MASK_RUN;
        hd_real *s = p + j;
        if (h->at->draw.p > 0) {
            hd_mask_fill(mask, key, hd_head_draws(h) + r.lo + j, run, rule);
            HD_COLUMNS(run, { S(s, L(s) * L(mask) * g); });
        } else if (h->at->gate) {
            HD_COLUMNS(run, { S(s, L(s) * g); });
        }
    }
    return (double)delta;
}

/* Gradients of the biases from ds, then ds *= scale and the slope of the cap. */
static void bias_back(const hd_attend_back_args *g, const hd_head *h, hd_real *ds, const hd_real *flat,
                      size_t a, hd_reach r)
{
    const hd_attention *at = h->at;
    hd_reach sees = hd_head_sees(h, a);
    if (at->cap > 0) {
        hd_real *d = ds + sees.lo;
        const hd_real *by = flat + sees.lo;
        HD_COLUMNS(sees.hi - sees.lo, { S(d, L(d) * L(by)); });
    }
    for (size_t j = sees.lo; g->dtable && j < sees.hi; j++) {
        int distance = (int)((ptrdiff_t)j - (ptrdiff_t)a - h->shift);
        int bucket =
            hd_relative_bucket(distance, (int)hd_rows_of(at->table), at->table_both_ways, at->table_reach);
        hd_row(g->dtable, (size_t)bucket)[h->head] += ds[j];
    }
    if (g->dcenter && at->sigma > 0) {
        size_t column = hd_cols_of(at->center) > 1 ? h->head : 0;
        hd_real c = hd_head_center(h, a), sum = 0;
        for (size_t j = sees.lo; j < sees.hi; j++) sum += ds[j] * ((hd_real)j - c);
        hd_row(g->dcenter, h->qrow + a)[column] += sum / (at->sigma * at->sigma);
    }
    for (size_t j = sees.lo; g->dragged && j < sees.hi; j++)
        hd_row(g->dragged, hd_head_ragged(h, at->ragged_begin, a, j))[h->head] += ds[j];
    if (at->scale != 1) hd_row_scale(ds + r.lo, r.hi - r.lo, at->scale);
}

static void additive_back(const hd_attend_back_args *g, const hd_head *h, const hd_real *ds, size_t a)
{
    const hd_real *w = (const hd_real *)h->at->additive->data + h->head * h->d, *q = hd_head_q(h, h->q, a);
    hd_real *dw = g->dadditive ? (hd_real *)g->dadditive->data + h->head * h->d : NULL,
            *dq = g->dq ? hd_head_q(h, g->dq, a) : NULL;
    hd_reach sees = hd_head_sees(h, a);
    for (size_t j = sees.lo; j < sees.hi; j++) {
        const hd_real *k = hd_head_k(h, h->k, j);
        hd_real *dk = g->dk ? hd_head_k(h, g->dk, j) : NULL;
        vec s = hd_set(ds[j]);
        HD_COLUMNS(h->d, {
            vec t = hd_tanh(L(q) + L(k));
            vec d = s * L(w) * (hd_set(1) - t * t);
            if (dq) S(dq, L(dq) + d);
            if (dk) S(dk, L(dk) + d);
            if (dw) S(dw, L(dw) + s * t);
        });
    }
}

/* c += a' b for one tile; a is p or ds [n, stride], transposed when c has a row per key. */
static void add_product(const hd_form *form, hd_real *c, size_t c_stride, const hd_real *a, size_t a_stride,
                        bool by_key, const void *b, size_t depth, size_t m, size_t n, size_t k,
                        hd_real *panel)
{
    hd_product p = {.c = c,
                    .c_stride = c_stride,
                    .a = a,
                    .a_stride = a_stride,
                    .a_transposed = by_key,
                    .weight = b,
                    .b_depth = depth,
                    .m = m,
                    .n = n,
                    .k = k,
                    .add = true,
                    .finish = KERNEL(finish)};
    form->multiply(&p, 0, m, 0, (n + form->strip - 1) / form->strip, (char *)panel);
}

/* Behind the gradients ds of raw scores: what the vectors of distances and the queries get through them. */
static void distance_back(const hd_attend_back_args *g, const hd_head *h, const room *s, size_t stride,
                          size_t a, size_t n, hd_reach r)
{
    size_t span = hd_head_span(h), wide = hd_band_stride(h->at), first = hd_band_first(h, a, n, r);
    if (first >= span) return;
    KERNEL(band_back)(h, s->band, s->dp, stride, a, n, r);
    if (g->dq)
        add_product(h->form, hd_head_q(h, g->dq, a), g->dq->stride, s->band + first, wide, false,
                    hd_form_below(h->form, s->far, first), span, n, h->d, span - first, s->panel);
    if (g->ddistance)
        add_product(h->form, hd_head_distances(h, g->ddistance) + first * g->ddistance->stride,
                    g->ddistance->stride, s->band + first, wide, true, s->queries, n, span - first, h->d, n,
                    s->panel);
}

static void tile_back(const job *w, const hd_head *h, const room *s, size_t a, size_t n)
{
    const hd_attend_back_args *g = w->g;
    size_t strip = h->form->strip, st = w->stride;
    hd_reach r = hd_head_reach(h, a, n);
    if (r.hi <= r.lo) return;
    KERNEL(head_scores)(h, s->p, st, a, n, r, s->keys_t, s->panel);
    if (h->at->distance) KERNEL(head_distances)(h, s->p, st, a, n, r, s->far_t, s->band, s->panel);
    hd_product dp = {.c = s->dp,
                     .c_stride = st,
                     .a = hd_head_y(h, g->dy, a),
                     .a_stride = g->dy->stride,
                     .weight = s->values,
                     .b_depth = h->dv,
                     .m = n,
                     .n = h->tk,
                     .k = h->dv,
                     .finish = KERNEL(finish)};
    h->form->multiply(&dp, 0, n, r.lo / strip, (r.hi + strip - 1) / strip, (char *)s->panel);
    double gate = 0;
    for (size_t i = 0; i < n; i++) {
        weights_row(h, s->p + i * st, s->flat, r, a + i, hd_row(g->lse, h->qrow + a + i)[h->head]);
        gate += slope_row(h, s->p + i * st, s->dp + i * st, r, a + i);
        bias_back(g, h, s->dp + i * st, s->flat, a + i, r);
        if (h->at->score == HD_ADDITIVE) additive_back(g, h, s->dp + i * st, a + i);
    }
    if (g->dgate) ((hd_real *)g->dgate->data)[h->head] += (hd_real)gate;
    if (g->dv) {
        hd_head_pack(h, s->dys, hd_head_y(h, g->dy, a), g->dy->stride, false, h->dv, n);
        add_product(h->form, hd_head_v(h, g->dv, r.lo), g->dv->stride, s->p + r.lo, st, true, s->dys, n,
                    r.hi - r.lo, h->dv, n, s->panel);
    }
    if (h->at->score == HD_ADDITIVE) return;
    if (g->dq)
        add_product(h->form, hd_head_q(h, g->dq, a), g->dq->stride, s->dp + r.lo, st, false,
                    hd_form_below(h->form, s->keys, r.lo), h->tk, n, h->d, r.hi - r.lo, s->panel);
    if (g->dk || g->ddistance)
        hd_head_pack(h, s->queries, hd_head_q(h, h->q, a), h->q->stride, false, h->d, n);
    if (g->dk)
        add_product(h->form, hd_head_k(h, g->dk, r.lo), g->dk->stride, s->dp + r.lo, st, true, s->queries, n,
                    r.hi - r.lo, h->d, n, s->panel);
    if (h->at->distance) distance_back(g, h, s, st, a, n, r);
}

static void group_back(const job *w, size_t item, size_t group, const room *s)
{
    const hd_attend_back_args *g = w->g;
    size_t each = (size_t)(g->at->heads / g->at->kv_heads);
    for (size_t e = 0; e < each; e++) {
        hd_head h = hd_head_at(g->at, g->q, g->k, g->v, item, group * each + e);
        if (!h.tk || !h.tq) return;
        h.form = hd_head_form(w->cpu, &h, true);
        if (!e) {
            if (g->at->score == HD_DOT) {
                hd_head_pack(&h, s->keys_t, hd_head_k(&h, h.k, 0), h.k->stride, true, h.tk, h.d);
                if (g->dq) hd_head_pack(&h, s->keys, hd_head_k(&h, h.k, 0), h.k->stride, false, h.d, h.tk);
            }
            hd_head_pack(&h, s->values, hd_head_v(&h, h.v, 0), h.v->stride, true, h.tk, h.dv);
        }
        const hd_tensor *far = g->at->distance;
        if (far) {
            size_t span = hd_head_span(&h);
            KERNEL(pack)(s->far_t, hd_head_distances(&h, far), far->stride, true, span, h.d, 0, span);
            KERNEL(pack)(s->far, hd_head_distances(&h, far), far->stride, false, h.d, span, 0, h.d);
        }
        for (size_t a = 0; a < h.tq; a += QUERIES)
            tile_back(w, &h, s, a, h.tq - a < QUERIES ? h.tq - a : QUERIES);
    }
}

static void back_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *w = arg;
    hd_real *at = (hd_real *)(w->cpu->scratch + (size_t)worker * w->cpu->scratch_each), *piece[PIECES];
    for (int i = 0; i < PIECES; i++) piece[i] = at, at += w->sizes[i];
    room s = {piece[0], piece[1], piece[2], piece[3], piece[4],  piece[5],
              piece[6], piece[7], piece[8], piece[9], piece[10], piece[11]};
    size_t groups = (size_t)w->g->at->kv_heads, items = w->g->at->qseg->items;
    for (size_t unit = begin; unit < end; unit++)
        if (!w->whole)
            group_back(w, unit / groups, unit % groups, &s);
        else
            for (size_t item = 0; item < items; item++) group_back(w, item, unit, &s);
}

static void clear_items(const hd_tensor *t, const hd_seg *seg)
{
    for (size_t i = 0; t && i < seg->items; i++)
        for (int32_t j = 0; j < seg->len[i]; j++)
            memset(hd_row(t, (size_t)(seg->begin[i] + j)), 0, hd_cols_of(t) * sizeof(hd_real));
}

hd_status KERNEL(attend_back)(hd_backend *b, const hd_attend_back_args *g)
{
    const hd_attention *at = g->at;
    size_t longest = at->kseg->longest, d = hd_cols_of(g->q) / (size_t)at->heads,
           dv = hd_cols_of(g->v) / (size_t)at->kv_heads, band = hd_band_stride(at),
           deepest = longest + d + dv + QUERIES;
    job w = {.g = g, .cpu = (hd_cpu *)b, .stride = (longest + 15) / 16 * 16 + 16};
    const size_t sizes[PIECES] = {QUERIES * w.stride,
                                  QUERIES * w.stride,
                                  hd_head_room(w.cpu, longest, d),
                                  hd_head_room(w.cpu, d, longest),
                                  hd_head_room(w.cpu, longest, dv),
                                  hd_head_room(w.cpu, d, QUERIES),
                                  hd_head_room(w.cpu, dv, QUERIES),
                                  hd_head_panel(w.cpu, deepest),
                                  at->cap > 0 ? w.stride : 0,
                                  QUERIES * band,
                                  band ? KERNEL(packed_size)(band, d) : 0,
                                  band ? KERNEL(packed_size)(d, band) : 0};
    size_t total = 0;
    for (int i = 0; i < PIECES; i++) total += w.sizes[i] = (sizes[i] + 15) / 16 * 16;
    bool shared_center = g->dcenter && hd_cols_of(at->center) == 1; /* heads add to one column: one worker */
    w.whole = g->dtable || g->ddistance || g->dadditive || g->dgate || at->kseg->overlap || shared_center;
    if (!hd_cpu_scratch(w.cpu, total * sizeof(hd_real))) return HD_ENOMEM;
    if (g->fresh_q) clear_items(g->dq, at->qseg);
    if (g->fresh_k) clear_items(g->dk, at->kseg);
    if (g->fresh_v) clear_items(g->dv, at->kseg);
    size_t units = (size_t)at->kv_heads * (w.whole ? 1 : at->qseg->items);
    hd_team_run(w.cpu->team, units, shared_center ? units : 1, back_part, &w);
    return HD_OK;
}
