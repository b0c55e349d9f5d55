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

#include <cuda_fp16.h>

#include "backend/cuda/attend/tile.h"

enum { GROUP = 128, GROUP_ROWS = 64 };

/* Tiles under way or in use at a time, at most GROUP_STAGES in the kernels: two where all of shared memory
   may be 99 KiB. The host may give room for more than a kernel uses: kernels for 8.0 run on a card of 9.0,
   too. */
enum { WGMMA_STAGES = 3, MMA_STAGES = 2 };
static inline size_t stages_on(const hd_cuda *c, int most)
{
    int stages = c->warpgroups ? WGMMA_STAGES : MMA_STAGES;
    return (size_t)(stages < most ? stages : most);
}

/* -- matrices in shared memory: slabs of 64 columns (32 where those do not come out even) behind each other,
   each as tile_at has it, which is how the instructions read them. They begin at a multiple of 1024 bytes. --
 */

template <int D> constexpr int slab = D % 64 ? 32 : 64;

/* Starts the copy of ROWS rows of D columns by so many threads; zeros from row `real` and column `cols` on.
 */
template <int D, int ROWS, int THREADS>
DEVICE void slabs_copy(bf16 *to, const mat &from, size_t row, size_t column, int real, int cols = D)
{
    constexpr int EVEN = D & -D, C = EVEN < 128 ? EVEN : 128; /* columns at a time */
    constexpr int S = slab<D>, EACH = THREADS / (C / 8); /* a multiple of eight: columns are swapped alike */
    int mine = threadIdx.x / (C / 8), piece = threadIdx.x % (C / 8);
    const bf16 *p = (const bf16 *)from.p + (row + mine) * from.stride + column + piece * 8;
    to += piece * 8 / S * ROWS * S + tile_at<S>(mine, piece % (S / 8));
    if (real >= ROWS && cols >= D) { /* as a rule: few instructions for addresses */
        const size_t step = EACH * from.stride;
#pragma unroll
        for (int r = 0; r < ROWS; r += EACH, p += step)
            if (r + EACH <= ROWS || mine + r < ROWS)
#pragma unroll
                for (int c = 0; c < D; c += C) copy16(to + c * ROWS + r * S, p + c, true);
        return;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r += EACH)
        if (r + EACH <= ROWS || mine + r < ROWS)
#pragma unroll
            for (int c = 0; c < D; c += C) {
                bool is = mine + r < real && c + piece * 8 < cols;
                copy16(to + c * ROWS + r * S, is ? p + r * from.stride + c : (const bf16 *)from.p, is);
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

/* What a kernel is made for beside a causal mask. MORE: windows, local blocks, a cap, fewer columns, told
   apart while it runs. */
enum { PLAIN = 0, DROPS = 1, FAR = 2, MORE = 4 };

/* Keys [lo, hi) that queries from `first` to `last` may see, as key positions. */
template <int WITH> DEVICE reach keys_of(const attend_of &t, const place &p, int first, int last)
{
    reach r = {0, t.causal ? max(0, min(p.tk, last + 1)) : p.tk};
    if (WITH & FAR) r.lo = block_begin(t, first);
    if (WITH & MORE) r.lo = first_key(t, first), r.hi = max(0, last_key(t, p, last) + 1);
    return r;
}

/* Scores [64 queries, 64 keys] that a query does not see; a is the lane's first query, `from` the first key.
 */
template <int WITH> DEVICE void group_hide(const attend_of &t, const place &p, float s[8][4], int a, int from)
{
    int column = threadIdx.x % 4 * 2; /* a sign, or -1 would be a large number below */
#pragma unroll
    for (int half = 0; half < 2; half++) {
        reach see = keys_of<WITH>(t, p, a + half * 8 + p.shift, a + half * 8 + p.shift);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int j = from + n * 8 + column + i;
                if (j >= see.hi || (WITH & (FAR | MORE) && j < see.lo)) s[n][half * 2 + i] = -INFINITY;
            }
    }
}

/* Caps scores, which are not scaled yet. */
DEVICE void group_cap(const attend_of &t, float s[8][4])
{
    float share = 2 * LOG2_E * t.scale / t.cap, most = t.cap / t.scale;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = most - __fdividef(2 * most, 1 + power_of_two(s[n][x] * share));
}

/* The same for the way back: `slopes` is how much each changes with what it was, two in a word. */
DEVICE void group_cap(const attend_of &t, float s[8][4], uint32_t slopes[8][2])
{
    group_cap(t, s);
    float share = t.scale / t.cap;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float even = s[n][half * 2] * share, odd = s[n][half * 2 + 1] * share;
            slopes[n][half] = pack2_half(fmaf(-even, even, 1), fmaf(-odd, odd, 1));
        }
}

/* Slopes of scores become those of what they were before the cap. */
DEVICE void group_uncap(float ds[8][4], const uint32_t slopes[8][2])
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float2 x = __half22float2(*(const __half2 *)&slopes[n][half]);
            ds[n][half * 2] *= x.x, ds[n][half * 2 + 1] *= x.y;
        }
}

#endif
