/* Products of 64 queries with the vectors of distances (attend.h), for long items. Query i and key j of a
   tile meet vector 63 + j - i of the tile: 127 vectors, which lie in two blocks of 64 rows of the table, the
   left and the right one; a tile on the main diagonal needs the left one alone. A band has the products with
   both, 64 queries by 128 numbers of 16 bits in shared memory, read along its diagonals; gradients of scores,
   put into the places of the products they come from, are those of the products. The blocks change sides from
   tile to tile: the right one of a tile is the left one of the next. Easy to get wrong: where a walk begins
   some products have no pair of query and key and must count for nothing. */
#ifndef HD_BACKEND_CUDA_ATTEND_BAND_H
#define HD_BACKEND_CUDA_ATTEND_BAND_H

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

/* Where sixteen columns of a side begin in the warp's rows. The rows of each warp are turned by 16 more than
   those of the one before, so that the places of a lane's scores do not depend on its warp. */
DEVICE int band_column(int side, int sixteen)
{
    return (side * GROUP_ROWS + threadIdx.x % GROUP / 32 * 16 + sixteen * 16) % (2 * GROUP_ROWS);
}

/* Puts sums [64 queries, 16 vectors], as f16: finer than bf16, and scores are not that large. */
DEVICE void band_put16(uint16_t *at, const float m[2][4])
{
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < 2; n++)
            *(uint32_t *)(at + half * 8 * BAND_STRIDE + n * 8) =
                pack2_half(m[n][half * 2], m[n][half * 2 + 1]);
}

/* Puts sums [64 queries, 64 vectors] into one side. */
DEVICE void band_put(uint16_t *band, int side, const float m[8][4])
{
    uint16_t *at = band + band_row() * BAND_STRIDE + threadIdx.x % 4 * 2;
#pragma unroll
    for (int k = 0; k < 4; k++) band_put16(at + band_column(side, k), m + 2 * k);
}

/* Where the lane's scores [64 queries, 64 keys] have their cells. */
typedef struct band_view {
    uint16_t *row[2];           /* column 0 of the lane's two rows */
    uint16_t *low[2], *high[2]; /* the first of even and odd columns: of columns 0 .. 7 of the first row, 8 ..
                                   15 of the second; `last`: of columns 0 .. 7 of the second */
    uint16_t *last;
} band_view;

DEVICE band_view band_at(uint16_t *band, int right)
{
    band_view v;
    int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2, turn = right ? 0 : 2 * GROUP_ROWS;
    v.row[0] = band + band_row() * BAND_STRIDE + (right ? GROUP_ROWS - 1 : -1) - row + column;
    v.row[1] = v.row[0] + 8 * BAND_STRIDE - 8;
#pragma unroll
    for (int x = 0; x < 2; x++) {
        int back = column + x > row ? 0 : turn; /* before the ring's first place */
        v.low[x] = v.row[0] + back, v.high[x] = v.row[1] + back;
    }
    v.last = v.row[1] + turn;
    return v;
}
DEVICE uint16_t *band_cell(const band_view &v, int half, int column)
{
    if (column / 8 == half) return (half ? v.high : v.low)[column % 2] + column;
    return (half && column < 8 ? v.last : v.row[half]) + column;
}

DEVICE float band_number(const uint16_t *cell)
{
    return __half2float(__ushort_as_half(*cell));
}

/* s = the products of each pair. */
DEVICE void band_get(float s[8][4], const band_view &v)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = band_number(band_cell(v, x / 2, n * 8 + x % 2));
}

/* One side as the left side of a product: [64 queries, 64 vectors]. */
DEVICE void band_left(uint32_t a[4][4], const uint16_t *band, int side)
{
    int lane = threadIdx.x % 32, own = threadIdx.x % GROUP / 32 * 16, which = lane / 8, row = lane % 8;
    const uint16_t *from = band + (own + row + (which & 1) * 8) * BAND_STRIDE + (which >> 1) * 8;
#pragma unroll
    for (int k = 0; k < 4; k++) load_matrices(a[k], from + band_column(side, k));
}

#endif
