/* Tiles of bf16 in shared memory and their fragments for products of 16 x 8 x 16. In a fragment of sums lane
   l holds rows l/4 and l/4 + 8, columns 2 (l%4) and the next. Rows are W numbers long; their pieces of eight
   are swapped by row so that eight rows of one column lie in different banks. */
#ifndef HD_BACKEND_CUDA_ATTEND_TILE_H
#define HD_BACKEND_CUDA_ATTEND_TILE_H

#include "backend/cuda/attend/attend.h"
#include "backend/cuda/attend/mma.h"

#define LOG2_E 1.4426950408889634f
#define LN_2   0.6931471805599453f

static inline int up16(int n)
{
    return (n + 15) / 16 * 16;
}

template <int W> DEVICE int tile_at(int row, int piece)
{
    return row * W + (piece ^ (W == 32 ? row >> 1 & 3 : row & 7)) * 8;
}

/* Starts the copy of rows [0, rows) of a matrix, zeros from row `real` on. Not unrolled: addresses would take
   the registers that the sums need. */
template <int W>
DEVICE void tile_copy(bf16 *to, const bf16 *from, size_t stride, int real, int rows, int me, int threads)
{
#pragma unroll 1
    for (int i = me; i < rows * (W / 8); i += threads) {
        int row = i / (W / 8), piece = i % (W / 8);
        copy16(to + tile_at<W>(row, piece), from + (row < real ? row : 0) * stride + piece * 8, row < real);
    }
}

/* a of 16 rows m and 16 columns k; `turned` is stored with a row per k. */
template <int W> DEVICE void get_a(uint32_t a[4], const bf16 *tile, int m, int k)
{
    int lane = threadIdx.x % 32, which = lane / 8, row = lane % 8;
    load_matrices(a, tile + tile_at<W>(m + row + (which & 1) * 8, k / 8 + (which >> 1)));
}
template <int W> DEVICE void get_a_turned(uint32_t a[4], const bf16 *tile, int m, int k)
{
    int lane = threadIdx.x % 32, which = lane / 8, row = lane % 8;
    load_matrices_turned(a, tile + tile_at<W>(k + row + (which >> 1) * 8, m / 8 + (which & 1)));
}
/* b of 16 rows k and 2 x 8 columns n, stored with a row per n; `turned` with a row per k. */
template <int W> DEVICE void get_b(uint32_t b[4], const bf16 *tile, int n, int k)
{
    int lane = threadIdx.x % 32, which = lane / 8, row = lane % 8;
    load_matrices(b, tile + tile_at<W>(n + row + (which >> 1) * 8, k / 8 + (which & 1)));
}
template <int W> DEVICE void get_b_turned(uint32_t b[4], const bf16 *tile, int n, int k)
{
    int lane = threadIdx.x % 32, which = lane / 8, row = lane % 8;
    load_matrices_turned(b, tile + tile_at<W>(k + row + (which & 1) * 8, n / 8 + (which >> 1)));
}

DEVICE uint32_t pack2(float low, float high)
{
    __nv_bfloat162 h = __floats2bfloat162_rn(low, high);
    return *(uint32_t *)&h;
}
DEVICE float2 unpack2(uint32_t w)
{
    return __bfloat1622float2(*(__nv_bfloat162 *)&w);
}

DEVICE float quad_sum(float x)
{
    x += __shfl_xor_sync(FULL_WARP, x, 1);
    return x + __shfl_xor_sync(FULL_WARP, x, 2);
}
DEVICE float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 1));
    return fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 2));
}

/* Lane i of four gets word i of each of the four. */
DEVICE void quad_turn(uint32_t w[4])
{
    bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        uint32_t x = __shfl_xor_sync(FULL_WARP, odd ? w[i] : w[i + 1], 1);
        if (odd)
            w[i] = x;
        else
            w[i + 1] = x;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        uint32_t x = __shfl_xor_sync(FULL_WARP, upper ? w[i] : w[i + 2], 2);
        if (upper)
            w[i] = x;
        else
            w[i + 2] = x;
    }
}

/* Writes or adds 16 rows of sums, times a factor for the lane's two rows, to the first `real` rows of `to`,
   which has the first `cols` columns. */
template <int D>
DEVICE void put_rows(bf16 *to, size_t stride, int real, const float sum[D / 8][4], float low, float high,
                     bool add, int cols = D)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int row = lane / 4 + half * 8;
        float factor = half ? high : low;
#pragma unroll
        for (int n = 0; n < D / 8; n += 4) {
            uint32_t w[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                w[i] = pack2(sum[n + i][half * 2] * factor, sum[n + i][half * 2 + 1] * factor);
            quad_turn(w);
            if (row >= real || (n + lane % 4) * 8 >= cols) continue;
            uint4 *at = (uint4 *)(to + row * stride + (n + lane % 4) * 8);
            if (add) {
                uint4 old = *at;
                const uint32_t was[4] = {old.x, old.y, old.z, old.w};
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float2 x = unpack2(was[i]), d = unpack2(w[i]);
                    w[i] = pack2(x.x + d.x, x.y + d.y);
                }
            }
            *at = make_uint4(w[0], w[1], w[2], w[3]);
        }
    }
}

/* The lane's two logarithms of sums, from the maximum in powers of two; rows a and a + 8 of the item. */
DEVICE void put_logarithms(const mat &lse, const place &p, int a, float top_low, float low, float top_high,
                           float high)
{
    if (threadIdx.x % 4) return;
    float *to = (float *)lse.p + (p.qrow + a) * lse.stride + p.head;
    if (a < p.tq) *to = low > 0 ? (top_low + log2f(low)) * LN_2 : INFINITY;
    if (a + 8 < p.tq) to[8 * lse.stride] = high > 0 ? (top_high + log2f(high)) * LN_2 : INFINITY;
}

/* Which of columns j, j + 1 (j even) of a row are kept: bits 0 and 1. */
DEVICE uint32_t kept_pair(const draw_of &d, uint64_t key, uint32_t column)
{
    uint32_t h = hd_rng_mix(key, column / 2);
    return ((h & 0xFFFF) >= d.below ? 1u : 0u) | ((h >> 16) >= d.below ? 2u : 0u);
}

/* The keys of the draws of 16 rows from `row` on, for the lane's two; rows from `real` on get none. */
DEVICE void draw_keys(const draw_of &d, size_t row, int real, uint64_t *low, uint64_t *high)
{
    int lane = threadIdx.x % 32;
    unsigned long long key = lane < 16 && lane < real ? draw_key(d, (uint32_t)(row + lane)) : 0;
    *low = __shfl_sync(FULL_WARP, key, lane / 4);
    *high = __shfl_sync(FULL_WARP, key, lane / 4 + 8);
}

/* s [16, 16 n] = a's 16 rows from m on times b's rows 0 .. 16 n - 1, turned; both stored by row. */
template <int D, int TILES>
DEVICE void multiply_rows(float s[2 * TILES][4], const bf16 *a, int m, const bf16 *b, int tiles)
{
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0;
#pragma unroll
    for (int k = 0; k < D; k += 16) {
        uint32_t fa[4], fb[4];
        get_a<D>(fa, a, m, k);
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            if (n >= tiles) continue;
            get_b<D>(fb, b, 16 * n, k);
            multiply(s[2 * n], fa, fb[0], fb[1]);
            multiply(s[2 * n + 1], fa, fb[2], fb[3]);
        }
    }
}

/* sum [16, D] += a [16, 16] times rows k .. k + 15 of b, stored by row. */
template <int D> DEVICE void multiply_add(float sum[D / 8][4], const uint32_t a[4], const bf16 *b, int k)
{
#pragma unroll
    for (int n = 0; n < D; n += 16) {
        uint32_t fb[4];
        get_b_turned<D>(fb, b, n, k);
        multiply(sum[n / 8], a, fb[0], fb[1]);
        multiply(sum[n / 8 + 1], a, fb[2], fb[3]);
    }
}

#endif
