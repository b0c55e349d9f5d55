/* What the backward kernels of long items share: what is saved of a query, the weights and slopes (gradients
   of scores) of a tile of keys and queries, and, with vectors of distances, the slices whose slopes are kept
   in scratch. */
#ifndef HD_BACKEND_CUDA_ATTEND_LONG_BACK_H
#define HD_BACKEND_CUDA_ATTEND_LONG_BACK_H

#include "backend/cuda/attend/band.h"

enum { ROWS = GROUP_ROWS };

/* A block is one group, as a rule: three of them, which wait for nobody, fill a multiprocessor's registers.
   Where heads are wide they do not find room, and two groups share what they walk over. */
template <int D> constexpr int BACK_GROUPS = D == 192 ? 2 : 1;
template <int D> constexpr int BACK_BLOCKS = D > 128 ? 1 : D > 64 ? 2 : 3; /* of a multiprocessor */
template <int D> constexpr int BACK_MOST = D == 128 || D == 256 ? 2 : 3;   /* stages that leave them room */

typedef struct saved { /* scratch */
    float2 *pair;      /* [Rq,H]: the logarithm of the sum, in powers of two, and delta */
    uint64_t *key;     /* [Rq]: of the dropout draws */
} saved;

/* The tile of queries that a group of keys meets. */
typedef struct meeting {
    int a, j;            /* the first query; the lane's first key */
    const float4 *two;   /* pairs of the queries */
    const uint64_t *key; /* of their draws */
} meeting;

/* Queries [lo, hi) that may see keys from `first` to `last`. */
template <int WITH> DEVICE reach queries_of(const attend_of &t, const place &p, int first, int last)
{
    if (WITH & (FAR | MORE)) return seen_by(t, p, first, last);
    reach r = {t.causal ? max(0, first - p.shift) : 0, p.tq};
    return r;
}

/* Scores [64 keys, 64 queries] of pairs that do not see each other. */
template <int WITH>
DEVICE void hide_queries(const attend_of &t, const place &p, float s[8][4], const meeting &m)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int j = m.j + half * 8;
        reach by = queries_of<WITH>(t, p, j, j);
        if (j >= p.tk) by.hi = 0;
        unsigned count = (unsigned)max(by.hi - by.lo, 0), from = m.a + threadIdx.x % 4 * 2 - by.lo;
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (from + n * 8 + i >= count) s[n][half * 2 + i] = -INFINITY;
    }
}

/* s: in scores, out weights. */
DEVICE void key_weights(const attend_of &t, float s[8][4], const meeting &m)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float4 b = m.two[n * 4 + threadIdx.x % 4];
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = power_of_two(fmaf(s[n][x], c, -(x % 2 ? b.z : b.x)));
    }
}

/* ds: in dy v^T, out slopes. s: weights, out those after dropout. */
template <int WITH>
DEVICE void key_slopes(const attend_of &t, const place &p, float s[8][4], float ds[8][4], const meeting &m)
{
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float4 b = m.two[n * 4 + threadIdx.x % 4];
#pragma unroll
        for (int x = 0; x < 4; x++) {
            int of = n * 8 + threadIdx.x % 4 * 2 + x % 2;
            float mask =
                (WITH & DROPS) ? draw_mask(t.draw, m.key[of], draw_column(p.head, m.j + x / 2 * 8)) : 1;
            ds[n][x] = s[n][x] * fmaf(ds[n][x], mask, -(x % 2 ? b.w : b.y));
            s[n][x] *= mask;
        }
    }
}

/* Host: bytes of shared memory of a block of long_keys or long_queries. */
template <int D, int DV> static inline size_t back_room(const hd_cuda *c)
{
    return (BACK_GROUPS<D> + stages_on(c, BACK_MOST<D>)) * ROWS * (size_t)(D + DV) * sizeof(bf16);
}

/* Without vectors of distances: dq (long_queries.cu). */
void hd_attend_long_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept);

/* -- with vectors of distances. Every item has as many keys as queries, every head its own. -- */

/* Tiles of queries of some heads and items, whose slopes scratch has room for: [64 keys, 64 queries] for
   every tile of keys that a tile of queries meets, the nearest first. All tiles of an item, or some tiles of
   one item and head: then sums of its keys go on from slice to slice. */
typedef struct slice {
    int item, items, head, heads, tile, tiles, width; /* width: tiles of keys that a tile may meet */
    bf16 *slopes;
    float4 *carry; /* dk and dv of tiles of keys, as long_slopes.cu has them; NULL: slices have all tiles */
    float *sums;   /* of the vectors (long_distance.cu) */
} slice;

/* Host: `next` makes the slice after `s`, the first one after zeros; false: there is none. room: scratch of
   so many bytes, in proportion to the queries however long the items are. */
size_t hd_attend_slice_bytes(const attend_of *t);
bool hd_attend_slice_next(const attend_of *t, void *room, slice *s);

/* Host: dk and dv of a slice, which leave its slopes; then dq from them (both long_slopes.cu), and what they
   add to the gradients of the vectors (long_distance.cu). */
void hd_attend_slope_keys(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, const slice *s);
void hd_attend_slope_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, const slice *s);
void hd_attend_slope_sums(hd_cuda *c, const attend_of *t, const attend_grads *g, const slice *s);

/* The tiles of slopes that tiles of queries before this one have. */
static HD_BOTH inline size_t slice_begin(int tile, int width)
{
    size_t rising = tile < width ? tile : width, flat = tile - rising;
    return rising * (rising + 1) / 2 + flat * width;
}
DEVICE bf16 *slice_slopes(const slice &s, int item, int head, int tile)
{
    size_t first = slice_begin(s.tile, s.width), all = slice_begin(s.tile + s.tiles, s.width) - first;
    size_t unit = (size_t)(item - s.item) * s.heads + (head - s.head);
    return s.slopes + (unit * all + slice_begin(tile, s.width) - first) * ROWS * ROWS;
}

/* A tile of slopes as words of the left side of a product, [4 sixteens of queries][4 sixteens of keys][32
   lanes][4]; word m has key lane / 4 + m % 2 * 8 and queries lane % 4 * 2 + m / 2 * 8 and the next. */
DEVICE uint4 *slopes_at(bf16 *tile, int queries, int keys)
{
    return (uint4 *)tile + (queries * 4 + keys) * 32 + threadIdx.x % 32;
}

#endif
