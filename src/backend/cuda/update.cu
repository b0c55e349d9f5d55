/* The optimizer's passes over flat buffers. The sum of squares goes through a fixed number of blocks and the
   partial sums are added in order, so that the clip factor has the same bits in every run. A group's part of
   the buffers may begin anywhere: only what lies on 16-byte boundaries goes by fours. */
#include "backend/cuda/device.h"
#include "backend/rounding.h"

enum { THREADS = 256, SQUARE_BLOCKS = 1024, SQUARE_THREADS = 512, AHEAD = 4 };

/* count numbers: `lead` single ones, `fours` groups of four, then the rest. */
typedef struct flat {
    size_t count, lead, fours;
} flat;

/* Whether p, `lead` numbers further, stands on a boundary for four of them; NULL is fine. */
static bool fits(const void *p, size_t lead, size_t bytes)
{
    return !p || ((uintptr_t)p + lead * bytes) % (4 * bytes) == 0;
}

static flat flat_of(size_t count, const float *a, const float *b, const float *c, const float *d,
                    const uint16_t *shadow)
{
    flat f = {count, 0, 0};
    for (size_t lead = 0; lead < 4 && lead < count; lead++)
        if (fits(a, lead, 4) && fits(b, lead, 4) && fits(c, lead, 4) && fits(d, lead, 4) &&
            fits(shadow, lead, 2)) {
            f.lead = lead, f.fours = (count - lead) / 4;
            break;
        }
    return f;
}

DEVICE size_t flat_thread(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
DEVICE size_t flat_threads(void)
{
    return (size_t)gridDim.x * blockDim.x;
}
/* The number that the i-th of the single ones is. */
DEVICE size_t flat_single(const flat &f, size_t i)
{
    return i < f.lead ? i : i + 4 * f.fours;
}

/* Blocks that keep the whole card busy; each thread goes on in steps of all threads. */
static unsigned flat_blocks(const hd_cuda *c, const flat *f)
{
    size_t work = f->fours > f->count / 8 ? f->fours : f->count;
    size_t need = work / THREADS + 1, most = (size_t)c->processors * 8;
    return (unsigned)(need < most ? need : most);
}

/* -- sum of squares -- */

DEVICE double block_sum_double(double x, double *room) /* 32 of shared memory; right on thread 0 alone */
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    if (!lane) room[warp] = x;
    __syncthreads();
    x = lane < warps ? room[lane] : 0;
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}

DEVICE float square4(float4 v)
{
    return (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
}

static __global__ __launch_bounds__(SQUARE_THREADS) void square_parts(double *part, const float *x, flat f)
{
    __shared__ double room[32];
    size_t me = flat_thread(), all = flat_threads(), i = me;
    const float4 *four = (const float4 *)(x + f.lead);
    double sum = 0;
    for (; i + (AHEAD - 1) * all < f.fours; i += AHEAD * all) {
        float4 v[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) v[j] = four[i + j * all];
        float s = 0;
#pragma unroll
        for (int j = 0; j < AHEAD; j++) s += square4(v[j]);
        sum += (double)s;
    }
    for (; i < f.fours; i += all) sum += (double)square4(four[i]);
    for (i = me; i < f.count - 4 * f.fours; i += all) {
        float v = x[flat_single(f, i)];
        sum += (double)(v * v);
    }
    sum = block_sum_double(sum, room);
    if (!threadIdx.x) part[blockIdx.x] = sum;
}

static __global__ void square_total(double *sum, const double *part)
{
    __shared__ double room[32];
    double s = block_sum_double(part[threadIdx.x], room);
    if (!threadIdx.x) *sum += s;
}

extern "C" hd_status hd_cuda_square_sum(hd_backend *b, const hd_square_sum_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->count) return HD_OK;
    double *part = (double *)hd_cuda_scratch(c, SQUARE_BLOCKS * sizeof(double));
    if (!part) return HD_ENOMEM;
    flat f = flat_of(a->count, a->x, NULL, NULL, NULL, NULL);
    square_parts<<<SQUARE_BLOCKS, SQUARE_THREADS, 0, c->stream>>>(part, a->x, f);
    square_total<<<1, SQUARE_BLOCKS, 0, c->stream>>>(a->sum, part);
    return hd_cuda_done(c, "square_sum");
}

static __global__ void clip_once(hd_clip_args a)
{
    hd_step *s = a.step;
    double norm = sqrt(*a.sum) / s->weight;
    s->norm = norm;
    s->skip = !isfinite(norm);
    s->clip = a.limit > 0 && norm > (double)a.limit ? (float)((double)a.limit / norm) : 1.0f;
    *a.sum = 0;
    if (!s->skip) s->updates = ++*a.updates;
}

extern "C" hd_status hd_cuda_clip(hd_backend *b, const hd_clip_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    clip_once<<<1, 1, 0, c->stream>>>(*a);
    return hd_cuda_done(c, "clip");
}

/* -- update -- */

typedef struct factors {
    float grad, rate, beta1, rest1, beta2, rest2, eps, decay, keep, fix2, momentum;
    bool nesterov;
} factors;

/* In double, as the powers of beta near 1 need. */
DEVICE factors factors_of(const hd_update_args &a)
{
    const hd_step *s = a.step;
    double rate = (double)s->rate * (double)a.factor, t = (double)s->updates;
    double fix1 = a.rule == HD_ADAM ? 1 - pow((double)a.beta1, t) : 1,
           fix2 = a.rule == HD_ADAM ? 1 - pow((double)a.beta2, t) : 1;
    factors f;
    f.grad = (float)((double)s->clip / s->weight);
    f.rate = (float)(rate / fix1);
    f.beta1 = a.beta1, f.rest1 = (float)(1 - (double)a.beta1);
    f.beta2 = a.beta2, f.rest2 = (float)(1 - (double)a.beta2);
    f.eps = a.eps;
    f.decay = a.decoupled ? 0 : a.decay;
    f.keep = a.decoupled ? (float)(1 - rate * (double)a.decay) : 1;
    f.fix2 = (float)(1 / fix2);
    f.momentum = a.momentum, f.nesterov = a.nesterov;
    return f;
}

/* One number: value w, gradient g, first and second moment; the new value comes back. */
template <bool ADAM> DEVICE float ruled(const factors &f, float w, float g, float *m, float *v, bool moment)
{
    g = g * f.grad + f.decay * w;
    if (ADAM) {
        *m = f.beta1 * *m + f.rest1 * g;
        *v = f.beta2 * *v + f.rest2 * g * g;
        return f.keep * w - f.rate * *m / (sqrtf(*v * f.fix2) + f.eps);
    }
    if (moment) {
        *m = f.momentum * *m + g;
        g = f.nesterov ? g + f.momentum * *m : *m;
    }
    return f.keep * w - f.rate * g;
}

template <bool ADAM> static __global__ __launch_bounds__(THREADS) void update_all(hd_update_args a, flat f)
{
    __shared__ factors shared;
    size_t me = flat_thread(), all = flat_threads(), singles = f.count - 4 * f.fours;
    float4 *grad = (float4 *)(a.grad + f.lead), *value = (float4 *)(a.value + f.lead);
    if (a.step->skip) {
        for (size_t i = me; i < f.fours; i += all) grad[i] = make_float4(0, 0, 0, 0);
        for (size_t i = me; i < singles; i += all) a.grad[flat_single(f, i)] = 0;
        return;
    }
    if (!threadIdx.x) shared = factors_of(a);
    __syncthreads();
    factors k = shared;
    bool moment = a.first != NULL;
    float4 *first = moment ? (float4 *)(a.first + f.lead) : NULL;
    float4 *second = ADAM ? (float4 *)(a.second + f.lead) : NULL;
    for (size_t i = me; i < f.fours; i += all) {
        float4 w = value[i], g = grad[i], m = make_float4(0, 0, 0, 0), v = m;
        if (ADAM || moment) m = first[i];
        if (ADAM) v = second[i];
        w.x = ruled<ADAM>(k, w.x, g.x, &m.x, &v.x, moment);
        w.y = ruled<ADAM>(k, w.y, g.y, &m.y, &v.y, moment);
        w.z = ruled<ADAM>(k, w.z, g.z, &m.z, &v.z, moment);
        w.w = ruled<ADAM>(k, w.w, g.w, &m.w, &v.w, moment);
        value[i] = w;
        if (ADAM || moment) first[i] = m;
        if (ADAM) second[i] = v;
        grad[i] = make_float4(0, 0, 0, 0);
        if (a.shadow) {
            __nv_bfloat162 low = __floats2bfloat162_rn(w.x, w.y), high = __floats2bfloat162_rn(w.z, w.w);
            uint2 both = make_uint2(*(unsigned *)&low, *(unsigned *)&high);
            ((uint2 *)(a.shadow + f.lead))[i] = both;
        }
    }
    for (size_t s = me; s < singles; s += all) {
        size_t i = flat_single(f, s);
        float m = ADAM || moment ? a.first[i] : 0, v = ADAM ? a.second[i] : 0;
        float w = ruled<ADAM>(k, a.value[i], a.grad[i], &m, &v, moment);
        a.value[i] = w, a.grad[i] = 0;
        if (ADAM || moment) a.first[i] = m;
        if (ADAM) a.second[i] = v;
        if (a.shadow) ((bf16 *)a.shadow)[i] = __float2bfloat16(w);
    }
}

/* The same of weights that are in bf16 alone, one by one: rounded by chance. */
template <bool ADAM> static __global__ __launch_bounds__(THREADS) void update_small(hd_update_args a)
{
    __shared__ factors shared;
    size_t me = flat_thread(), all = flat_threads();
    if (a.step->skip) {
        for (size_t i = me; i < a.count; i += all) a.grad[i] = 0;
        return;
    }
    if (!threadIdx.x) shared = factors_of(a);
    __syncthreads();
    factors k = shared;
    bool moment = a.first != NULL;
    uint32_t updates = (uint32_t)a.step->updates;
    for (size_t i = me; i < a.count; i += all) {
        float m = ADAM || moment ? a.first[i] : 0, v = ADAM ? a.second[i] : 0;
        float w = ruled<ADAM>(k, __bfloat162float(((bf16 *)a.shadow)[i]), a.grad[i], &m, &v, moment);
        a.grad[i] = 0;
        if (ADAM || moment) a.first[i] = m;
        if (ADAM) a.second[i] = v;
        a.shadow[i] = hd_rounding_bf16(__float_as_uint(w), hd_rounding_draw(a.place + i, updates));
    }
}

extern "C" hd_status hd_cuda_update(hd_backend *b, const hd_update_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->count) return HD_OK;
    if (!a->value) {
        flat singles = {a->count, 0, 0};
        unsigned small = flat_blocks(c, &singles);
        if (a->rule == HD_ADAM)
            update_small<true><<<small, THREADS, 0, c->stream>>>(*a);
        else
            update_small<false><<<small, THREADS, 0, c->stream>>>(*a);
        return hd_cuda_done(c, "update");
    }
    flat f = flat_of(a->count, a->value, a->grad, a->first, a->second, a->shadow);
    unsigned blocks = flat_blocks(c, &f);
    if (a->rule == HD_ADAM)
        update_all<true><<<blocks, THREADS, 0, c->stream>>>(*a, f);
    else
        update_all<false><<<blocks, THREADS, 0, c->stream>>>(*a, f);
    return hd_cuda_done(c, "update");
}

/* -- average -- */

static __global__ __launch_bounds__(THREADS) void average_all(hd_average_args a, flat f)
{
    if (a.step->skip) return;
    double t = a.step->updates, early = (1 + t) / (10 + t), decay = fmin(early, (double)a.decay);
    float keep = (float)decay, rest = (float)(1 - decay);
    size_t me = flat_thread(), all = flat_threads();
    float4 *mean = (float4 *)(a.mean + f.lead);
    const float4 *value = (const float4 *)(a.value + f.lead);
    for (size_t i = me; i < f.fours; i += all) {
        float4 m = mean[i], v = value[i];
        m.x = keep * m.x + rest * v.x, m.y = keep * m.y + rest * v.y;
        m.z = keep * m.z + rest * v.z, m.w = keep * m.w + rest * v.w;
        mean[i] = m;
    }
    for (size_t s = me; s < f.count - 4 * f.fours; s += all) {
        size_t i = flat_single(f, s);
        a.mean[i] = keep * a.mean[i] + rest * a.value[i];
    }
}

extern "C" hd_status hd_cuda_average(hd_backend *b, const hd_average_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!a->count) return HD_OK;
    flat f = flat_of(a->count, a->mean, a->value, NULL, NULL, NULL);
    average_all<<<flat_blocks(c, &f), THREADS, 0, c->stream>>>(*a, f);
    return hd_cuda_done(c, "average");
}
