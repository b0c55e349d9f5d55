/* Products by warpgroups (wgmma) for group.h, which says what the functions do: compute capability 9.0
   alone. Both sides come straight from shared memory, or the left one from registers; a product is under way
   from group_begin on. */
#ifndef HD_BACKEND_CUDA_ATTEND_GROUP_WGMMA_H
#define HD_BACKEND_CUDA_ATTEND_GROUP_WGMMA_H

enum { GROUP_STAGES = WGMMA_STAGES };

typedef uint32_t group_matrix; /* the lower half of a descriptor; the upper one is constant, upper<D> */

/* What was copied can be read by products; before the barrier. */
DEVICE void copies_shown(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* How a product is told of a matrix of `rows` rows, from row `first` on: the lower half of it. The upper half
   is constant, upper<D>. */
template <int D, bool TURNED> DEVICE uint32_t slabs_at(const bf16 *tile, int first, int rows)
{
    uint32_t between = TURNED ? rows * slab<D> / 8 : 1; /* slabs, in 16 bytes */
    return (shared_at(tile + first * slab<D>) & 0x3FFFF) / 16 | between << 16;
}
/* Eight rows, in 16 bytes, and how columns are swapped. */
template <int D> constexpr uint32_t upper = slab<D> | (slab<D> == 64 ? 1u : 2u) << 30;

/* -- in flight -- */

DEVICE void group_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
DEVICE void group_end(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* All but the last LEFT that ended are done; x is what one of them wrote. */
template <int LEFT, int N> DEVICE void group_wait(float (&x)[N][4])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) asm volatile("" : "+f"(x[n][i])::"memory");
}

/* -- products of 64 x N x 16 -- */

#define SUM4(x, n)                 "+f"(x[n][0]), "+f"(x[n][1]), "+f"(x[n][2]), "+f"(x[n][3])
#define SUM16(x, n)                SUM4(x, n), SUM4(x, n + 1), SUM4(x, n + 2), SUM4(x, n + 3)
#define R8(a, b, c, d, e, f, g, h) "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define R16                    \
    R8(0, 1, 2, 3, 4, 5, 6, 7) \
    "," R8(8, 9, 10, 11, 12, 13, 14, 15)
#define R32 R16 "," R8(16, 17, 18, 19, 20, 21, 22, 23) "," R8(24, 25, 26, 27, 28, 29, 30, 31)
#define R64                                                                                   \
    R32 "," R8(32, 33, 34, 35, 36, 37, 38, 39) "," R8(40, 41, 42, 43, 44, 45, 46, 47) "," R8( \
        48, 49, 50, 51, 52, 53, 54, 55) "," R8(56, 57, 58, 59, 60, 61, 62, 63)

/* s [64, 64] = or += a [64, 16] b [64, 16]^T, both in shared memory */
template <int D> DEVICE void multiply_shared(float s[8][4], uint32_t a, uint32_t b, int add)
{
    asm volatile("{.reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %34, 0;\n"
                 "mov.b64 a, {%32, %35}; mov.b64 b, {%33, %35};\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" R32 "}, a, b, p, 1, 1, 0, 0;}\n"
                 : SUM16(s, 0), SUM16(s, 4)
                 : "r"(a), "r"(b), "r"(add), "n"(upper<D>));
}

/* The same with a in registers as for `multiply`. */
template <int D> DEVICE void multiply_held(float s[8][4], const uint32_t a[4], uint32_t b, int add)
{
    asm volatile("{.reg .pred p; .reg .b64 b; setp.ne.b32 p, %37, 0; mov.b64 b, {%36, %38};\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" R32
                 "}, {%32,%33,%34,%35}, b, p, 1, 1, 0;}\n"
                 : SUM16(s, 0), SUM16(s, 4)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(add), "n"(upper<D>));
}

/* sum [64, N] += a [64, 16] b [16, N]; a in registers as for `multiply`, b in shared memory, columns of a
   matrix of D. */
template <int D, int N> DEVICE void multiply_turned(float sum[N / 8][4], const uint32_t a[4], uint32_t b)
{
    static_assert(N == 32 || N == 64 || N == 128, "no such product");
#define LEFT_SIDE(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
    if constexpr (N == 32)
        asm volatile("{.reg .pred p; .reg .b64 b; setp.eq.b32 p, 0, 0; mov.b64 b, {%20, %21};\n"
                     "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {" R16
                     "}, {%16,%17,%18,%19}, b, p, 1, 1, 1;}\n"
                     : SUM16(sum, 0)
                     : LEFT_SIDE(a), "r"(b), "n"(upper<D>));
    else if constexpr (N == 64)
        asm volatile("{.reg .pred p; .reg .b64 b; setp.eq.b32 p, 0, 0; mov.b64 b, {%36, %37};\n"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" R32
                     "}, {%32,%33,%34,%35}, b, p, 1, 1, 1;}\n"
                     : SUM16(sum, 0), SUM16(sum, 4)
                     : LEFT_SIDE(a), "r"(b), "n"(upper<D>));
    else
        asm volatile("{.reg .pred p; .reg .b64 b; setp.eq.b32 p, 0, 0; mov.b64 b, {%68, %69};\n"
                     "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" R64
                     "}, {%64,%65,%66,%67}, b, p, 1, 1, 1;}\n"
                     : SUM16(sum, 0), SUM16(sum, 4), SUM16(sum, 8), SUM16(sum, 12)
                     : LEFT_SIDE(a), "r"(b), "n"(upper<D>));
#undef LEFT_SIDE
}

#undef SUM4
#undef SUM16
#undef R8
#undef R16
#undef R32
#undef R64

/* s [64, 64] = 64 rows of a times 64 rows of b, turned, over all columns; a and b by slabs_at of matrices of
   so many rows. One product: begins and ends. */
template <int D>
DEVICE void group_scores(float s[8][4], uint32_t a, int a_rows, uint32_t b, int b_rows, bool more = false)
{
    constexpr int S = slab<D>;
    group_begin();
#pragma unroll
    for (int k = 0; k < D; k += 16)
        multiply_shared<D>(s, a + (k / S * a_rows * S + k % S) / 8, b + (k / S * b_rows * S + k % S) / 8,
                           k > 0 || more);
    group_end();
}

template <int D>
DEVICE void group_scores(float s[8][4], const uint32_t a[D / 16][4], uint32_t b, int b_rows,
                         bool more = false)
{
    constexpr int S = slab<D>;
    group_begin();
#pragma unroll
    for (int k = 0; k < D; k += 16)
        multiply_held<D>(s, a[k / 16], b + (k / S * b_rows * S + k % S) / 8, k > 0 || more);
    group_end();
}

/* sum [64, D] += a [64, 16] b [16, D], from column FIRST on. */
template <int D, int FIRST = 0>
DEVICE void multiply_columns(float sum[D / 8][4], const uint32_t a[4], uint32_t b)
{
    constexpr int LEFT = D - FIRST, N = LEFT >= 128 ? 128 : LEFT >= 64 ? 64 : 32;
    multiply_turned<D, N>(sum + FIRST / 8, a, b + FIRST * GROUP_ROWS / 8);
    if constexpr (FIRST + N < D) multiply_columns<D, FIRST + N>(sum, a, b);
}

/* sum [64, D] += a [64, 64] times the 64 rows of b, of which slabs_at was told that they are turned. */
template <int D> DEVICE void group_add(float sum[D / 8][4], const uint32_t a[4][4], uint32_t b)
{
    group_begin();
#pragma unroll
    for (int k = 0; k < 4; k++) multiply_columns<D>(sum, a[k], b + k * 16 * slab<D> / 8);
    group_end();
}

#endif
