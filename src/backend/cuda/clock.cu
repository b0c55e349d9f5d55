/* Times kernels: an event before and after each, read when the watching ends, so that the card never waits
   for the host. What a kernel has to do at least (operations, bytes) follows from its arguments. */
#include "backend/cuda/cuda.h"

enum { MOST = 8192 };

typedef struct span {
    cudaEvent_t from, to;
    hd_kernel_id id;
    double flops, bytes;
} span;

struct hd_cuda_clock {
    hd_work *by_kernel;
    hd_status (*capture)(hd_backend *b); /* to be put back */
    span span[MOST];
    size_t count;
};

/* -- the least work -- */

typedef struct least {
    double flops, bytes;
} least;

static double size_of(const hd_tensor *t)
{
    return t ? (double)hd_bytes_of(t) : 0;
}

static double sizes(const hd_tensor *a, const hd_tensor *b = NULL, const hd_tensor *c = NULL,
                    const hd_tensor *d = NULL, const hd_tensor *e = NULL)
{
    return size_of(a) + size_of(b) + size_of(c) + size_of(d) + size_of(e);
}

static least of(const hd_gemm_args *a)
{
    double k = (double)(a->a_transposed ? hd_rows_of(a->a) : hd_cols_of(a->a));
    double each = a->count > 1 ? (double)a->count : 1;
    return (least){
        each * 2 * k * (double)hd_count_of(a->y),
        each * (sizes(a->a, a->y, a->before, a->add ? a->y : NULL) +
                (double)hd_count_of(a->b) * (a->b->prepared ? 2 : (double)hd_dtype_bytes(a->b->dtype)))};
}
static least of(const hd_column_sum_args *a)
{
    return (least){0, sizes(a->x, a->y)};
}
static least of(const hd_unary_args *a)
{
    return (least){0, sizes(a->x, a->y)};
}
static least of(const hd_unary_back_args *a)
{
    return (least){0, sizes(a->dx, a->dy, a->kept)};
}
static least of(const hd_gate_args *a)
{
    return (least){0, sizes(a->x, a->y, a->z)};
}
static least of(const hd_gate_back_args *a)
{
    return (least){0, sizes(a->dx, a->dz, a->dy, a->x, a->z) + (a->add ? sizes(a->dx, a->dz) : 0)};
}
static least of(const hd_mix_args *a)
{
    return (least){0, sizes(a->x, a->y, a->z, a->add ? a->y : NULL)};
}
static least of(const hd_mul_args *a)
{
    return (least){0, sizes(a->x, a->y, a->z, a->add ? a->y : NULL)};
}
static least of(const hd_dropout_args *a)
{
    return (least){0, sizes(a->x, a->y, a->add ? a->y : NULL)};
}
static least of(const hd_gumbel_args *a)
{
    return (least){0, sizes(a->x, a->y)};
}
static least of(const hd_gather_args *a)
{
    return (least){0, 2 * sizes(a->y)};
}
static least of(const hd_scatter_args *a)
{
    return (least){0, 2 * sizes(a->x)};
}
static least of(const hd_pixels_args *a)
{
    return (least){0, sizes(a->y)};
}
static least of(const hd_patches_args *a)
{
    return (least){0, 2 * sizes(a->y)};
}
static least of(const hd_patches_back_args *a)
{
    return (least){0, sizes(a->dy)};
}
static least of(const hd_pool_args *a)
{
    return (least){0, sizes(a->x, a->y, a->which)};
}
static least of(const hd_pool_back_args *a)
{
    return (least){0, sizes(a->dx, a->dy, a->which)};
}
static least of(const hd_norm_args *a)
{
    return (least){0, sizes(a->x, a->y, a->branch, a->sum, a->stat)};
}
static least of(const hd_norm_back_args *a)
{
    return (least){0, sizes(a->dx, a->dbranch, a->dy, a->dsum, a->sum) + (a->add_x ? size_of(a->dx) : 0)};
}
static least of(const hd_group_norm_args *a)
{
    return (least){0, sizes(a->x, a->y, a->before, a->add, a->given ? NULL : a->x)};
}
static least of(const hd_group_norm_back_args *a)
{
    return (least){0, 2 * sizes(a->dz, a->x) + sizes(a->dx, a->add ? a->dx : NULL)};
}
static least of(const hd_cross_entropy_args *a)
{
    return (least){0, sizes(a->x, a->dx)};
}
static least of(const hd_softmax_args *a)
{
    return (least){0, sizes(a->x, a->y)};
}
static least of(const hd_attend_args *a)
{
    return (least){0, sizes(a->q, a->k, a->v, a->y, a->lse)};
}
static least of(const hd_attend_back_args *a)
{
    return (least){0, sizes(a->q, a->k, a->v, a->dy) + sizes(a->dq, a->dk, a->dv)};
}
static least of(const hd_grouped_args *a)
{
    return (least){2 * (double)hd_cols_of(a->a) * (double)hd_count_of(a->y),
                   sizes(a->a, a->y, a->add ? a->y : NULL) +
                       (double)hd_count_of(a->b) *
                           (a->b->prepared ? 2 : (double)hd_dtype_bytes(a->b->dtype))};
}
static least of(const hd_grouped_outer_args *a)
{
    return (least){2 * (double)hd_cols_of(a->a) * (double)hd_count_of(a->b),
                   2 * sizes(a->y) + sizes(a->a, a->b)};
}
static least of(const hd_combine_args *a)
{
    return (least){0, sizes(a->x, a->y, a->add ? a->y : NULL)};
}
static least of(const hd_combine_back_args *a)
{
    return (least){0, sizes(a->dx, a->dy, a->x)};
}
static least of(const hd_square_sum_args *a)
{
    return (least){0, 4.0 * (double)a->count};
}
static least of(const hd_update_args *a)
{
    return (least){0, (a->shadow ? 34.0 : 32.0) * (double)a->count};
}
template <class T> static least of(const T *)
{
    return (least){0, 0};
}

/* -- watching -- */

static span *begin(hd_cuda *c, hd_kernel_id id, least w)
{
    struct hd_cuda_clock *k = c->clock;
    if (!k || k->count == MOST) return NULL;
    span *s = &k->span[k->count++];
    s->id = id, s->flops = w.flops, s->bytes = w.bytes;
    cudaEventCreate(&s->from);
    cudaEventCreate(&s->to);
    cudaEventRecord(s->from, c->stream);
    return s;
}

static void end(hd_cuda *c, span *s)
{
    if (s) cudaEventRecord(s->to, c->stream);
}

#define X(name)                                                             \
    static hd_status plain_##name(hd_backend *b, const hd_##name##_args *a) \
    {                                                                       \
        hd_cuda_here here(((hd_cuda *)b)->device);                          \
        return hd_cuda_##name(b, a);                                        \
    }                                                                       \
    static hd_status timed_##name(hd_backend *b, const hd_##name##_args *a) \
    {                                                                       \
        hd_cuda_here here(((hd_cuda *)b)->device);                          \
        span *s = begin((hd_cuda *)b, HD_KERNEL_##name, of(a));             \
        hd_status st = hd_cuda_##name(b, a);                                \
        end((hd_cuda *)b, s);                                               \
        return st;                                                          \
    }
HD_KERNEL_LIST(X)
#undef X

void hd_cuda_kernels(hd_kernels *table, bool timed)
{
#define X(name) table->name = timed ? timed_##name : plain_##name;
    HD_KERNEL_LIST(X)
#undef X
}

static void add_up(struct hd_cuda_clock *k)
{
    for (size_t i = 0; i < k->count; i++) {
        span *s = &k->span[i];
        float ms = 0;
        cudaEventElapsedTime(&ms, s->from, s->to);
        hd_work *w = &k->by_kernel[s->id];
        w->calls++, w->seconds += ms * 1e-3, w->flops += s->flops, w->bytes += s->bytes;
        cudaEventDestroy(s->from);
        cudaEventDestroy(s->to);
    }
}

void hd_cuda_watch(hd_backend *b, hd_work *by_kernel)
{
    hd_cuda *c = (hd_cuda *)b;
    hd_cuda_here here(c->device);
    if (c->clock) {
        cudaStreamSynchronize(c->stream);
        add_up(c->clock);
        b->capture = c->clock->capture;
        hd_mem_free(c->clock);
        c->clock = NULL;
    }
    if (by_kernel) c->clock = (struct hd_cuda_clock *)hd_mem_zero(sizeof *c->clock);
    if (c->clock) c->clock->by_kernel = by_kernel, c->clock->capture = b->capture, b->capture = NULL;
    hd_cuda_kernels(&b->kernel, c->clock != NULL);
}
