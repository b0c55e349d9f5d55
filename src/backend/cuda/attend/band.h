/* Products of 64 queries with the vectors of distances (attend.h), for long items. Query i and key j of a
   tile meet vector 63 + j - i of the tile: 127 vectors, which lie in two blocks of 64 rows of the table, the
   left and the right one; a tile on the main diagonal needs the left one alone. A band has the products with
   both, 64 queries by 128 numbers of 16 bits in shared memory, read along its diagonals; gradients of scores
   take the places of the products they come from, and so become those of the products. The blocks change
   sides from tile to tile: the right one of a tile is the left one of the next. Easy to get wrong: where a
   walk begins some products have no pair of query and key and must count for nothing. */
#ifndef HD_BACKEND_CUDA_ATTEND_BAND_H
#define HD_BACKEND_CUDA_ATTEND_BAND_H

#include <cuda_fp16.h>

#include "backend/cuda/attend/group.h"

enum { BAND_STRIDE = 2 * GROUP_ROWS + 8, BAND_CELLS = GROUP_ROWS * BAND_STRIDE };
enum { FAR_STAGES = 2, FAR_BLOCKS = 3 }; /* tiles, and blocks of vectors, under way or in use */

/* Bytes beside the tiles that a kernel needs for so many bands and FAR_BLOCKS blocks of vectors. */
static inline size_t band_room(int d, int bands)
{
    return (size_t)FAR_BLOCKS * GROUP_ROWS * d * sizeof(bf16) + (size_t)bands * BAND_CELLS * sizeof(uint16_t);
}

/* Starts the copy of 64 vectors of a head, from row `first` of its table on: rows before it are its first
   one, and those behind it belong to keys that nobody sees. */
template <int D, int THREADS> DEVICE void vectors_copy(bf16 *to, const attend_of &t, int head, int first)
{
    constexpr int S = slab<D>, EACH = THREADS / (D / 8);
    int mine = threadIdx.x / (D / 8), piece = threadIdx.x % (D / 8);
    const bf16 *p = (const bf16 *)t.distance.p + (size_t)head * t.span * t.distance.stride + piece * 8;
    to += piece * 8 / S * GROUP_ROWS * S + tile_at<S>(mine, piece % (S / 8));
    if (first >= 0 && first + GROUP_ROWS <= t.span) {
        const size_t step = EACH * t.distance.stride;
        p += (size_t)(first + mine) * t.distance.stride;
#pragma unroll
        for (int r = 0; r < GROUP_ROWS; r += EACH, p += step)
            if (r + EACH <= GROUP_ROWS || mine + r < GROUP_ROWS) copy16(to + r * S, p, true);
        return;
    }
#pragma unroll
    for (int r = 0; r < GROUP_ROWS; r += EACH)
        if (r + EACH <= GROUP_ROWS || mine + r < GROUP_ROWS)
            copy16(to + r * S, p + (size_t)min(max(first + mine + r, 0), t.span - 1) * t.distance.stride,
                   true);
}

/* The lane's first row in a group. */
DEVICE int band_row(void)
{
    return threadIdx.x % GROUP / 32 * 16 + threadIdx.x % 32 / 4;
}

/* Puts sums [64 queries, 64 vectors] into one side, as f16: finer than bf16, and scores are not that large.
 */
DEVICE void band_put(uint16_t *band, int side, const float m[8][4])
{
    uint16_t *at = band + band_row() * BAND_STRIDE + side * GROUP_ROWS + threadIdx.x % 4 * 2;
    const __half2 most = __float2half2_rn(65504.0f), least = __float2half2_rn(-65504.0f);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < 8; n++) {
            __half2 x = __floats2half2_rn(m[n][half * 2], m[n][half * 2 + 1]);
            x = __hmax2_nan(__hmin2_nan(x, most), least);
            *(__half2 *)(at + half * 8 * BAND_STRIDE + n * 8) = x;
        }
}

/* Where the lane's scores [64 queries, 64 keys] have their cells. */
typedef struct band_view {
    uint16_t *right[2], *left[2]; /* for the lane's two rows: numbers from column `edge` on, and before it */
    int edge[2];
} band_view;

DEVICE band_view band_at(uint16_t *band, int right)
{
    band_view v;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int i = band_row() + half * 8;
        v.edge[half] = i + 1 - threadIdx.x % 4 * 2;
        uint16_t *row = band + i * BAND_STRIDE - v.edge[half];
        v.right[half] = row + right * GROUP_ROWS, v.left[half] = row + (2 - right) * GROUP_ROWS;
    }
    return v;
}
DEVICE uint16_t *band_cell(const band_view &v, int half, int column)
{
    return (column >= v.edge[half] ? v.right[half] : v.left[half]) + column;
}

DEVICE float band_number(const uint16_t *cell)
{
    return __half2float(__ushort_as_half(*cell));
}

/* s += the products of each pair. */
DEVICE void band_add(float s[8][4], const band_view &v)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] += band_number(band_cell(v, x / 2, n * 8 + x % 2));
}

/* Gradients of the scores, in bf16, in their places. */
DEVICE void band_slopes(const float ds[8][4], const band_view &v)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++)
            *band_cell(v, x / 2, n * 8 + x % 2) = __bfloat16_as_ushort(__float2bfloat16(ds[n][x]));
}

/* One side as the left side of a product: [64 queries, 64 vectors]. */
DEVICE void band_left(uint32_t a[4][4], const uint16_t *band, int side)
{
    int lane = threadIdx.x % 32, own = threadIdx.x % GROUP / 32 * 16, which = lane / 8, row = lane % 8;
    const uint16_t *from = band + side * GROUP_ROWS;
#pragma unroll
    for (int k = 0; k < 4; k++)
        load_matrices(a[k], from + (own + row + (which & 1) * 8) * BAND_STRIDE + 16 * k + (which >> 1) * 8);
}

/* The warp's rows of one side, to [64 queries, 64 vectors] behind each other. */
DEVICE void band_save(bf16 *to, const uint16_t *band, int side)
{
    int lane = threadIdx.x % 32, row = threadIdx.x % GROUP / 32 * 16 + lane / 8, piece = lane % 8 * 8;
#pragma unroll
    for (int r = 0; r < 16; r += 4)
        *(uint4 *)(to + (row + r) * GROUP_ROWS + piece) =
            *(const uint4 *)(band + (row + r) * BAND_STRIDE + side * GROUP_ROWS + piece);
}

/* Products of a left block that belong to keys before the tile. */
DEVICE void band_clear(float m[8][4])
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++)
            if (n * 8 + (int)threadIdx.x % 4 * 2 + x % 2 + band_row() + x / 2 * 8 < GROUP_ROWS - 1)
                m[n][x] = 0;
}

/* Scores [64 queries, 64 keys] of keys before a query's local blocks; a: the lane's first query. */
DEVICE void hide_before(const attend_of &t, const place &p, float s[8][4], int a, int from)
{
    int column = from + threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int first = block_begin(t, a + half * 8 + p.shift);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (column + n * 8 + i < first) s[n][half * 2 + i] = -INFINITY;
    }
}

#endif
