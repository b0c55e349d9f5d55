/* Products by groups of four warps, as long items use them: 128 threads multiply 64 rows. The right side lies
   in shared memory, the left one there or in registers, and sums lie as those of mma.h: warp w of a
   group has rows 16 w .. 16 w + 15. Cards of compute capability 9.0 have instructions for whole groups
   (group_wgmma.h), all others multiply warp by warp (group_mma.h); both files have the same
   functions:

       group_matrix   a matrix of slabs as products take it
       slabs_at       makes one of ROWS rows, from row `first` on; TURNED: for group_add, first 0, 64 rows
       copies_shown   what was copied can be read by products; before the barrier
       group_scores   s [64, 64] = 64 rows of a times 64 rows of b, turned, over all columns; a lies in
                      shared memory or is held in registers (group_hold); `more`: added to s
       group_add      sum [64, D] += a [64, 64] times the 64 rows of b
       group_wait     all but the last LEFT products that began are done; x is what one of them wrote

   A product may run on while the threads do other work: until its group_wait its registers belong to it. */
#ifndef HD_BACKEND_CUDA_ATTEND_GROUP_H
#define HD_BACKEND_CUDA_ATTEND_GROUP_H

#include "backend/cuda/attend/tile.h"

enum { GROUP = 128, GROUP_ROWS = 64 };

/* Tiles under way or in use at a time, GROUP_STAGES in the kernels: two where all of shared memory may be 99
   KiB. The host may give room for more than a kernel uses: kernels for 8.0 run on a card of 9.0, too. */
enum { WGMMA_STAGES = 3, MMA_STAGES = 2 };
static inline size_t stages_on(const hd_cuda *c)
{
    return c->warpgroups ? WGMMA_STAGES : MMA_STAGES;
}

/* -- matrices in shared memory: slabs of 64 columns (32 where there are no more) behind each other, each as
   tile_at has it, which is how the instructions read them. They begin at a multiple of 1024 bytes. -- */

template <int D> constexpr int slab = D < 64 ? D : 64;

/* Starts the copy of ROWS rows of D columns by so many threads; zeros from row `real` on. */
template <int D, int ROWS, int THREADS>
DEVICE void slabs_copy(bf16 *to, const mat &from, size_t row, size_t column, int real)
{
    constexpr int S = slab<D>, EACH = THREADS / (D / 8); /* a multiple of eight: columns are swapped alike */
    int mine = threadIdx.x / (D / 8), piece = threadIdx.x % (D / 8);
    const bf16 *p = (const bf16 *)from.p + (row + mine) * from.stride + column + piece * 8;
    to += piece * 8 / S * ROWS * S + tile_at<S>(mine, piece % (S / 8));
    if (real >= ROWS) { /* as a rule: few instructions for addresses */
        const size_t step = EACH * from.stride;
#pragma unroll
        for (int r = 0; r < ROWS; r += EACH, p += step)
            if (r + EACH <= ROWS || mine + r < ROWS) copy16(to + r * S, p, true);
        return;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r += EACH)
        if (r + EACH <= ROWS || mine + r < ROWS) {
            bool is = mine + r < real;
            copy16(to + r * S, p + (is ? r : -mine) * (ptrdiff_t)from.stride, is);
        }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#include "backend/cuda/attend/group_wgmma.h"
#else
#include "backend/cuda/attend/group_mma.h"
#endif

/* The warp's rows of a matrix of 64 rows, for products that have it on the left again and again: shared
   memory is read less. */
template <int D> DEVICE void group_hold(uint32_t a[D / 16][4], const bf16 *tile)
{
    constexpr int S = slab<D>;
#pragma unroll
    for (int k = 0; k < D; k += 16)
        get_a<S>(a[k / 16], tile + k / S * GROUP_ROWS * S, threadIdx.x % GROUP / 32 * 16, k % S);
}

/* Sums [64, 64] as the left side of the next product. */
DEVICE void group_left(uint32_t a[4][4], const float s[8][4])
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float(*x)[4] = s + 2 * k;
        a[k][0] = pack2(x[0][0], x[0][1]), a[k][1] = pack2(x[0][2], x[0][3]);
        a[k][2] = pack2(x[1][0], x[1][1]), a[k][3] = pack2(x[1][2], x[1][3]);
    }
}

/* Scores [64 queries, 64 keys] that a query does not see; a is the lane's first query, `from` the first key.
 */
DEVICE void group_hide(const attend_of &t, const place &p, float s[8][4], int a, int from)
{
    int column = threadIdx.x % 4 * 2; /* a sign, or -1 would be a large number below */
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int last = t.causal ? min(p.tk - 1, a + half * 8 + p.shift) : p.tk - 1;
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (from + n * 8 + column + i > last) s[n][half * 2 + i] = -INFINITY;
    }
}

#endif
