/* One head of one item in attention: what forward and backward share. Queries go through in tiles of QUERIES
   rows; a tile's scores against the keys it may see are the only score matrix that ever exists. */
#ifndef HD_BACKEND_CPU_ATTEND_HEAD_H
#define HD_BACKEND_CPU_ATTEND_HEAD_H

#include <math.h>

#include "backend/cpu/exponent.h"
#include "backend/cpu/form/form.h"
#include "backend/cpu/mask.h"

enum { QUERIES = 56, FEW_QUERIES = 3 };

typedef struct hd_head {
    const hd_attention *at;
    const hd_tensor *q, *k, *v;
    size_t item, head, group; /* group: the kv head */
    size_t tq, tk, d, dv;
    size_t qrow, krow;   /* first rows of the item */
    const int32_t *page; /* blocks of its keys; NULL: they lie one after the other from krow */
    ptrdiff_t shift;     /* key position of query 0: tk - tq */
    const hd_form *form; /* of its products with packed keys and values */
} hd_head;

/* Keys [lo, hi) that queries [a, a+n) may see, lo rounded down to a whole strip. */
typedef struct hd_reach {
    size_t lo, hi;
} hd_reach;

INLINE hd_head hd_head_at(const hd_attention *at, const hd_tensor *q, const hd_tensor *k, const hd_tensor *v,
                          size_t item, size_t head)
{
    hd_head h = {.at = at, .q = q, .k = k, .v = v, .item = item, .head = head};
    h.group = head / (size_t)(at->heads / at->kv_heads);
    h.tq = (size_t)at->qseg->len[item], h.tk = (size_t)at->kseg->len[item];
    h.qrow = (size_t)at->qseg->begin[item], h.krow = (size_t)at->kseg->begin[item];
    h.page = at->kseg->page ? at->kseg->page + item * at->kseg->pages : NULL;
    h.d = hd_cols_of(q) / (size_t)at->heads;
    h.dv = v ? hd_cols_of(v) / (size_t)at->kv_heads : 0;
    h.shift = (ptrdiff_t)h.tk - (ptrdiff_t)h.tq;
    return h;
}

/* In training the form of all products, where nothing else reads what is packed. */
INLINE const hd_form *hd_head_form(const hd_cpu *cpu, const hd_head *h, bool training)
{
    bool all = training && h->tq >= FEW_QUERIES && !h->page && !h->at->distance;
    return all ? cpu->unprepared : cpu->set->f32;
}

/* Numbers of room for b [n, k] in any of those forms, and for a product k deep. */
INLINE size_t hd_head_room(const hd_cpu *cpu, size_t n, size_t k)
{
    size_t a = cpu->set->f32->size(n, k), b = cpu->unprepared->size(n, k);
    return ((a > b ? a : b) + sizeof(hd_real) - 1) / sizeof(hd_real);
}
INLINE size_t hd_head_panel(const hd_cpu *cpu, size_t k)
{
    size_t a = cpu->set->f32->scratch(k), b = cpu->unprepared->scratch(k);
    return ((a > b ? a : b) + sizeof(hd_real) - 1) / sizeof(hd_real);
}

/* b [k, n], or [n, k] where it is transposed, with rows `stride` apart. */
INLINE void hd_head_pack(const hd_head *h, hd_real *to, const hd_real *b, size_t stride, bool transposed,
                         size_t n, size_t k)
{
    const hd_packing from = {.b = b, .stride = stride, .n = n, .k = k, .transposed = transposed};
    h->form->pack(to, &from, 0, (n + h->form->strip - 1) / h->form->strip);
}

INLINE hd_real *hd_head_q(const hd_head *h, const hd_tensor *t, size_t a)
{
    return hd_row(t, h->qrow + a) + h->head * h->d;
}
INLINE size_t hd_head_row(const hd_head *h, size_t j)
{
    return h->page ? (size_t)h->page[j / HD_PAGE_ROWS] * HD_PAGE_ROWS + j % HD_PAGE_ROWS : h->krow + j;
}
/* The end of the keys that lie one after the other from key j on, at most `end`. */
INLINE size_t hd_head_run(const hd_head *h, size_t j, size_t end)
{
    if (!h->page) return end;
    size_t block = j / HD_PAGE_ROWS;
    while ((block + 1) * HD_PAGE_ROWS < (h->tk < end ? h->tk : end) &&
           h->page[block + 1] == h->page[block] + 1)
        block++;
    return (block + 1) * HD_PAGE_ROWS < end ? (block + 1) * HD_PAGE_ROWS : end;
}
INLINE hd_real *hd_head_k(const hd_head *h, const hd_tensor *t, size_t j)
{
    return hd_row(t, hd_head_row(h, j)) + h->group * h->d;
}
INLINE hd_real *hd_head_v(const hd_head *h, const hd_tensor *t, size_t j)
{
    return hd_row(t, hd_head_row(h, j)) + h->group * h->dv;
}
INLINE hd_real *hd_head_y(const hd_head *h, const hd_tensor *t, size_t a)
{
    return hd_row(t, h->qrow + a) + h->head * h->dv;
}

INLINE hd_real hd_head_center(const hd_head *h, size_t a)
{
    return hd_row(h->at->center, h->qrow + a)[hd_cols_of(h->at->center) > 1 ? h->head : 0];
}

/* Keys that query a alone may see. */
INLINE hd_reach hd_head_sees(const hd_head *h, size_t a)
{
    ptrdiff_t at = (ptrdiff_t)a + h->shift, lo = 0, hi = (ptrdiff_t)h->tk;
    if (h->at->mask == HD_CAUSAL && at + 1 < hi) hi = at + 1;
    if (h->at->window > 0) {
        ptrdiff_t from = at - h->at->window, to = at + h->at->window;
        if (h->at->center) {
            hd_real c = hd_head_center(h, a), end = (hd_real)(h->tk ? h->tk - 1 : 0);
            c = !(c > 0) ? 0 : c > end ? end : c;
            from = (ptrdiff_t)ceil((double)c - h->at->window);
            to = (ptrdiff_t)floor((double)c + h->at->window);
        }
        if (from > lo) lo = from;
        if (to + 1 < hi) hi = to + 1;
    }
    if (h->at->block > 0 && at >= 0) {
        ptrdiff_t from = (at / h->at->block - 1) * h->at->block;
        if (from > lo) lo = from;
    }
    if (hi < lo) hi = lo;
    return (hd_reach){(size_t)lo, (size_t)(hi > 0 ? hi : 0)};
}

INLINE hd_reach hd_head_reach(const hd_head *h, size_t a, size_t n)
{
    size_t strip = h->form ? h->form->strip : KERNEL(strip)();
    if (h->at->window > 0 && h->at->center) return (hd_reach){0, h->tk}; /* in no order */
    hd_reach first = hd_head_sees(h, a), last = hd_head_sees(h, a + n - 1);
    return (hd_reach){first.lo / strip * strip, last.hi > first.hi ? last.hi : first.hi};
}

/* Row of query a, key j in the ragged layouts. */
INLINE size_t hd_head_ragged(const hd_head *h, const int32_t *begin, size_t a, size_t j)
{
    return (size_t)begin[h->item] + a * h->tk + j;
}

/* Column where the dropout draws of this head begin; a head may have 2^20 keys. */
INLINE size_t hd_head_draws(const hd_head *h)
{
    return h->head << 20;
}

/* Vectors of distances that an item can need: the last ones of its head. With fewer keys than the table has
   none is beyond it. */
INLINE size_t hd_head_span(const hd_head *h)
{
    size_t span = hd_rows_of(h->at->distance) / (size_t)h->at->heads;
    return h->tk < span ? h->tk : span;
}
INLINE hd_real *hd_head_distances(const hd_head *h, const hd_tensor *t)
{
    size_t span = hd_rows_of(t) / (size_t)h->at->heads;
    return hd_row(t, (h->head + 1) * span - hd_head_span(h));
}
/* Numbers from one query to the next in a band: their products with those vectors. */
INLINE size_t hd_band_stride(const hd_attention *at)
{
    if (!at->distance) return 0;
    size_t span = hd_rows_of(at->distance) / (size_t)at->heads, longest = at->kseg->longest;
    return ((longest < span ? longest : span) + 15) / 16 * 16 + 16;
}
/* The first of them that queries [a, a+n) need for keys from r.lo on, rounded down to a whole strip. */
INLINE size_t hd_band_first(const hd_head *h, size_t a, size_t n, hd_reach r)
{
    size_t span = hd_head_span(h), strip = KERNEL(strip)();
    ptrdiff_t far = (ptrdiff_t)(a + n) - 1 + h->shift - (ptrdiff_t)r.lo;
    return far < 0 ? span : (size_t)far < span ? (span - 1 - (size_t)far) / strip * strip : 0;
}

/* s += products of queries [a, a+n) with the vector of each key's distance; keys after a query get nothing.
   band: scratch [n, hd_band_stride]; vectors packed by KERNEL(pack), or NULL: they are read as they lie. */
void KERNEL(head_distances)(const hd_head *h, hd_real *s, size_t stride, size_t a, size_t n, hd_reach r,
                            const hd_real *packed, hd_real *band, hd_real *panel);

/* band = the gradient of those products from ds, the gradient of raw scores: from column hd_band_first on. */
void KERNEL(band_back)(const hd_head *h, hd_real *band, const hd_real *ds, size_t stride, size_t a, size_t n,
                       hd_reach r);

/* s[n rows][stride] = raw scores of queries [a, a+n) with keys [lo, hi); keys packed by hd_head_pack, or NULL
   where they are few: they are read as they lie. */
void KERNEL(head_scores)(const hd_head *h, hd_real *s, size_t stride, size_t a, size_t n, hd_reach r,
                         const hd_real *packed_keys, hd_real *panel);

/* The same of the rows of p->a: c and b are filled in, block after block of keys. */
void KERNEL(scores_as_they_lie)(const hd_head *h, hd_product *p, hd_real *s, hd_reach r, hd_real *panel);

/* s = scale * s + biases, in place, for query a; keys outside its sight stay as they are. */
void KERNEL(head_bias)(const hd_head *h, hd_real *s, size_t a, hd_reach sees);

/* Softmax of query a over the keys it sees, zeros for the rest of the tile's reach; dropout last. */
void KERNEL(head_weights)(const hd_attend_args *g, const hd_head *h, hd_real *s, size_t a, hd_reach reach);

/* y = the sum of values under the weights s, from the unpacked values; the first keys begin it, later ones go
   on from y. */
void KERNEL(head_weigh)(const hd_head *h, hd_real *y, const hd_real *s, hd_reach r, bool first);

/* -- single.c: one query of neighboring heads of an item, s[heads][stride], or of some items -- */

/* All heads of each of these items, whose queries lie below each other and which see the same keys; or some
   heads of one. */
typedef struct hd_near {
    size_t heads, items;
} hd_near;

/* Whether nothing is asked but products with keys as they lie. */
bool KERNEL(single_reads_lines)(const hd_attend_args *g);
void KERNEL(heads_scores)(const hd_head *h, const hd_near *near, hd_real *s, size_t stride, hd_reach r,
                          hd_real *panel);
void KERNEL(heads_weigh)(const hd_head *h, size_t heads, const hd_tensor *to, const hd_real *s, size_t stride,
                         hd_reach r, bool first, hd_reach columns);
/* Whether workers should share out keys and columns rather than groups of heads; then that does all. */
bool KERNEL(single_is_wide)(const hd_cpu *cpu, const hd_attend_args *g);
hd_status KERNEL(single)(hd_cpu *cpu, const hd_attend_args *g, size_t stride);

#endif
