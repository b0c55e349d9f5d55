/* Attention of single queries over many keys (a step of decoding): a block takes one head of one item, a few
   lanes share a key, and every such group walks over its own keys; the groups are merged at the end. Bound by
   latency: loads of several keys are under way before the first is used. */
#include "backend/cuda/attend.h"

enum { AHEAD = 4, WARPS = 4, MANY_WARPS = 8 };

/* LANES lanes to a key, eight columns each. */
template <typename T, int LANES>
static __global__ void decode(const __grid_constant__ attend_of t, const mat y, const mat lse)
{
    __shared__ float room[MANY_WARPS][LANES][8], tops[MANY_WARPS], sums[MANY_WARPS];
    place p = place_at(t, (int)(blockIdx.x / t.heads), (int)(blockIdx.x % t.heads));
    if (!p.tq) return;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int each = 32 / LANES, part = lane % LANES, step = warps * each;
    bool has = part * 8 < t.d, has_value = part * 8 < t.dv;
    float q[8] = {}, acc[8] = {}, top = -INFINITY, sum = 0;
    if (has) load8(q, (const T *)t.q.p + p.qrow * t.q.stride + (size_t)p.head * t.d + part * 8);
    const T *k = (const T *)t.k.p + p.krow * t.k.stride + (size_t)p.group * t.d + part * 8;
    const T *v = (const T *)t.v.p + p.krow * t.v.stride + (size_t)p.group * t.dv + part * 8;
    for (int first = warp * each; first < p.tk; first += step * AHEAD) { /* the same for the whole warp */
        float kx[AHEAD][8] = {}, vx[AHEAD][8] = {}, s[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            int j = first + i * step + lane / LANES;
            if (j < p.tk && has) load8(kx[i], k + j * t.k.stride);
            if (j < p.tk && has_value) load8(vx[i], v + j * t.v.stride);
        }
        float most = top;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            s[i] = 0;
#pragma unroll
            for (int c = 0; c < 8; c++) s[i] = fmaf(q[c], kx[i][c], s[i]);
#pragma unroll
            for (int d = LANES / 2; d; d >>= 1) s[i] += __shfl_xor_sync(FULL_WARP, s[i], d);
            s[i] = first + i * step + lane / LANES < p.tk ? s[i] * t.scale : -INFINITY;
            most = fmaxf(most, s[i]);
        }
        float less = most == -INFINITY ? 0 : most, shrink = expf(top - less);
        top = most, sum *= shrink;
#pragma unroll
        for (int c = 0; c < 8; c++) acc[c] *= shrink;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            float w = expf(s[i] - less);
            sum += w;
#pragma unroll
            for (int c = 0; c < 8; c++) acc[c] = fmaf(w, vx[i][c], acc[c]);
        }
    }
    /* the groups of a warp, then the warps */
    float most = top;
#pragma unroll
    for (int d = LANES; d < 32; d <<= 1) most = fmaxf(most, __shfl_xor_sync(FULL_WARP, most, d));
    float shrink = top == -INFINITY ? 0 : expf(top - most);
    sum *= shrink;
#pragma unroll
    for (int c = 0; c < 8; c++) acc[c] *= shrink;
#pragma unroll
    for (int d = LANES; d < 32; d <<= 1) {
        sum += __shfl_xor_sync(FULL_WARP, sum, d);
#pragma unroll
        for (int c = 0; c < 8; c++) acc[c] += __shfl_xor_sync(FULL_WARP, acc[c], d);
    }
    if (lane < LANES) {
#pragma unroll
        for (int c = 0; c < 8; c++) room[warp][part][c] = acc[c];
        tops[warp] = most, sums[warp] = sum;
    }
    __syncthreads();
    float all = -INFINITY, total = 0;
    for (int w = 0; w < warps; w++) all = fmaxf(all, tops[w]);
    float share[MANY_WARPS];
#pragma unroll
    for (int w = 0; w < MANY_WARPS; w++) {
        share[w] = w < warps && tops[w] != -INFINITY ? expf(tops[w] - all) : 0;
        if (w < warps) total += share[w] * sums[w];
    }
    float factor = total == 0 ? 0 : 1 / total;
    for (int c = threadIdx.x; c < t.dv; c += blockDim.x) {
        float out = 0;
#pragma unroll
        for (int w = 0; w < MANY_WARPS; w++)
            if (w < warps) out = fmaf(share[w], room[w][c / 8][c % 8], out);
        set_float((T *)y.p + p.qrow * y.stride + (size_t)p.head * t.dv + c, out * factor);
    }
    if (lse.p && !threadIdx.x) mat_put(lse, p.qrow, p.head, total > 0 ? all + logf(total) : INFINITY);
}

template <typename T> static void launch(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    unsigned blocks = (unsigned)(t->items * t->heads), wide = t->d > t->dv ? t->d : t->dv;
    unsigned threads = 32 * (blocks <= 4u * (unsigned)c->processors ? MANY_WARPS : WARPS);
    if (wide <= 32)
        decode<T, 4><<<blocks, threads, 0, c->stream>>>(*t, y, lse);
    else if (wide <= 64)
        decode<T, 8><<<blocks, threads, 0, c->stream>>>(*t, y, lse);
    else if (wide <= 128)
        decode<T, 16><<<blocks, threads, 0, c->stream>>>(*t, y, lse);
    else
        decode<T, 32><<<blocks, threads, 0, c->stream>>>(*t, y, lse);
}

bool hd_attend_decode(hd_cuda *c, const attend_of *t, const hd_attend_args *a)
{
    const hd_tensor *const all[] = {a->q, a->k, a->v, a->y};
    if (t->drops || t->d % 8 || t->dv % 8 || t->d > 256 || t->dv > 256) return false;
    for (int i = 0; i < 4; i++)
        if (all[i]->dtype != a->q->dtype || !by_eights(all[i])) return false;
    if (a->q->dtype == HD_BF16)
        launch<bf16>(c, t, mat_of(a->y), mat_of(a->lse));
    else
        launch<float>(c, t, mat_of(a->y), mat_of(a->lse));
    return true;
}
