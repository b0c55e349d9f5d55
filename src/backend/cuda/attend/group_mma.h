/* Products by single warps (mma.sync) for group.h, which says what the functions do: every card from
   compute capability 8.0 on. They are done when the functions return. */
#ifndef HD_BACKEND_CUDA_ATTEND_GROUP_MMA_H
#define HD_BACKEND_CUDA_ATTEND_GROUP_MMA_H

enum { GROUP_STAGES = MMA_STAGES };

typedef const bf16 *group_matrix;

DEVICE void copies_shown(void) {}

template <int D, bool TURNED> DEVICE group_matrix slabs_at(const bf16 *tile, int first, int rows)
{
    (void)rows;
    return tile + first * slab<D>; /* a multiple of eight rows: pieces are swapped alike */
}

template <int LEFT, int N> DEVICE void group_wait(float (&)[N][4]) {}

template <int D>
DEVICE void group_scores(float s[8][4], group_matrix a, int a_rows, group_matrix b, int b_rows,
                         bool more = false)
{
    constexpr int S = slab<D>;
    int own = threadIdx.x % GROUP / 32 * 16; /* the warp's first row */
    if (!more)
#pragma unroll
        for (int i = 0; i < 8; i++) s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0;
#pragma unroll
    for (int k = 0; k < D; k += 16) {
        uint32_t fa[4], fb[4];
        get_a<S>(fa, a + k / S * a_rows * S, own, k % S);
#pragma unroll
        for (int n = 0; n < 4; n++) {
            get_b<S>(fb, b + k / S * b_rows * S, 16 * n, k % S);
            multiply(s[2 * n], fa, fb[0], fb[1]);
            multiply(s[2 * n + 1], fa, fb[2], fb[3]);
        }
    }
}

template <int D>
DEVICE void group_scores(float s[8][4], const uint32_t a[D / 16][4], group_matrix b, int b_rows,
                         bool more = false)
{
    constexpr int S = slab<D>;
    if (!more)
#pragma unroll
        for (int i = 0; i < 8; i++) s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0;
#pragma unroll
    for (int k = 0; k < D; k += 16)
#pragma unroll
        for (int n = 0; n < 4; n++) {
            uint32_t fb[4];
            get_b<S>(fb, b + k / S * b_rows * S, 16 * n, k % S);
            multiply(s[2 * n], a[k / 16], fb[0], fb[1]);
            multiply(s[2 * n + 1], a[k / 16], fb[2], fb[3]);
        }
}

template <int D> DEVICE void group_add(float sum[D / 8][4], const uint32_t a[4][4], group_matrix b)
{
    constexpr int S = slab<D>;
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
        for (int n = 0; n < D; n += 16) {
            uint32_t fb[4];
            get_b_turned<S>(fb, b + n / S * GROUP_ROWS * S, n % S, 16 * k);
            multiply(sum[n / 8], a[k], fb[0], fb[1]);
            multiply(sum[n / 8 + 1], a[k], fb[2], fb[3]);
        }
}

#endif
