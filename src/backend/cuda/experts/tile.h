/* A tile of 128 x 128 sums of bf16 products on tensor cores: four warps of 64 x 64 each, both sides copied
   ahead of the products into stages of shared memory. A side is read as it lies, turned or not; rows of 16
   bytes more than they have keep loads of matrices from meeting in one bank. */
#ifndef HD_BACKEND_CUDA_EXPERTS_TILE_H
#define HD_BACKEND_CUDA_EXPERTS_TILE_H

#include "backend/cuda/attend/mma.h"

enum { TILE = 128, DEPTH = 32, STAGES = 4, TILE_THREADS = 128, APART = 8 };

/* i of the result, k of the sum: at p[i * stride + k], turned at p[k * stride + i]. A multiple of eight
   numbers, at 16 bytes. */
typedef struct side {
    const bf16 *p;
    size_t stride;
    int rows, depth; /* there are; what lies beyond counts as 0 */
} side;

template <bool TURNED> constexpr int wide = (TURNED ? TILE : DEPTH) + APART;
template <bool TURNED> constexpr int tile_size = (TURNED ? DEPTH : TILE) * wide<TURNED>;
template <bool A, bool B> constexpr int tile_bytes = STAGES *(tile_size<A> + tile_size<B>)*2;

template <bool TURNED> DEVICE void copy_tile(bf16 *to, const side &s, int i0, int k0)
{
    constexpr int PIECES = (TURNED ? TILE : DEPTH) / 8;
#pragma unroll
    for (int n = 0; n < TILE * DEPTH / 8 / TILE_THREADS; n++) {
        int piece = n * TILE_THREADS + (int)threadIdx.x, line = piece / PIECES, at = piece % PIECES * 8;
        int i = i0 + (TURNED ? at : line), k = k0 + (TURNED ? line : at);
        bool real = i < s.rows && k < s.depth;
        const bf16 *from = real ? s.p + (TURNED ? (size_t)k * s.stride + i : (size_t)i * s.stride + k) : s.p;
        copy16(to + line * wide<TURNED> + at, from, real);
    }
}

/* 16 rows by 16 of the sum as a left side; as a right one, two of 8 columns. */
template <bool TURNED> DEVICE void left_of(uint32_t r[4], const bf16 *tile, int i, int k)
{
    int lane = (int)threadIdx.x % 32, q = lane / 8, row = q % 2 * 8, deep = q / 2 * 8;
    if constexpr (TURNED)
        load_matrices_turned(r, tile + (k + deep + lane % 8) * wide<true> + i + row);
    else
        load_matrices(r, tile + (i + row + lane % 8) * wide<false> + k + deep);
}
template <bool TURNED> DEVICE void right_of(uint32_t r[4], const bf16 *tile, int i, int k)
{
    int lane = (int)threadIdx.x % 32, q = lane / 8, row = q / 2 * 8, deep = q % 2 * 8;
    if constexpr (TURNED)
        load_matrices_turned(r, tile + (k + deep + lane % 8) * wide<true> + i + row);
    else
        load_matrices(r, tile + (i + row + lane % 8) * wide<false> + k + deep);
}

/* sum = the tile at (i0, j0) of a's i and b's i over all k. */
template <bool A, bool B>
DEVICE void tile_product(float sum[4][8][4], bf16 *room, const side &a, const side &b, int i0, int j0)
{
    constexpr int STAGE = tile_size<A> + tile_size<B>;
    int warp = (int)threadIdx.x / 32, row = warp / 2 * 64, col = warp % 2 * 64;
    int steps = (a.depth + DEPTH - 1) / DEPTH;
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 8; n++) sum[m][n][0] = sum[m][n][1] = sum[m][n][2] = sum[m][n][3] = 0;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        copy_tile<A>(room + s * STAGE, a, i0, s * DEPTH);
        copy_tile<B>(room + s * STAGE + tile_size<A>, b, j0, s * DEPTH);
        copy_commit();
    }
    for (int s = 0; s < steps; s++) {
        copy_wait<STAGES - 2>();
        __syncthreads();
        int ahead = s + STAGES - 1;
        bf16 *to = room + ahead % STAGES * STAGE;
        copy_tile<A>(to, a, i0, ahead * DEPTH);
        copy_tile<B>(to + tile_size<A>, b, j0, ahead * DEPTH);
        copy_commit();
        const bf16 *left = room + s % STAGES * STAGE, *right = left + tile_size<A>;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            uint32_t fa[4][4], fb[4][4];
#pragma unroll
            for (int m = 0; m < 4; m++) left_of<A>(fa[m], left, row + 16 * m, k);
#pragma unroll
            for (int n = 0; n < 4; n++) right_of<B>(fb[n], right, col + 16 * n, k);
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int n = 0; n < 8; n++)
                    multiply(sum[m][n], fa[m], fb[n / 2][n % 2 * 2], fb[n / 2][n % 2 * 2 + 1]);
        }
    }
    copy_wait<0>();
}

DEVICE void put_two(bf16 *p, float x, float y, bool add)
{
    __nv_bfloat162 *to = (__nv_bfloat162 *)p;
    if (add) x += __low2float(*to), y += __high2float(*to);
    *to = __floats2bfloat162_rn(x, y);
}
DEVICE void put_two(float *p, float x, float y, bool add)
{
    float2 *to = (float2 *)p;
    if (add) x += to->x, y += to->y;
    *to = make_float2(x, y);
}

/* The tile to rows below `rows` and columns below `cols`, which are even, of y. */
template <typename T>
DEVICE void tile_out(T *y, size_t stride, const float sum[4][8][4], int i0, int j0, int rows, int cols,
                     bool add)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    int row = i0 + warp / 2 * 64 + lane / 4, col = j0 + warp % 2 * 64 + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int i = row + 16 * m + 8 * half;
            if (i >= rows) continue;
#pragma unroll
            for (int n = 0; n < 8; n++)
                if (col + 8 * n < cols)
                    put_two(y + (size_t)i * stride + col + 8 * n, sum[m][n][2 * half],
                            sum[m][n][2 * half + 1], add);
        }
}

#endif
