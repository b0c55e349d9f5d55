/* What the attention kernels share: the description of the op as kernels take it, one head of one item, who
   sees whom, scores and biases. Lengths live in device memory; the host knows upper bounds alone. */
#ifndef HD_BACKEND_CUDA_ATTEND_H
#define HD_BACKEND_CUDA_ATTEND_H

#include "backend/cuda/device.h"

enum { ATTEND_EDGES = 512 }; /* buckets of a relative table beyond the exact ones, one side */

typedef struct attend_of {
    int heads, group, d, dv; /* group: heads that share a kv head */
    float scale, sigma, cap;
    bool causal, additive, both_ways, drops;
    int window, block, span;                                    /* span: vectors of distances of a head */
    mat q, k, v, weight, table, distance, center, ragged, gate; /* weight: of the additive score */
    const int32_t *ragged_begin, *qbegin, *qlen, *kbegin, *klen;
    const int32_t *page; /* [items, pages]: blocks of keys; NULL: they lie one after the other */
    int pages;
    int items, longest_q, longest_k;
    draw_of draw;
    int exact, edges; /* of the relative table, one side: edge[b] is the first distance of bucket exact+1+b */
} attend_of;

typedef struct attend_edges { /* apart: few kernels need it */
    int first[ATTEND_EDGES];
} attend_edges;

/* Host: fills the description; false when the table has more buckets than the kernels take. */
bool hd_attend_describe(attend_of *t, attend_edges *e, const hd_attention *at, const hd_tensor *q,
                        const hd_tensor *k, const hd_tensor *v);
/* Host: dot score and nothing added to it but what vectors of distances give; masks, windows, local blocks, a
   cap and dropout may be there. Bent: one of windows, local blocks and a cap is. Fast: also all of the given
   tensors bf16 by eights, columns that there are kernels for, a positive scale, keys that do not lie in
   blocks. */
bool hd_attend_dotted(const attend_of *t);
static inline bool hd_attend_far(const attend_of *t)
{
    return t->distance.p != NULL;
}
static inline bool hd_attend_bent(const attend_of *t)
{
    return t->window > 0 || t->block > 0 || t->cap > 0;
}
/* Columns of keys and values that the kernels of long items are made for; others have zeros up to the next
   ones. Whole: these also have kernels for short items, and some with dropout or distances and nothing else
   beside. */
#define ATTEND_SIZES(X)     X(32, 32) X(64, 64) X(96, 96) X(128, 128) X(192, 128) X(256, 256)
#define ATTEND_WHOLE(d, dv) ((d) == (dv) && ((d) == 32 || (d) == 64 || (d) == 128))
typedef struct attend_size {
    int d, dv; /* 0: there is none */
} attend_size;
attend_size hd_attend_size(const attend_of *t);
/* Host: whether it takes the kernels that tell everything apart while they run. */
bool hd_attend_more(const attend_of *t);
/* Host: the vectors of distances in bf16 by eights in place of t's own: their shadow, or a copy in `room`,
   which has hd_attend_near_bytes. */
size_t hd_attend_near_bytes(const hd_attention *at);
void hd_attend_narrow(hd_cuda *c, attend_of *t, const hd_attention *at, void *room);
/* Host: whether the kernels of long items, forward and backward, find room on this card. */
bool hd_attend_long_fits(const hd_cuda *c, const attend_of *t);
bool hd_attend_is_fast(const attend_of *t, const hd_tensor *const *all, int count, const hd_tensor *lse);

/* The fast ones; each takes what hd_attend_is_fast let through. */
void hd_attend_short(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse);
void hd_attend_long(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse);
bool hd_attend_decode(hd_cuda *c, const attend_of *t, const hd_attend_args *a);

/* Single queries of heads that share a row, whose first columns are the value: absorbed latent attention. */
bool hd_attend_latent(hd_cuda *c, const attend_of *t, const hd_attend_args *a);

/* Keys of single queries in parts (parts.cu). A part is [dv] sums of values, the largest score, the sum of
   weights; parts of a head lie behind each other. */
enum { PART_MORE = 2, MOST_PARTS = 128 };
typedef struct attend_parts {
    float *to; /* NULL: there is but one, which goes to y */
    int count; /* room for so many of each head */
    int most;  /* parts of a head */
    int least; /* keys of a part, or a multiple of them */
} attend_parts;
/* Host: `units` of blocks without parts; then the scratch that `to` needs, and what makes y of the parts. */
attend_parts hd_attend_parts(const hd_cuda *c, const attend_of *t, int units, int most, int least);
size_t hd_attend_parts_bytes(const attend_of *t, const attend_parts *p);
void hd_attend_join(hd_cuda *c, const attend_of *t, const attend_parts *parts, const mat &y, const mat &lse);

/* One query an item, with any score. */
bool hd_attend_single_fits(const attend_of *t);
void hd_attend_single(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse);

typedef struct attend_grads {
    mat dq, dk, dv, dy, y, lse, ddistance;
    bool fresh_q, fresh_k, fresh_v;
} attend_grads;
size_t hd_attend_long_back_room(const hd_cuda *c, const attend_of *t); /* of shared memory, in bytes */
void hd_attend_short_back(hd_cuda *c, const attend_of *t, const attend_grads *g);
hd_status hd_attend_long_back(hd_cuda *c, const attend_of *t, const attend_grads *g, const hd_attention *at);

enum { SHORT_ROWS = 64 };                    /* items up to this long are one tile */
bool hd_attend_is_short(const attend_of *t); /* Host: and nothing else is asked of them */

/* -- device -- */

typedef struct place {                    /* one head of one item */
    int item, head, group, tq, tk, shift; /* shift: key position of query 0 */
    size_t qrow, krow;
    const int32_t *page; /* of the item, or NULL */
} place;

DEVICE place place_at(const attend_of &t, int item, int head)
{
    place p;
    p.item = item, p.head = head, p.group = head / t.group;
    p.tq = t.qlen[item], p.tk = t.klen[item], p.shift = p.tk - p.tq;
    p.qrow = (size_t)t.qbegin[item], p.krow = (size_t)t.kbegin[item];
    p.page = t.page ? t.page + (size_t)item * t.pages : NULL;
    return p;
}

/* The row of key j. */
DEVICE size_t key_row(const place &p, int j)
{
    return p.page ? (size_t)p.page[j / HD_PAGE_ROWS] * HD_PAGE_ROWS + j % HD_PAGE_ROWS : p.krow + j;
}

typedef struct reach {
    int lo, hi;
} reach;

DEVICE float center_of(const attend_of &t, const place &p, int a)
{
    return mat_get(t.center, p.qrow + a, t.center.cols > 1 ? p.head : 0);
}

/* The first key that local blocks let key position `at` see. */
DEVICE int block_begin(const attend_of &t, int at)
{
    return t.block > 0 && at >= t.block ? (at / t.block - 1) * t.block : 0;
}

/* The first and the last key that key position `at` sees, where there is no center. The first may lie behind
   the last: then it sees none. */
DEVICE int first_key(const attend_of &t, int at)
{
    int first = block_begin(t, at);
    return t.window > 0 ? max(first, at - t.window) : first;
}
DEVICE int last_key(const attend_of &t, const place &p, int at)
{
    int last = t.causal ? min(p.tk - 1, at) : p.tk - 1;
    return t.window > 0 ? min(last, at + t.window) : last;
}

/* Queries [lo, hi) that may see keys from `first` to `last`; those between need not see all of them. */
DEVICE reach seen_by(const attend_of &t, const place &p, int first, int last)
{
    reach r = {0, p.tq};
    if (t.causal)
        r.lo = max(0, first - p.shift);
    else if (t.window > 0)
        r.lo = max(0, first - t.window - p.shift);
    if (t.window > 0) r.hi = min(r.hi, last + t.window + 1 - p.shift);
    if (t.block > 0) r.hi = min(r.hi, (last / t.block + 2) * t.block - p.shift);
    return r;
}

/* Keys [lo, hi) that query a may see. */
DEVICE reach sees_of(const attend_of &t, const place &p, int a)
{
    long long at = (long long)a + p.shift, lo = 0, hi = p.tk;
    if (t.causal && at + 1 < hi) hi = at + 1;
    if (t.window > 0) {
        long long from = at - t.window, to = at + t.window;
        if (t.center.p) {
            float c = fminf(fmaxf(center_of(t, p, a), 0.0f), (float)max(p.tk - 1, 0));
            from = (long long)ceilf(c - (float)t.window), to = (long long)floorf(c + (float)t.window);
        }
        if (from > lo) lo = from;
        if (to + 1 < hi) hi = to + 1;
    }
    lo = max(lo, (long long)block_begin(t, (int)at));
    if (hi < lo) hi = lo;
    reach r = {(int)lo, (int)hi};
    return r;
}

/* x . row for a row of n numbers that begins at element `at`. */
DEVICE float dot_row(const mat &m, size_t at, const float *x, int n)
{
    float sum = 0;
    if (m.small) {
        const bf16 *p = (const bf16 *)m.p + at;
        if (n % 8 == 0 && (uintptr_t)p % 16 == 0) {
            for (int c = 0; c < n; c += 8) {
                float v[8];
                load8(v, p + c);
#pragma unroll
                for (int i = 0; i < 8; i++) sum = fmaf(v[i], x[c + i], sum);
            }
            return sum;
        }
        for (int c = 0; c < n; c++) sum = fmaf(__bfloat162float(p[c]), x[c], sum);
        return sum;
    }
    const float *p = (const float *)m.p + at;
    if (n % 4 == 0 && (uintptr_t)p % 16 == 0) {
        for (int c = 0; c < n; c += 4) {
            float4 v = *(const float4 *)(p + c);
            sum = fmaf(v.x, x[c], sum), sum = fmaf(v.y, x[c + 1], sum);
            sum = fmaf(v.z, x[c + 2], sum), sum = fmaf(v.w, x[c + 3], sum);
        }
        return sum;
    }
    for (int c = 0; c < n; c++) sum = fmaf(p[c], x[c], sum);
    return sum;
}

/* Raw score of the vector x with a row of q or k: the score is the same from both sides. */
DEVICE float raw_score(const attend_of &t, const mat &m, size_t row, int column, const float *x, int head)
{
    size_t at = row * m.stride + (size_t)column;
    if (!t.additive) return dot_row(m, at, x, t.d);
    float sum = 0;
    for (int c = 0; c < t.d; c++)
        sum = fmaf(mat_get(t.weight, 0, (size_t)head * t.d + c), tanhf(mat_get(m, row, column + c) + x[c]),
                   sum);
    return sum;
}

/* Where the vector of the distance from query a to key j, which is not after it, begins. */
DEVICE size_t distance_at(const attend_of &t, const place &p, int a, int j)
{
    int far = min(a + p.shift - j, t.span - 1);
    return ((size_t)(p.head + 1) * t.span - 1 - far) * t.distance.stride;
}

/* Its product with query a, which q holds or is NULL; 0 where there is none. */
DEVICE float distance_score(const attend_of &t, const place &p, int a, int j, const float *q)
{
    if (!t.distance.p || j > a + p.shift) return 0;
    size_t at = distance_at(t, p, a, j);
    if (q) return dot_row(t.distance, at, q, t.d);
    float sum = 0;
    for (int c = 0; c < t.d; c++)
        sum = fmaf(mat_get(t.q, p.qrow + a, (size_t)p.head * t.d + c), mat_get(t.distance, 0, at + c), sum);
    return sum;
}

/* The same bucket as hd_relative_bucket: the edges come from it. */
DEVICE int bucket_of(const attend_of &t, const attend_edges &e, int distance)
{
    int base = 0, d = distance, side = t.table.rows;
    if (t.both_ways) {
        side /= 2;
        if (d > 0) base = side;
        d = d < 0 ? -d : d;
    } else {
        d = d < 0 ? -d : 0;
    }
    if (d < t.exact) return base + d;
    int low = 0, high = t.edges; /* edges at or before d */
    while (low < high) {
        int mid = (low + high) / 2;
        if (e.first[mid] <= d)
            low = mid + 1;
        else
            high = mid;
    }
    return base + t.exact + low;
}

DEVICE float biased_score(const attend_of &t, const attend_edges &e, const place &p, int a, int j, float raw)
{
    float s = raw * t.scale;
    if (t.cap > 0) s = t.cap * tanhf(s / t.cap);
    if (t.table.p) s += mat_get(t.table, (size_t)bucket_of(t, e, j - a - p.shift), p.head);
    if (t.center.p && t.sigma > 0) {
        float c = (float)j - center_of(t, p, a);
        s += c * c * (-1 / (2 * t.sigma * t.sigma));
    }
    if (t.ragged.p) s += mat_get(t.ragged, (size_t)t.ragged_begin[p.item] + (size_t)a * p.tk + j, p.head);
    return s;
}

/* Keys of each part of so many. */
static HD_BOTH inline int part_keys(const attend_parts &p, int keys)
{
    int units = (keys + p.least - 1) / p.least, each = (units + p.most - 1) / p.most;
    return (each > 0 ? each : 1) * p.least;
}
DEVICE float *part_at(const attend_of &t, const attend_parts &p, const place &at, int part)
{
    return p.to + (((size_t)at.item * t.heads + at.head) * p.count + part) * (t.dv + PART_MORE);
}

DEVICE uint32_t draw_column(int head, int j)
{
    return ((uint32_t)head << 20) + (uint32_t)j;
}

#endif
