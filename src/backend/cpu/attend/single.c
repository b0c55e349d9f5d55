/* Attention of single queries over keys and values that are read as they lie: decoding. Heads that share keys
   and values meet each of them together. Where there are fewer such groups than workers (one text at a time,
   latent attention), workers share out the keys for scores and the columns for sums; every number is the same
   chain of multiply-adds as for a head alone. */
#include "backend/cpu/attend/abreast.h"

enum { WIDE = 8, NEAR = 2 * HD_PAGE_ROWS, AHEAD = 12 };

/* Heads that share values, and vectors of their columns, whose sums stay in registers. */
#if defined(__aarch64__) || HD_VECTOR_BYTES == 64
enum { TOGETHER = 4, ACROSS = 4 };
#else
enum { TOGETHER = 4, ACROSS = 2 };
#endif

/* Rows of p->a with keys that are read as they lie. */
void KERNEL(scores_as_they_lie)(const hd_head *h, hd_product *p, hd_real *s, hd_reach r, hd_real *panel)
{
    /* a whole block is quicker than a part of it; nobody reads the scores of what is no key yet */
    const size_t strip = KERNEL(strip)(), blocks = (r.hi + HD_PAGE_ROWS - 1) / HD_PAGE_ROWS,
                 last = h->page ? blocks * HD_PAGE_ROWS : r.hi;
    p->b_stride = h->k->stride;
    for (size_t j = r.lo, end; j < r.hi; j = end) {
        end = hd_head_run(h, j, last);
        p->c = s + j, p->b = hd_head_k(h, h->k, j), p->n = end - j;
        KERNEL(product)(p, 0, p->m, 0, (p->n + strip - 1) / strip, panel);
    }
}

/* The weighted sum of one query from the unpacked values: each number is the chain of multiply-adds over
   the keys that the product makes, so the bits are its bits. The first keys begin it, later ones go on from
   y. `vectors` is a constant where it is called. */
INLINE void weigh_columns(const hd_head *h, hd_real *y, const hd_real *s, hd_reach r, bool first, size_t from,
                          int vectors)
{
    vec sum[WIDE];
    for (int i = 0; i < vectors; i++) sum[i] = first ? hd_set(0) : hd_load(y + from + (size_t)i * VL);
    for (size_t t = r.lo, end; t < r.hi;) {
        const hd_real *v = hd_head_v(h, h->v, t) + from;
        for (end = hd_head_run(h, t, r.hi); t < end; t++, v += h->v->stride) {
            vec weight = hd_spread(s[t]);
            for (int i = 0; i < vectors; i++) sum[i] = hd_fma(hd_load(v + i * VL), weight, sum[i]);
        }
    }
    for (int i = 0; i < vectors; i++) hd_store(y + from + (size_t)i * VL, sum[i]);
}

void KERNEL(head_weigh)(const hd_head *h, hd_real *y, const hd_real *s, hd_reach r, bool first)
{
    size_t from = 0;
    for (; from + WIDE * VL <= h->dv; from += WIDE * VL) weigh_columns(h, y, s, r, first, from, WIDE);
    for (; from < h->dv; from += VL) weigh_columns(h, y, s, r, first, from, 1);
}

/* The same of WIDE / each heads that lie side by side and have values of their own, `each` vectors wide, a
   constant where it is called: their sums do not wait for each other. */
INLINE void weigh_side(const hd_head *h, hd_real *y, const hd_real *s, size_t stride, hd_reach r, bool first,
                       int each)
{
    vec sum[WIDE];
    for (int i = 0; i < WIDE; i++) sum[i] = first ? hd_set(0) : hd_load(y + (size_t)i * VL);
    for (size_t t = r.lo, end; t < r.hi;) {
        const hd_real *v = hd_head_v(h, h->v, t);
        for (end = hd_head_run(h, t, r.hi); t < end; t++, v += h->v->stride) UNROLL
        for (int i = 0; i < WIDE; i++)
            sum[i] = hd_fma(hd_load(v + i * VL), hd_spread(s[(size_t)(i / each) * stride + t]), sum[i]);
    }
    for (int i = 0; i < WIDE; i++) hd_store(y + (size_t)i * VL, sum[i]);
}

/* As many heads as fill WIDE vectors; how many that were, or 0. */
static size_t weigh_neighbors(const hd_head *h, size_t heads, hd_real *y, const hd_real *s, size_t stride,
                              hd_reach r, bool first)
{
    const size_t each = h->dv / VL, n = each && h->dv % VL == 0 && WIDE % each == 0 ? WIDE / each : 0;
    if (n < 2 || n > heads || h->at->heads != h->at->kv_heads) return 0;
    switch (each) {
    case 1:
        weigh_side(h, y, s, stride, r, first, 1);
        break;
    case 2:
        weigh_side(h, y, s, stride, r, first, 2);
        break;
    default:
        weigh_side(h, y, s, stride, r, first, WIDE / 2);
    }
    return n;
}

/* Of TOGETHER heads that have the same values: one key more. */
INLINE void weigh_key(vec sum[TOGETHER][ACROSS], const hd_real *v, const vec *weight)
{
    vec x[ACROSS];
    UNROLL
    for (int c = 0; c < ACROSS; c++) x[c] = hd_load(v + (size_t)c * VL);
    UNROLL
    for (int i = 0; i < TOGETHER; i++) UNROLL
    for (int c = 0; c < ACROSS; c++) sum[i][c] = hd_fma(x[c], weight[i], sum[i][c]);
}

/* Keys [t, end) that lie one after the other from v on. Multiplying by a lane of a vector is free on arm, and
   so weights are loaded VL at a time there. */
INLINE void weigh_run(vec sum[TOGETHER][ACROSS], const hd_real *v, size_t step, const hd_real *s,
                      size_t stride, size_t t, size_t end)
{
    vec weight[TOGETHER];
#ifdef __aarch64__
    for (; t + VL <= end; t += VL) {
        vec some[TOGETHER];
        UNROLL
        for (int i = 0; i < TOGETHER; i++) some[i] = hd_load(s + (size_t)i * stride + t);
        UNROLL
        for (int l = 0; l < VL; l++, v += step) {
            __builtin_prefetch(v + AHEAD * step);
            UNROLL
            for (int i = 0; i < TOGETHER; i++) weight[i] = hd_spread(some[i][l]);
            weigh_key(sum, v, weight);
        }
    }
#endif
    for (; t < end; t++, v += step) {
        UNROLL
        for (int i = 0; i < TOGETHER; i++) weight[i] = hd_spread(s[(size_t)i * stride + t]);
        weigh_key(sum, v, weight);
    }
}

INLINE void weigh_together(const hd_head *h, hd_real *y, const hd_real *s, size_t stride, hd_reach r,
                           bool first, size_t from)
{
    vec sum[TOGETHER][ACROSS];
    UNROLL
    for (int i = 0; i < TOGETHER; i++) UNROLL
    for (int c = 0; c < ACROSS; c++)
        sum[i][c] = first ? hd_set(0) : hd_load(y + (size_t)i * h->dv + from + (size_t)c * VL);
    for (size_t t = r.lo, end; t < r.hi; t = end) {
        end = hd_head_run(h, t, r.hi);
        weigh_run(sum, hd_head_v(h, h->v, t) + from, h->v->stride, s, stride, t, end);
    }
    UNROLL
    for (int i = 0; i < TOGETHER; i++) UNROLL
    for (int c = 0; c < ACROSS; c++) hd_store(y + (size_t)i * h->dv + from + (size_t)c * VL, sum[i][c]);
}

/* How many of these heads, from the first on, have the same keys and values. */
static size_t sharing(const hd_head *h, size_t heads)
{
    size_t n = 1;
    while (n < heads && h[n].group == h->group) n++;
    return n;
}

void KERNEL(heads_scores)(const hd_head *h, const hd_near *near, hd_real *s, size_t stride, hd_reach r,
                          hd_real *panel)
{
    const size_t all = near->heads * near->items;
    if (blocks_scores(h, near, s, stride, r)) return;
    for (size_t i = 0, n; i < all; i += n) {
        n = sharing(h + i, near->heads - i % near->heads);
        hd_product p = {.c_stride = stride,
                        .a = hd_head_q(h + i, h->q, 0),
                        .a_stride = h->d,
                        .b_depth = h->d,
                        .m = n,
                        .k = h->d};
        KERNEL(scores_as_they_lie)(h + i, &p, s + i * stride, r, panel);
    }
}

/* Columns of TOGETHER heads from the first one on. */
static void weigh_four(const hd_head *h, hd_real *y, const hd_real *s, size_t stride, hd_reach r, bool first,
                       hd_reach columns)
{
    size_t from = columns.lo;
    for (; from + ACROSS * VL <= columns.hi; from += ACROSS * VL)
        weigh_together(h, y, s, stride, r, first, from);
    for (; from < columns.hi; from += VL)
        for (size_t i = 0; i < TOGETHER; i++)
            weigh_columns(h + i, y + i * h->dv, s + i * stride, r, first, from, 1);
}

void KERNEL(heads_weigh)(const hd_head *h, size_t heads, const hd_tensor *to, const hd_real *s, size_t stride,
                         hd_reach r, bool first, hd_reach columns)
{
    const bool whole = !columns.lo && columns.hi == h->dv;
    for (size_t i = 0, n; i < heads; i += n) {
        hd_real *y = hd_head_y(h + i, to, 0);
        const hd_real *weights = s + i * stride;
        n = whole ? weigh_neighbors(h + i, heads - i, y, weights, stride, r, first) : 0;
        if (n) continue;
        n = sharing(h + i, heads - i) >= TOGETHER ? TOGETHER : 1;
        if (n > 1)
            weigh_four(h + i, y, weights, stride, r, first, columns);
        else if (whole)
            KERNEL(head_weigh)(h + i, y, weights, r, first);
        else
            for (size_t from = columns.lo; from < columns.hi; from += VL)
                weigh_columns(h + i, y, weights, r, first, from, 1);
    }
}

bool KERNEL(single_reads_lines)(const hd_attend_args *g)
{
    return g->at->score == HD_DOT && !g->at->distance && !g->raw && !g->scaled;
}

/* -- few groups -- */

typedef struct wide {
    const hd_attend_args *g;
    hd_cpu *cpu;
    hd_real *scores; /* [items * heads, stride] */
    size_t stride, heads;
    size_t blocks;  /* of keys of the longest item */
    size_t columns; /* of a head's values, in pieces of VL * ACROSS */
} wide;

static hd_head head_of(const wide *w, size_t item, size_t head)
{
    return hd_head_at(w->g->at, w->g->q, w->g->k, w->g->v, item, head);
}

/* Some heads of an item from this one on. */
static size_t heads_of(const wide *w, hd_head *h, size_t item, size_t first)
{
    const size_t n = w->heads - first < QUERIES ? w->heads - first : QUERIES;
    for (size_t i = 0; i < n; i++) h[i] = head_of(w, item, first + i);
    return n;
}

static hd_real *scores_of(const wide *w, size_t item, size_t head)
{
    return w->scores + (item * w->heads + head) * w->stride;
}

/* Units are blocks of keys. */
static void scores_part(void *arg, size_t begin, size_t end, int worker)
{
    const wide *w = arg;
    hd_real *panel = (hd_real *)(w->cpu->scratch + (size_t)worker * w->cpu->scratch_each);
    hd_head h[QUERIES];
    for (size_t unit = begin; unit < end; unit++)
        for (size_t item = unit / w->blocks, e = 0, n; e < w->heads; e += n) {
            n = heads_of(w, h, item, e);
            const hd_reach sees = h->tq ? hd_head_reach(h, 0, 1) : (hd_reach){0, 0};
            const size_t lo = unit % w->blocks * NEAR, hi = lo + NEAR < sees.hi ? lo + NEAR : sees.hi;
            if (hi <= sees.lo || lo >= hi) continue;
            KERNEL(heads_scores)
            (h, &(hd_near){n, 1}, scores_of(w, item, e), w->stride,
             (hd_reach){lo < sees.lo ? sees.lo : lo, hi}, panel);
        }
}

/* Units are heads. */
static void weights_part(void *arg, size_t begin, size_t end, int worker)
{
    const wide *w = arg;
    (void)worker;
    for (size_t unit = begin; unit < end; unit++) {
        const size_t item = unit / w->heads, head = unit % w->heads;
        const hd_head h = head_of(w, item, head);
        if (h.tq) KERNEL(head_weights)(w->g, &h, scores_of(w, item, head), 0, hd_head_reach(&h, 0, 1));
    }
}

static void weigh_item(const wide *w, size_t item, hd_reach columns)
{
    hd_head h[QUERIES];
    for (size_t e = 0, n; e < w->heads; e += n) {
        n = heads_of(w, h, item, e);
        if (!h->tq) continue;
        const hd_reach sees = hd_head_reach(h, 0, 1);
        for (size_t j = sees.lo, end; j < sees.hi || j == sees.lo; j = end) {
            end = (j / NEAR + 1) * NEAR < sees.hi ? (j / NEAR + 1) * NEAR : sees.hi;
            KERNEL(heads_weigh)
            (h, n, w->g->y, scores_of(w, item, e), w->stride, (hd_reach){j, end}, j == sees.lo, columns);
            if (end == sees.hi) break;
        }
        for (size_t i = 0; h->at->gate && i < n; i++)
            hd_row_scale(hd_head_y(h + i, w->g->y, 0) + columns.lo, columns.hi - columns.lo,
                         ((hd_real *)h->at->gate->data)[h[i].head]);
    }
}

/* Units are pieces of the columns of values. */
static void columns_part(void *arg, size_t begin, size_t end, int worker)
{
    const wide *w = arg;
    const size_t dv = hd_cols_of(w->g->v) / (size_t)w->g->at->kv_heads, piece = VL * ACROSS;
    (void)worker;
    for (size_t unit = begin, last; unit < end; unit = last) {
        const size_t item = unit / w->columns, behind = (item + 1) * w->columns;
        last = behind < end ? behind : end;
        const size_t to = (last - item * w->columns) * piece;
        weigh_item(w, item, (hd_reach){unit % w->columns * piece, to < dv ? to : dv});
    }
}

bool KERNEL(single_is_wide)(const hd_cpu *cpu, const hd_attend_args *g)
{
    const hd_attention *at = g->at;
    return at->qseg->longest == 1 && at->heads > at->kv_heads && KERNEL(single_reads_lines)(g) &&
           at->qseg->items * (size_t)at->kv_heads < 2 * (size_t)hd_team_size(cpu->team);
}

hd_status KERNEL(single)(hd_cpu *cpu, const hd_attend_args *g, size_t stride)
{
    const hd_attention *at = g->at;
    const size_t items = at->qseg->items, heads = (size_t)at->heads,
                 dv = hd_cols_of(g->v) / (size_t)at->kv_heads;
    wide w = {.g = g, .cpu = cpu, .stride = stride, .heads = heads};
    w.blocks = (at->kseg->longest + NEAR - 1) / NEAR, w.columns = (dv + VL * ACROSS - 1) / (VL * ACROSS);
    w.scores = (hd_real *)hd_cpu_shared(cpu, items * heads * stride * sizeof *w.scores);
    if (!w.scores || !hd_cpu_scratch(cpu, KERNEL(panel_size)() * sizeof *w.scores)) return HD_ENOMEM;
    hd_team_run(cpu->team, items * w.blocks, 1, scores_part, &w);
    hd_team_run(cpu->team, items * heads, 1, weights_part, &w);
    hd_team_run(cpu->team, items * w.columns, 1, columns_part, &w);
    return HD_OK;
}
