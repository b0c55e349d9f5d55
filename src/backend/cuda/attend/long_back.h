/* What the backward kernels of long items share: what is saved of a query, and a tile's weights and gradients
   of scores from it. */
#ifndef HD_BACKEND_CUDA_ATTEND_LONG_BACK_H
#define HD_BACKEND_CUDA_ATTEND_LONG_BACK_H

#include "backend/cuda/attend/band.h"

/* A block is one group: three of them, which wait for nobody, fill a multiprocessor's registers. */
enum { ROWS = GROUP_ROWS, THREADS = GROUP, WARPS = THREADS / 32 };

typedef struct saved { /* scratch */
    float2 *pair;      /* [Rq,H]: the logarithm of the sum, in powers of two, and delta */
    uint64_t *key;     /* [Rq]: of the dropout draws */
} saved;

/* What the keys' kernel copies of a tile of queries beside the rows. */
typedef struct beside {
    union {
        float2 pair[ROWS];
        float4 two[ROWS / 2];
    };
    uint64_t key[ROWS];
} beside;

/* q and dy of 64 queries behind each other, and what goes beside them. */
template <int D>
DEVICE void copy_queries(const attend_of &t, const attend_grads &g, const saved &kept, const place &p,
                         int head, int a, bf16 *q, beside *b)
{
    int me = threadIdx.x, real = p.tq - a;
    size_t row = p.qrow + a, column = (size_t)head * D;
    slabs_copy<D, ROWS, THREADS>(q, t.q, row, column, real);
    slabs_copy<D, ROWS, THREADS>(q + ROWS * D, g.dy, row, column, real);
    if (me >= ROWS) return;
    bool is = me < real;
    size_t mine = row + (is ? me : 0);
    copy_few<8>(&b->pair[me], kept.pair + mine * t.heads + head, is);
    if (t.drops) copy_few<8>(&b->key[me], kept.key + mine, is);
}

/* The two rows of queries that a lane holds. */
typedef struct two_rows {
    float2 pair[2];
    uint64_t key[2];
} two_rows;

/* s: in scores, out weights. */
DEVICE void query_weights(const attend_of &t, float s[8][4], const two_rows &r)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = power_of_two(fmaf(s[n][x], c, -r.pair[x / 2].x));
}

/* ds: in dy v^T, out gradients of the scores. */
template <bool DROPS>
DEVICE void query_slopes(const attend_of &t, const place &p, const float s[8][4], float ds[8][4], int from,
                         const two_rows &r)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < 8; n++) {
            int j = from + n * 8 + threadIdx.x % 4 * 2;
            uint32_t kept = DROPS ? kept_pair(t.draw, r.key[half], draw_column(p.head, j)) : 3;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float d = ds[n][half * 2 + i];
                if (DROPS) d = kept >> i & 1 ? d * t.draw.scale : 0;
                ds[n][half * 2 + i] = s[n][half * 2 + i] * (d - r.pair[half].y);
            }
        }
}

/* What the queries' kernel does in one launch: tiles of queries of some heads and items. `bands` gets the
   gradients of the products with the vectors of distances, [64 queries, 64 vectors] for every tile of keys
   that a tile of queries meets, the nearest distances first; NULL: nobody wants them. */
typedef struct slice {
    int item, items, head, heads, tile, tiles, width; /* width: blocks of vectors that a query may meet */
    bf16 *bands;
} slice;

/* The blocks of tiles before this one. */
static HD_BOTH inline size_t slice_begin(int tile, int width)
{
    size_t rising = tile < width ? tile : width, flat = tile - rising;
    return rising * (rising + 1) / 2 + flat * width;
}
DEVICE bf16 *slice_bands(const slice &s, int item, int head, int tile)
{
    size_t first = slice_begin(s.tile, s.width), all = slice_begin(s.tile + s.tiles, s.width) - first;
    size_t unit = (size_t)(item - s.item) * s.heads + (head - s.head);
    return s.bands + (unit * all + slice_begin(tile, s.width) - first) * ROWS * ROWS;
}

/* dq, and with scratch for bands (hd_attend_bands_bytes) the gradients of the vectors of distances. */
void hd_attend_long_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, void *bands);

/* Gradients of the vectors of distances from the bands of slices (long_distance.cu). Every item has as many
   keys as queries, every head its own. room: scratch of so many bytes. `next` makes the slice after `s`, the
   first one after zeros; false: there is none. */
size_t hd_attend_bands_bytes(const attend_of *t);
bool hd_attend_bands_next(const attend_of *t, void *room, slice *s);
void hd_attend_bands_sum(hd_cuda *c, const attend_of *t, const attend_grads *g, void *room, const slice *s);

#endif
