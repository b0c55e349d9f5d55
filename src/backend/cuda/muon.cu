/* Muon's passes over a matrix; its products are gemm's. */
#include "backend/cuda/device.h"

enum { THREADS = 256 };

static unsigned blocks_of(const hd_cuda *c, size_t count)
{
    size_t need = (count + THREADS - 1) / THREADS, most = (size_t)c->processors * 8;
    return (unsigned)(need < most ? need : most);
}

#define EACH(i, count)                                                                                       \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, all_##i = (size_t)gridDim.x * blockDim.x; \
         i < (count); i += all_##i)

static __global__ __launch_bounds__(THREADS) void moment_all(hd_moment_args a)
{
    const hd_step *s = a.step;
    float scale = (float)((double)s->clip / s->weight), rest = (float)(1 - (double)a.momentum);
    bool skip = s->skip;
    EACH(i, a.count)
    {
        float g = rest * (a.grad[i] * scale);
        a.grad[i] = 0;
        if (skip) continue;
        float m = a.momentum * a.first[i] + g;
        a.first[i] = m;
        a.y[i] = a.momentum * m + g;
    }
}

extern "C" hd_status hd_cuda_moment(hd_backend *b, const hd_moment_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->count) return HD_OK;
    moment_all<<<blocks_of(c, a->count), THREADS, 0, c->stream>>>(*a);
    return hd_cuda_done(c, "moment");
}

template <class T>
static __global__ __launch_bounds__(THREADS) void unit_all(T *y, const float *x, const double *sum,
                                                           size_t count)
{
    float by = (float)(1 / (sqrt(*sum) + 1e-7));
    EACH(i, count)
    set_float(y + i, x[i] * by);
}

extern "C" hd_status hd_cuda_unit(hd_backend *b, const hd_unit_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t count = hd_count_of(a->y);
    if (!count) return HD_OK;
    unsigned blocks = blocks_of(c, count);
    if (a->y->dtype == HD_BF16)
        unit_all<<<blocks, THREADS, 0, c->stream>>>((bf16 *)a->y->data, a->x, a->sum, count);
    else
        unit_all<<<blocks, THREADS, 0, c->stream>>>((float *)a->y->data, a->x, a->sum, count);
    cudaMemsetAsync(a->sum, 0, sizeof *a->sum, c->stream);
    return hd_cuda_done(c, "unit");
}

template <class T>
static __global__ __launch_bounds__(THREADS) void descend_all(hd_descend_args a, const T *x, size_t count)
{
    if (a.step->skip) return;
    double rate = (double)a.step->rate * (double)a.factor;
    float keep = (float)(1 - rate * (double)a.decay), by = (float)(rate * (double)a.scale);
    EACH(i, count)
    {
        float w = keep * a.value[i] - by * to_float(x[i]);
        a.value[i] = w;
        if (a.shadow) ((bf16 *)a.shadow)[i] = __float2bfloat16(w);
    }
}

extern "C" hd_status hd_cuda_descend(hd_backend *b, const hd_descend_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t count = hd_count_of(a->x);
    if (!count) return HD_OK;
    unsigned blocks = blocks_of(c, count);
    if (a->x->dtype == HD_BF16)
        descend_all<<<blocks, THREADS, 0, c->stream>>>(*a, (const bf16 *)a->x->data, count);
    else
        descend_all<<<blocks, THREADS, 0, c->stream>>>(*a, (const float *)a->x->data, count);
    return hd_cuda_done(c, "descend");
}
