/* Attention forward: scores, biases, softmax and weighted sum, one head of one item at a time, no score
 * matrix beyond a tile of queries. */
#include "backend/cpu/attend/head.h"

enum { NEAR = 2 * HD_PAGE_ROWS };

static void additive_scores(const hd_head *h, hd_real *s, size_t stride, size_t a, size_t n, hd_reach r)
{
    const hd_real *w = (const hd_real *)h->at->additive->data + h->head * h->d;
    for (size_t i = 0; i < n; i++)
        for (size_t j = r.lo; j < r.hi; j++) {
            const hd_real *q = hd_head_q(h, h->q, a + i), *k = hd_head_k(h, h->k, j);
            vec sum = hd_set(0);
            HD_COLUMNS(h->d, { sum += L(w) * hd_tanh(L(q) + L(k)); });
            s[i * stride + j] = hd_sum(sum);
        }
}

void KERNEL(head_scores)(const hd_head *h, hd_real *s, size_t stride, size_t a, size_t n, hd_reach r,
                         const hd_real *packed_keys, hd_real *panel)
{
    if (h->at->score == HD_ADDITIVE) {
        additive_scores(h, s, stride, a, n, r);
        return;
    }
    hd_product p = {.c = s,
                    .c_stride = stride,
                    .a = hd_head_q(h, h->q, a),
                    .a_stride = h->q->stride,
                    .weight = packed_keys,
                    .b_depth = h->d,
                    .m = n,
                    .n = h->tk,
                    .k = h->d,
                    .finish = KERNEL(finish)};
    if (packed_keys) {
        size_t strip = h->form->strip;
        h->form->multiply(&p, 0, n, r.lo / strip, (r.hi + strip - 1) / strip, (char *)panel);
        return;
    }
    KERNEL(scores_as_they_lie)(h, &p, s, r, panel);
}

void KERNEL(head_bias)(const hd_head *h, hd_real *s, size_t a, hd_reach sees)
{
    const hd_attention *at = h->at;
    if (at->scale != 1) hd_row_scale(s + sees.lo, sees.hi - sees.lo, at->scale);
    if (at->cap > 0) {
        hd_real *z = s + sees.lo;
        vec cap = hd_set((double)at->cap), share = hd_set(1 / (double)at->cap);
        HD_COLUMNS(sees.hi - sees.lo, { S(z, cap * hd_tanh(L(z) * share)); });
    }
    if (at->table) {
        int buckets = (int)hd_rows_of(at->table);
        for (size_t j = sees.lo; j < sees.hi; j++) {
            int distance = (int)((ptrdiff_t)j - (ptrdiff_t)a - h->shift);
            s[j] += hd_row(at->table, (size_t)hd_relative_bucket(distance, buckets, at->table_both_ways,
                                                                 at->table_reach))[h->head];
        }
    }
    if (at->center && at->sigma > 0) {
        hd_real c = hd_head_center(h, a), k = -1 / (2 * at->sigma * at->sigma);
        for (size_t j = sees.lo; j < sees.hi; j++) s[j] += ((hd_real)j - c) * ((hd_real)j - c) * k;
    }
    if (at->ragged)
        for (size_t j = sees.lo; j < sees.hi; j++)
            s[j] += hd_row(at->ragged, hd_head_ragged(h, at->ragged_begin, a, j))[h->head];
}

/* Passes one query's scores to a probe; keys that it does not see get `outside`. */
static void hand_out(const hd_tensor *to, const hd_attend_args *g, const hd_head *h, const hd_real *s,
                     size_t a, hd_reach sees, hd_real outside)
{
    if (!to) return;
    for (size_t j = 0; j < h->tk; j++)
        hd_row(to, hd_head_ragged(h, g->out_begin, a, j))[h->head] =
            j >= sees.lo && j < sees.hi ? s[j] : outside;
}

enum {
    FEW = 2, /* vectors of scores that stay in registers */
    SIDE = 4 /* rows of them that do not wait for each other */
};

/* Whether a row of n scores has nothing but a factor and fits. */
static bool few_scores(const hd_attend_args *g, size_t n)
{
    const hd_attention *at = g->at;
    return n && n <= FEW * VL && at->scale > 0 && !(at->cap > 0) && !at->table && !at->center &&
           !at->ragged && !(at->draw.p > 0) && !g->raw && !g->scaled && !g->masked && !g->weights && !g->lse;
}

/* Softmax of `rows` rows of such scores, in so many vectors each, both constants where it is called: a step
   of decoding has many of them. To the bit what head_weights makes of them otherwise; false, with all as it
   was, where it is to do it. */
INLINE bool softmax_few(hd_real *s, size_t stride, size_t n, hd_real scale, int rows, int vectors)
{
    const vec none = hd_set(-INFINITY);
    const size_t whole = (size_t)(vectors - 1) * VL, left = n - whole;
    vec x[SIDE][FEW];
    hd_real max[SIDE];
    bool seen = true;
    UNROLL
    for (int i = 0; i < rows; i++) {
        hd_real *row = s + (size_t)i * stride;
        UNROLL
        for (int j = 0; j < vectors - 1; j++) x[i][j] = hd_load(row + (size_t)j * VL);
        x[i][vectors - 1] = left < VL ? hd_load_part(row + whole, left, -INFINITY) : hd_load(row + whole);
        UNROLL
        for (int j = 0; scale != 1 && j < vectors; j++) x[i][j] *= hd_spread(scale);
        vec most = hd_max(none, x[i][0]);
        UNROLL
        for (int j = 1; j < vectors; j++) most = hd_max(most, x[i][j]);
        max[i] = hd_top(most);
        seen = seen && max[i] > -INFINITY;
    }
    if (!seen) return false;
    UNROLL
    for (int i = 0; i < rows; i++) {
        hd_real *row = s + (size_t)i * stride;
        vec sum = hd_set(0);
        UNROLL
        for (int j = 0; j < vectors; j++) x[i][j] = hd_exp(x[i][j] - hd_spread(max[i])), sum += x[i][j];
        const vec share = hd_spread(1 / hd_sum(sum));
        UNROLL
        for (int j = 0; j < vectors - 1; j++) hd_store(row + (size_t)j * VL, x[i][j] * share);
        if (left < VL)
            hd_store_part(row + whole, x[i][vectors - 1] * share, left);
        else
            hd_store(row + whole, x[i][vectors - 1] * share);
    }
    return true;
}

/* The same of SIDE rows, or one. */
static bool few_weights(hd_real *s, size_t stride, size_t n, hd_real scale, size_t rows)
{
    if (rows == SIDE)
        return n <= VL ? softmax_few(s, stride, n, scale, SIDE, 1)
                       : softmax_few(s, stride, n, scale, SIDE, FEW);
    return n <= VL ? softmax_few(s, stride, n, scale, 1, 1) : softmax_few(s, stride, n, scale, 1, FEW);
}

void KERNEL(head_weights)(const hd_attend_args *g, const hd_head *h, hd_real *s, size_t a, hd_reach reach)
{
    hd_reach sees = hd_head_sees(h, a);
    size_t n = sees.hi - sees.lo;
    if (sees.lo == reach.lo && sees.hi == reach.hi && few_scores(g, n) &&
        few_weights(s + sees.lo, 0, n, g->at->scale, 1))
        return;
    if (g->raw) hand_out(g->raw, g, h, s, a, (hd_reach){0, h->tk}, 0);
    if (g->scaled) {
        KERNEL(head_bias)(h, s, a, (hd_reach){0, h->tk});
        hand_out(g->scaled, g, h, s, a, (hd_reach){0, h->tk}, 0);
    } else {
        KERNEL(head_bias)(h, s, a, sees);
    }
    hand_out(g->masked, g, h, s, a, sees, -INFINITY);
    hd_real max = hd_row_max(s + sees.lo, n), sum = 0;
    if (n && max > -INFINITY) {
        sum = hd_row_exp(s + sees.lo, s + sees.lo, n, max);
        hd_row_scale(s + sees.lo, n, 1 / sum);
    } else {
        memset(s + sees.lo, 0, n * sizeof *s);
    }
    for (size_t j = reach.lo; j < sees.lo; j++) s[j] = 0;
    for (size_t j = sees.hi; j < reach.hi; j++) s[j] = 0;
    hand_out(g->weights, g, h, s, a, sees, 0);
    if (g->lse) hd_row(g->lse, h->qrow + a)[h->head] = sum > 0 ? max + (hd_real)log((double)sum) : INFINITY;
    if (h->at->draw.p <= 0) return;
    hd_real mask[HD_MASK_RUN];
    uint64_t key = hd_mask_key(&h->at->draw, h->qrow + a);
    for (size_t j = reach.lo; j < reach.hi; j += HD_MASK_RUN) {
        size_t run = reach.hi - j < HD_MASK_RUN ? reach.hi - j : HD_MASK_RUN;
        hd_real *w = s + j;
        hd_mask_fill(mask, key, hd_head_draws(h) + j, run, hd_mask_rule_of(&h->at->draw));
        HD_COLUMNS(run, { S(w, L(w) * L(mask)); });
    }
}

typedef struct job {
    const hd_attend_args *g;
    hd_cpu *cpu;
    size_t stride, keys, values; /* of a tile's scores, packed keys, packed values: numbers */
    size_t far, band;            /* of packed vectors of distances, a tile's products with them */
} job;

typedef struct room { /* one worker's scratch; what is read as it lies is NULL */
    hd_real *scores, *keys, *values, *far, *band, *panel;
} room;

/* For few queries keys and values are not packed: that would cost more than the sums. */
static bool few(const hd_head *h)
{
    return h->tq < FEW_QUERIES;
}
static bool lies(const hd_head *h)
{
    return few(h) && h->dv % VL == 0;
}

static void pack_values(const hd_head *h, hd_real *values)
{
    size_t strip = KERNEL(strip)();
    if (!h->page) {
        hd_head_pack(h, values, hd_head_v(h, h->v, 0), h->v->stride, false, h->dv, h->tk);
        return;
    }
    for (size_t t = 0; t < h->tk; t++) { /* narrow heads, a row at a time */
        const hd_real *v = hd_head_v(h, h->v, t);
        for (size_t c = 0; c < (h->dv + strip - 1) / strip * strip; c++)
            values[c / strip * strip * h->tk + t * strip + c % strip] = c < h->dv ? v[c] : 0;
    }
}

static void head_forward(const job *w, const hd_head *h, const room *s)
{
    const hd_attend_args *g = w->g;
    size_t strip = h->form->strip;
    hd_real *scores = s->scores;
    bool all = g->raw || g->scaled; /* a probe also wants the scores of keys that are not seen */
    for (size_t a = 0; a < h->tq; a += QUERIES) {
        size_t n = h->tq - a < QUERIES ? h->tq - a : QUERIES;
        hd_reach r = all ? (hd_reach){0, h->tk} : hd_head_reach(h, a, n);
        KERNEL(head_scores)(h, scores, w->stride, a, n, r, s->keys, s->panel);
        if (h->at->distance) KERNEL(head_distances)(h, scores, w->stride, a, n, r, s->far, s->band, s->panel);
        for (size_t i = 0; i < n; i++) KERNEL(head_weights)(g, h, scores + i * w->stride, a + i, r);
        for (size_t i = 0; !s->values && i < n; i++)
            KERNEL(head_weigh)(h, hd_head_y(h, g->y, a + i), scores + i * w->stride, r, true);
        hd_product p = {.c = hd_head_y(h, g->y, a),
                        .c_stride = g->y->stride,
                        .a = scores + r.lo,
                        .a_stride = w->stride,
                        .weight = s->values ? hd_form_below(h->form, s->values, r.lo) : NULL,
                        .b_depth = h->tk,
                        .m = n,
                        .n = h->dv,
                        .k = r.hi - r.lo,
                        .finish = KERNEL(finish)};
        if (s->values) h->form->multiply(&p, 0, n, 0, (h->dv + strip - 1) / strip, (char *)s->panel);
        for (size_t i = 0; h->at->gate && i < n; i++)
            hd_row_scale(hd_head_y(h, g->y, a + i), h->dv, ((hd_real *)h->at->gate->data)[h->head]);
    }
}

/* Of `all` heads of single queries that see the same keys. */
static void weights_of_all(const job *w, const hd_head *h, size_t all, const room *s, hd_reach reach)
{
    const hd_reach sees = hd_head_sees(h, 0);
    const size_t n = sees.hi - sees.lo;
    const bool few = sees.lo == reach.lo && sees.hi == reach.hi && few_scores(w->g, n);
    for (size_t i = 0, rows; i < all; i += rows) {
        hd_real *row = s->scores + i * w->stride;
        rows = few && all - i >= SIDE ? SIDE : 1;
        if (rows == SIDE && few_weights(row + sees.lo, w->stride, n, w->g->at->scale, SIDE)) continue;
        for (size_t j = 0; j < rows; j++)
            KERNEL(head_weights)(w->g, h + i + j, row + j * w->stride, 0, reach);
    }
}

/* One query of neighboring heads over keys that are read as they lie: the heads of a key lie side by side or
   share it, so some keys go through all heads, and all queries that see them, before the next ones come.
   Every number is what a head alone gives. */
static void heads_forward(const job *w, const hd_head *h, const hd_near *near, const room *s)
{
    const hd_attend_args *g = w->g;
    const hd_reach sees = hd_head_reach(h, 0, 1);
    const size_t all = near->heads * near->items;
    for (size_t j = sees.lo, end; j < sees.hi; j = end) {
        end = (j / NEAR + 1) * NEAR < sees.hi ? (j / NEAR + 1) * NEAR : sees.hi;
        KERNEL(heads_scores)(h, near, s->scores, w->stride, (hd_reach){j, end}, s->panel);
    }
    weights_of_all(w, h, all, s, sees);
    for (size_t j = sees.lo, end; j < sees.hi || j == sees.lo; j = end) {
        end = (j / NEAR + 1) * NEAR < sees.hi ? (j / NEAR + 1) * NEAR : sees.hi;
        for (size_t i = 0; i < all; i += near->heads) KERNEL(heads_weigh)
        (h + i, near->heads, g->y, s->scores + i * w->stride, w->stride, (hd_reach){j, end}, j == sees.lo,
         (hd_reach){0, h->dv});
        if (end == sees.hi) break;
    }
    for (size_t i = 0; h->at->gate && i < all; i++)
        hd_row_scale(hd_head_y(h + i, g->y, 0), h->dv, ((hd_real *)h->at->gate->data)[h[i].head]);
}

/* Whether head h of an item sees the keys that `first` sees, and its query lies `below` rows further down. */
static bool sees_same(const hd_head *h, const hd_head *first, size_t below)
{
    return h->page && h->tq == 1 && h->tk == first->tk && h->qrow == first->qrow + below &&
           !memcmp(h->page, first->page, (h->tk + HD_PAGE_ROWS - 1) / HD_PAGE_ROWS * sizeof *h->page);
}

/* From this unit on, such heads of one item and of others that see the same keys: hypotheses of one sentence
   do. None where this one is not. */
static hd_near alike(const job *w, hd_head *h, size_t unit, size_t end)
{
    const hd_attention *at = w->g->at;
    const size_t groups = (size_t)at->kv_heads;
    hd_near n = {0, 1};
    if (at->heads != at->kv_heads || !KERNEL(single_reads_lines)(w->g)) return n;
    for (size_t i = 0; unit + i < end && i < QUERIES; i++) {
        const size_t item = (unit + i) / groups - unit / groups;
        h[i] = hd_head_at(at, w->g->q, w->g->k, w->g->v, (unit + i) / groups, (unit + i) % groups);
        if (!item && (h[i].tq != 1 || !lies(&h[i]))) return n;
        if (item && (n.heads < groups || !sees_same(&h[i], h, item))) break;
        if (!item)
            n.heads++;
        else if ((i + 1) % groups == 0)
            n.items++;
    }
    return n;
}

/* Heads of one query that share keys and values; 0 where this unit has none such. */
static size_t shared(const job *w, hd_head *h, size_t unit, const room *s)
{
    const hd_attention *at = w->g->at;
    const size_t groups = (size_t)at->kv_heads, each = (size_t)at->heads / groups,
                 first = unit % groups * each;
    h[0] = hd_head_at(at, w->g->q, w->g->k, w->g->v, unit / groups, first);
    if (h[0].tq != 1 || !lies(&h[0]) || !KERNEL(single_reads_lines)(w->g)) return 0;
    for (size_t e = 0, n; e < each; e += n) {
        n = each - e < QUERIES ? each - e : QUERIES;
        for (size_t i = 0; i < n; i++)
            h[i] = hd_head_at(at, w->g->q, w->g->k, w->g->v, unit / groups, first + e + i);
        heads_forward(w, h, &(hd_near){n, 1}, s);
    }
    return 1;
}

static void attend_part(void *arg, size_t begin, size_t end, int worker)
{
    const job *w = arg;
    const hd_attention *at = w->g->at;
    size_t groups = (size_t)at->kv_heads, each = (size_t)at->heads / groups;
    room all = {.scores = (hd_real *)(w->cpu->scratch + (size_t)worker * w->cpu->scratch_each)};
    all.keys = all.scores + QUERIES * w->stride, all.values = all.keys + w->keys;
    all.far = all.values + w->values, all.band = all.far + w->far, all.panel = all.band + w->band;
    hd_head near[QUERIES];
    for (size_t unit = begin, heads; unit < end; unit += heads ? heads : 1) {
        size_t item = unit / groups, group = unit % groups;
        const hd_near n = each > 1 ? (hd_near){shared(w, near, unit, &all), 1} : alike(w, near, unit, end);
        heads = n.heads * n.items;
        if (heads && each == 1) heads_forward(w, near, &n, &all);
        for (size_t e = 0; !heads && e < each; e++) {
            hd_head h = hd_head_at(at, w->g->q, w->g->k, w->g->v, item, group * each + e);
            h.form = hd_head_form(w->cpu, &h, w->g->lse);
            if (!e && h.tk) {
                if (at->score == HD_DOT && !few(&h))
                    hd_head_pack(&h, all.keys, hd_head_k(&h, h.k, 0), h.k->stride, true, h.tk, h.d);
                if (!lies(&h)) pack_values(&h, all.values);
            }
            room s = all;
            if (lies(&h)) s.values = NULL;
            if (few(&h))
                s.keys = s.far = NULL;
            else if (at->distance)
                KERNEL(pack)
            (s.far, hd_head_distances(&h, at->distance), at->distance->stride, true, hd_head_span(&h), h.d, 0,
             hd_head_span(&h));
            head_forward(w, &h, &s);
        }
    }
}

hd_status KERNEL(attend)(hd_backend *b, const hd_attend_args *g)
{
    const hd_attention *at = g->at;
    size_t longest = at->kseg->longest, d = hd_cols_of(g->q) / (size_t)at->heads,
           dv = hd_cols_of(g->v) / (size_t)at->kv_heads;
    job w = {.g = g, .cpu = (hd_cpu *)b, .stride = (longest + 15) / 16 * 16 + 16};
    const bool all_few = at->qseg->longest < FEW_QUERIES, all_lie = all_few && dv % VL == 0;
    if (all_lie && KERNEL(single_is_wide)(w.cpu, g)) return KERNEL(single)(w.cpu, g, w.stride);
    w.keys = all_few ? 0 : hd_head_room(w.cpu, longest, d);
    w.values = all_lie ? 0 : hd_head_room(w.cpu, dv, longest);
    w.band = QUERIES * hd_band_stride(at);
    w.far = at->distance ? KERNEL(packed_size)(hd_band_stride(at), d) : 0;
    size_t numbers = QUERIES * w.stride + w.keys + w.values + w.far + w.band +
                     hd_head_panel(w.cpu, longest > d ? longest : d);
    if (!hd_cpu_scratch(w.cpu, numbers * sizeof(hd_real))) return HD_ENOMEM;
    /* a few short heads are done before a worker would have begun */
    const size_t grain = 1 + 4 * HD_GRAIN / (at->qseg->longest * longest * (d + dv) + 1);
    hd_team_run(w.cpu->team, at->qseg->items * (size_t)at->kv_heads, grain, attend_part, &w);
    return HD_OK;
}
