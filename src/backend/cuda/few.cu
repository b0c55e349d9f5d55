/* Products of a few rows with a weight, as steps of decoding have them: a warp makes one column and reads its
   row of the weight once, with bias and function in the same pass. Bound by memory and by latency. */
#include "backend/cuda/few.h"
#include "backend/cuda/function.h"

enum { WARPS = 8 };

/* y [M, n] = f(a [M, k] b [n, k]^T + bias); grid.y: of several products. */
template <int M> static __global__ void __launch_bounds__(WARPS * 32) multiply_few(const few_of p)
{
    int lane = threadIdx.x % 32, column = (int)blockIdx.x * WARPS + threadIdx.x / 32;
    if (column >= p.n) return;
    const bf16 *a = p.a + blockIdx.y * p.a_step, *b = p.b + blockIdx.y * p.b_step + column * p.b_stride;
    float sum[M] = {};
#pragma unroll 4
    for (int c = lane * 8; c < p.k; c += 256) {
        float w[8];
        load8(w, b + c);
#pragma unroll
        for (int r = 0; r < M; r++) {
            float x[8];
            load8(x, a + r * p.a_stride + c);
#pragma unroll
            for (int i = 0; i < 8; i++) sum[r] = fmaf(x[i], w[i], sum[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < M; r++) sum[r] = warp_sum(sum[r]);
    float mine = sum[0]; /* lane r has row r */
#pragma unroll
    for (int r = 1; r < M; r++)
        if (lane == r) mine = sum[r];
    if (lane >= M) return;
    if (p.bias.p) mine += mat_get(p.bias, 0, column);
    unary_values<1>(&mine, p.act);
    mat_put(p.y, lane, blockIdx.y * p.y_step + column, mine);
}

bool hd_cuda_few(hd_cuda *c, const few_of *p)
{
    dim3 blocks(hd_blocks((size_t)p->n, WARPS), (unsigned)p->count);
    if (p->m < 1 || p->m > FEW_ROWS || p->k % 8 || p->a_stride % 8 || p->b_stride % 8 || p->a_step % 8 ||
        p->b_step % 8 || (uintptr_t)p->a % 16 || (uintptr_t)p->b % 16)
        return false;
    if (p->m == 1)
        multiply_few<1><<<blocks, WARPS * 32, 0, c->stream>>>(*p);
    else if (p->m == 2)
        multiply_few<2><<<blocks, WARPS * 32, 0, c->stream>>>(*p);
    else if (p->m == 3)
        multiply_few<3><<<blocks, WARPS * 32, 0, c->stream>>>(*p);
    else
        multiply_few<4><<<blocks, WARPS * 32, 0, c->stream>>>(*p);
    return true;
}
