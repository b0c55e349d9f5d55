/* The sum of what a row's experts gave, in the order of its experts, and its way back. Forward a thread has
   eight columns of a row, backward a warp an assignment. */
#include "backend/cuda/device.h"

enum { THREADS = 256 };

typedef struct summing {
    mat y, x, weights, dx, dweights, dy;
    const int32_t *place;
    int used;
    bool add;
} summing;

DEVICE float weight_at(const mat &w, int t, int k)
{
    return w.p ? ((const float *)w.p)[(size_t)t * w.stride + k] : 1;
}

template <typename T> static __global__ void combine_eights(const __grid_constant__ summing k)
{
    size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x, each = (size_t)k.y.cols / 8, t = at / each;
    if (t >= (size_t)k.y.rows) return;
    size_t col = (at - t * each) * 8;
    T *y = (T *)k.y.p + t * k.y.stride + col;
    float sum[8] = {}, x[8];
    if (k.add) load8(sum, y);
    for (int i = 0; i < k.used; i++) {
        int from = k.place[t * k.used + i];
        if (from < 0) continue;
        float w = weight_at(k.weights, (int)t, i);
        load8(x, (const T *)k.x.p + (size_t)from * k.x.stride + col);
#pragma unroll
        for (int j = 0; j < 8; j++) sum[j] += w * x[j];
    }
    store8(y, sum);
}

static __global__ void combine_any(const __grid_constant__ summing k)
{
    size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x, t = at / k.y.cols, col = at - t * k.y.cols;
    if (t >= (size_t)k.y.rows) return;
    float sum = k.add ? mat_get(k.y, t, col) : 0;
    for (int i = 0; i < k.used; i++) {
        int from = k.place[t * k.used + i];
        if (from >= 0) sum += weight_at(k.weights, (int)t, i) * mat_get(k.x, from, col);
    }
    mat_put(k.y, t, col, sum);
}

extern "C" hd_status hd_cuda_combine(hd_backend *b, const hd_combine_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    summing k = {};
    k.y = mat_of(a->y), k.x = mat_of(a->x), k.weights = mat_of(a->weights);
    k.place = a->place, k.used = a->used, k.add = a->add;
    size_t count = hd_count_of(a->y);
    if (!count) return HD_OK;
    if (!by_eights(a->y) || !by_eights(a->x) || a->y->dtype != a->x->dtype)
        combine_any<<<hd_blocks(count, THREADS), THREADS, 0, c->stream>>>(k);
    else if (k.y.small)
        combine_eights<bf16><<<hd_blocks(count / 8, THREADS), THREADS, 0, c->stream>>>(k);
    else
        combine_eights<float><<<hd_blocks(count / 8, THREADS), THREADS, 0, c->stream>>>(k);
    return hd_cuda_done(c, "combine");
}

/* W columns at a time: 8, or 1 where rows lie anywhere. */
template <typename T, int W> static __global__ void combine_back_kernel(const __grid_constant__ summing k)
{
    size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    int lane = (int)threadIdx.x % 32, t = (int)(i / k.used), own = (int)(i % k.used);
    if (t >= k.dy.rows) return;
    int at = k.place[i];
    if (at < 0) return;
    const T *dy = (const T *)k.dy.p + (size_t)t * k.dy.stride,
            *x = (const T *)k.x.p + (size_t)at * k.x.stride;
    T *dx = (T *)k.dx.p + (size_t)at * k.dx.stride;
    float w = weight_at(k.weights, t, own), sum = 0;
    for (int c = W * lane; c < k.dy.cols; c += 32 * W) {
        float d[W], v[W];
        load_wide<W>(d, dy + c);
        if (k.dweights.p) {
            load_wide<W>(v, x + c);
#pragma unroll
            for (int j = 0; j < W; j++) sum += d[j] * v[j];
        }
        if (!k.dx.p) continue;
        if (k.add) load_wide<W>(v, dx + c);
#pragma unroll
        for (int j = 0; j < W; j++) v[j] = w * d[j] + (k.add ? v[j] : 0);
        store_wide<W>(dx + c, v);
    }
    sum = warp_sum(sum);
    if (k.dweights.p && !lane) mat_put_or_add(k.dweights, t, own, sum, true);
}

extern "C" hd_status hd_cuda_combine_back(hd_backend *b, const hd_combine_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    summing k = {};
    k.dx = mat_of(a->dx), k.dweights = mat_of(a->dweights), k.dy = mat_of(a->dy), k.x = mat_of(a->x);
    k.weights = mat_of(a->weights), k.place = a->place, k.used = a->used, k.add = a->add;
    size_t warps = hd_rows_of(a->dy) * (size_t)a->used;
    unsigned blocks = hd_blocks(warps * 32, THREADS);
    if (!warps) return HD_OK;
    if ((a->dx && a->dx->dtype != a->dy->dtype) || (a->x && a->x->dtype != a->dy->dtype))
        return hd_cuda_fail(c, "combine_back", "rows are of different types");
    bool eights = by_eights(a->dx) && by_eights(a->dy) && by_eights(a->x);
    if (k.dy.small && eights)
        combine_back_kernel<bf16, 8><<<blocks, THREADS, 0, c->stream>>>(k);
    else if (k.dy.small)
        combine_back_kernel<bf16, 1><<<blocks, THREADS, 0, c->stream>>>(k);
    else if (eights)
        combine_back_kernel<float, 8><<<blocks, THREADS, 0, c->stream>>>(k);
    else
        combine_back_kernel<float, 1><<<blocks, THREADS, 0, c->stream>>>(k);
    return hd_cuda_done(c, "combine_back");
}
