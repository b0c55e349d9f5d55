/* Muon's passes over a matrix; its products are gemm's. Numbers go by eights where all begin at a boundary
   for eight of them and end there. */
#include "backend/cuda/device.h"
#include "backend/rounding.h"

enum { THREADS = 256, EIGHT = 8 };

static unsigned blocks_of(const hd_cuda *c, size_t count)
{
    size_t need = (count + THREADS - 1) / THREADS, most = (size_t)c->processors * 8;
    return (unsigned)(need < most ? need : most);
}

static bool by_eight(size_t count, const void *a, const void *b, const void *c)
{
    return count % EIGHT == 0 && ((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) % 16 == 0;
}

/* Launches a kernel of a template's W = 8 or 1. */
#define LAUNCH(c, eights, count, kernel8, kernel1, ...)                                       \
    do {                                                                                      \
        if (eights)                                                                           \
            kernel8<<<blocks_of(c, (count) / EIGHT), THREADS, 0, (c)->stream>>>(__VA_ARGS__); \
        else                                                                                  \
            kernel1<<<blocks_of(c, count), THREADS, 0, (c)->stream>>>(__VA_ARGS__);           \
    } while (0)

#define EACH(i, count)                                                   \
    for (size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * W, \
                all_##i = (size_t)gridDim.x * blockDim.x * W;            \
         i < (count); i += all_##i)

template <int W> static __global__ __launch_bounds__(THREADS) void moment_all(const hd_moment_args a)
{
    const hd_step *s = a.step;
    float scale = (float)((double)s->clip / s->weight), rest = (float)(1 - (double)a.momentum);
    bool skip = s->skip;
    EACH(i, a.count)
    {
        float g[W], m[W], y[W], zero[W] = {};
        load_wide<W>(g, a.grad + i);
        store_wide<W>(a.grad + i, zero);
        if (skip) continue;
        load_wide<W>(m, a.first + i);
#pragma unroll
        for (int k = 0; k < W; k++) {
            float x = rest * (g[k] * scale);
            m[k] = a.momentum * m[k] + x;
            y[k] = a.momentum * m[k] + x;
        }
        store_wide<W>(a.first + i, m);
        store_wide<W>(a.y + i, y);
    }
}

extern "C" hd_status hd_cuda_moment(hd_backend *b, const hd_moment_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->count) return HD_OK;
    LAUNCH(c, by_eight(a->count, a->y, a->grad, a->first), a->count, moment_all<EIGHT>, moment_all<1>, *a);
    return hd_cuda_done(c, "moment");
}

template <class T, int W>
static __global__ __launch_bounds__(THREADS) void unit_all(T *y, const float *x, const double *sum,
                                                           size_t count)
{
    float by = (float)(1 / (sqrt(*sum) + 1e-7));
    EACH(i, count)
    {
        float v[W];
        load_wide<W>(v, x + i);
#pragma unroll
        for (int k = 0; k < W; k++) v[k] *= by;
        store_wide<W>(y + i, v);
    }
}

template <class T> static void launch_unit(hd_cuda *c, const hd_unit_args *a, size_t count)
{
    T *y = (T *)a->y->data;
    bool eights = by_eight(count, y, a->x, NULL);
    LAUNCH(c, eights, count, (unit_all<T, EIGHT>), (unit_all<T, 1>), y, a->x, a->sum, count);
}

extern "C" hd_status hd_cuda_unit(hd_backend *b, const hd_unit_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t count = hd_count_of(a->y);
    if (!count) return HD_OK;
    a->y->dtype == HD_BF16 ? launch_unit<bf16>(c, a, count) : launch_unit<float>(c, a, count);
    cudaMemsetAsync(a->sum, 0, sizeof *a->sum, c->stream);
    return hd_cuda_done(c, "unit");
}

template <class T, int W>
static __global__ __launch_bounds__(THREADS) void descend_all(const hd_descend_args a, const T *x,
                                                              size_t count)
{
    if (a.step->skip) return;
    double rate = (double)a.step->rate * (double)a.factor;
    float keep = (float)(1 - rate * (double)a.decay), by = (float)(rate * (double)a.scale);
    EACH(i, count)
    {
        float w[W], v[W];
        load_wide<W>(w, a.value + i);
        load_wide<W>(v, x + i);
#pragma unroll
        for (int k = 0; k < W; k++) w[k] = keep * w[k] - by * v[k];
        store_wide<W>(a.value + i, w);
        if (a.shadow) store_wide<W>((bf16 *)a.shadow + i, w);
    }
}

/* The same of weights that are in bf16 alone: rounded by chance. */
template <class T>
static __global__ __launch_bounds__(THREADS) void descend_small(const hd_descend_args a, const T *x,
                                                                size_t count)
{
    constexpr int W = 1;
    if (a.step->skip) return;
    double rate = (double)a.step->rate * (double)a.factor;
    float keep = (float)(1 - rate * (double)a.decay), by = (float)(rate * (double)a.scale);
    uint32_t updates = (uint32_t)a.step->updates;
    EACH(i, count)
    {
        float w = keep * __bfloat162float(((bf16 *)a.shadow)[i]) - by * to_float(x[i]);
        a.shadow[i] = hd_rounding_bf16(__float_as_uint(w), hd_rounding_draw(a.place + i, updates));
    }
}

template <class T> static void launch_descend(hd_cuda *c, const hd_descend_args *a, size_t count)
{
    const T *x = (const T *)a->x->data;
    if (!a->value) {
        descend_small<<<blocks_of(c, count), THREADS, 0, c->stream>>>(*a, x, count);
        return;
    }
    bool eights = by_eight(count, a->value, a->shadow, x);
    LAUNCH(c, eights, count, (descend_all<T, EIGHT>), (descend_all<T, 1>), *a, x, count);
}

extern "C" hd_status hd_cuda_descend(hd_backend *b, const hd_descend_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t count = hd_count_of(a->x);
    if (!count) return HD_OK;
    a->x->dtype == HD_BF16 ? launch_descend<bf16>(c, a, count) : launch_descend<float>(c, a, count);
    return hd_cuda_done(c, "descend");
}
