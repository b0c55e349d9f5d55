/* Softmax and log-softmax over a row, and down the rows of a segment. A row that is -inf throughout gives
   zeros (log: -inf), not NaN; that is told by the sum being 0, so that a NaN still comes through. */
#include "backend/cuda/function.h"
#include "backend/cuda/walk.h"

enum { SOFT_THREADS = 1024 };

/* What is subtracted before the exponential: the maximum, unless nothing is in reach. */
DEVICE float base_of(float max)
{
    return max == -INFINITY ? 0.0f : max;
}

DEVICE void put8(const mat &y, size_t r, size_t c, const float *v)
{
    if (y.small)
        put<bf16>(y, r, c, v);
    else
        put<float>(y, r, c, v);
}

/* A block keeps a row in registers: N runs of eight to a thread. */
template <class T, int N>
__global__ void __launch_bounds__(SOFT_THREADS) softmax_kernel(mat y, mat x, bool log)
{
    __shared__ float room[32];
    size_t r = blockIdx.x;
    int n = x.cols;
    raw8<T> row[N];
    float v[8], max = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        int c = (i * SOFT_THREADS + threadIdx.x) * 8;
        if (c < n) load_raw<T>(&row[i], x, r, c);
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        if ((i * SOFT_THREADS + (int)threadIdx.x) * 8 >= n) continue;
        load8(v, (const T *)&row[i]);
#pragma unroll
        for (int j = 0; j < 8; j++) max = fmaxf(max, v[j]);
    }
    float base = base_of(block_max(max, room));
#pragma unroll
    for (int i = 0; i < N; i++) {
        if ((i * SOFT_THREADS + (int)threadIdx.x) * 8 >= n) continue;
        load8(v, (const T *)&row[i]);
#pragma unroll
        for (int j = 0; j < 8; j++) sum += quick_exp(v[j] - base);
    }
    sum = block_sum(sum, room);
    /* of nothing in reach, -inf - base - 0 and 0 * 0 are right */
    float less = sum == 0 ? 0 : logf(sum), share = sum == 0 ? 0 : 1 / sum;
#pragma unroll
    for (int i = 0; i < N; i++) {
        int c = (i * SOFT_THREADS + threadIdx.x) * 8;
        if (c >= n) continue;
        load8(v, (const T *)&row[i]);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = log ? (v[j] - base) - less : quick_exp(v[j] - base) * share;
        put8(y, r, c, v);
    }
}

/* Rows that registers do not hold: twice along the row, sums kept beside a running maximum. */
template <class T> __global__ void __launch_bounds__(SOFT_THREADS) softmax_long_kernel(mat y, mat x, bool log)
{
    __shared__ float room[32];
    size_t r = blockIdx.x;
    float max = -INFINITY, sum = 0;
#pragma unroll 4
    for (int c = threadIdx.x * 8; c < x.cols; c += SOFT_THREADS * 8) {
        float v[8], most = max, part = 0;
        get<T>(v, x, r, c);
#pragma unroll
        for (int j = 0; j < 8; j++) most = fmaxf(most, v[j]);
        float base = base_of(most);
#pragma unroll
        for (int j = 0; j < 8; j++) part += quick_exp(v[j] - base);
        sum = sum * quick_exp(max - base) + part, max = most;
    }
    float all = block_max(max, room), base = base_of(all);
    sum = block_sum(max == -INFINITY ? sum : sum * quick_exp(max - base), room);
    float less = sum == 0 ? 0 : logf(sum), share = sum == 0 ? 0 : 1 / sum;
#pragma unroll 4
    for (int c = threadIdx.x * 8; c < x.cols; c += SOFT_THREADS * 8) {
        float v[8];
        get<T>(v, x, r, c);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = log ? (v[j] - base) - less : quick_exp(v[j] - base) * share;
        put8(y, r, c, v);
    }
}

/* Any width and type; y may be x, as a thread meets the same columns each time. */
static __global__ void softmax_wide_kernel(mat y, mat x, bool log)
{
    __shared__ float room[32];
    size_t r = blockIdx.x;
    float max = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < x.cols; c += blockDim.x) max = fmaxf(max, mat_get(x, r, c));
    float base = base_of(block_max(max, room));
    for (int c = threadIdx.x; c < x.cols; c += blockDim.x) sum += expf(mat_get(x, r, c) - base);
    sum = block_sum(sum, room);
    float less = sum == 0 ? 0 : logf(sum), share = sum == 0 ? 0 : 1 / sum;
    for (int c = threadIdx.x; c < x.cols; c += blockDim.x) {
        float v = mat_get(x, r, c) - base;
        mat_put(y, r, c, log ? v - less : expf(v) * share);
    }
}

/* Threads for a row of n that a block walks along. */
static unsigned threads_for(size_t n)
{
    return n >= 4096 ? 1024 : n >= 1024 ? 256 : n >= 256 ? 64 : 32;
}

extern "C" hd_status hd_cuda_softmax(hd_backend *b, const hd_softmax_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    size_t rows = hd_rows_of(a->x), n = hd_cols_of(a->x);
    if (!rows || !n) return HD_OK;
    walk_kind kind = n >= 2048 && by_eights(a->y) ? walk_kind_of(&a->x, 1) : WALK_ANY;
    mat y = mat_of(a->y), x = mat_of(a->x);
    unsigned grid = (unsigned)rows;
    if (kind == WALK_BF16 && n > 32768)
        softmax_long_kernel<bf16><<<grid, SOFT_THREADS, 0, k->stream>>>(y, x, a->log);
    else if (kind == WALK_F32 && n > 32768)
        softmax_long_kernel<float><<<grid, SOFT_THREADS, 0, k->stream>>>(y, x, a->log);
    else if (kind == WALK_BF16 && n <= 8192)
        softmax_kernel<bf16, 1><<<grid, SOFT_THREADS, 0, k->stream>>>(y, x, a->log);
    else if (kind == WALK_BF16)
        softmax_kernel<bf16, 4><<<grid, SOFT_THREADS, 0, k->stream>>>(y, x, a->log);
    else if (kind == WALK_F32 && n <= 8192)
        softmax_kernel<float, 1><<<grid, SOFT_THREADS, 0, k->stream>>>(y, x, a->log);
    else if (kind == WALK_F32)
        softmax_kernel<float, 4><<<grid, SOFT_THREADS, 0, k->stream>>>(y, x, a->log);
    else
        softmax_wide_kernel<<<grid, threads_for(n), 0, k->stream>>>(y, x, a->log);
    return hd_cuda_done(k, "softmax");
}

/* dx = y (dy - sum(dy y)); of the logarithm: dx = dy - exp(y) sum(dy) */
static __global__ void softmax_back_kernel(mat dx, mat dy, mat y, bool log, bool add)
{
    __shared__ float room[32];
    size_t r = blockIdx.x;
    float sum = 0;
    for (int c = threadIdx.x; c < y.cols; c += blockDim.x)
        sum += log ? mat_get(dy, r, c) : mat_get(dy, r, c) * mat_get(y, r, c);
    sum = block_sum(sum, room);
    for (int c = threadIdx.x; c < y.cols; c += blockDim.x) {
        float p = mat_get(y, r, c), d = mat_get(dy, r, c);
        mat_put_or_add(dx, r, c, log ? d - hd_exp(p) * sum : p * (d - sum), add);
    }
}

extern "C" hd_status hd_cuda_softmax_back(hd_backend *b, const hd_softmax_back_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    if (!hd_count_of(a->y)) return HD_OK;
    softmax_back_kernel<<<(unsigned)hd_rows_of(a->y), threads_for(hd_cols_of(a->y)), 0, k->stream>>>(
        mat_of(a->dx), mat_of(a->dy), mat_of(a->y), a->log, a->add);
    return hd_cuda_done(k, "softmax_back");
}

/* A thread has one column of one item; where segments share rows, one column of all items, one after the
   other. */
typedef struct owned {
    const int32_t *begin, *len;
    int items, cols;
    bool overlap;
} owned;

static owned owned_by(const hd_seg *s, const hd_tensor *t)
{
    owned o = {s->begin, s->len, (int)s->items, (int)hd_cols_of(t), s->overlap};
    return o;
}
static size_t owned_threads(const owned *o)
{
    return (size_t)o->cols * (o->overlap ? 1 : o->items);
}
#define OWNED_ITEMS(o, i, c)                                                            \
    size_t at_ = (size_t)blockIdx.x * blockDim.x + threadIdx.x, mine_ = at_ / (o).cols; \
    size_t c = at_ - mine_ * (o).cols;                                                  \
    if (mine_ >= ((o).overlap ? 1 : (size_t)(o).items)) return;                         \
    for (int i = (int)mine_, till_ = (o).overlap ? (o).items : (int)mine_ + 1; i < till_; i++)

static __global__ void segment_softmax_kernel(mat y, mat x, owned o, bool log)
{
    OWNED_ITEMS(o, i, c)
    {
        size_t from = o.begin[i], till = from + max(o.len[i], 0);
        float most = -INFINITY;
        double sum = 0;
        for (size_t r = from; r < till; r++) most = fmaxf(most, mat_get(x, r, c));
        float base = base_of(most);
        for (size_t r = from; r < till; r++) sum += (double)expf(mat_get(x, r, c) - base);
        float less = sum == 0 ? 0 : logf((float)sum), share = sum == 0 ? 0 : (float)(1 / sum);
        for (size_t r = from; r < till; r++) {
            float v = mat_get(x, r, c) - base;
            mat_put(y, r, c, log ? v - less : expf(v) * share);
        }
    }
}

extern "C" hd_status hd_cuda_segment_softmax(hd_backend *b, const hd_segment_softmax_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    owned o = owned_by(a->seg, a->x);
    if (!owned_threads(&o) || !o.items) return HD_OK;
    segment_softmax_kernel<<<hd_blocks(owned_threads(&o), 128), 128, 0, k->stream>>>(mat_of(a->y),
                                                                                     mat_of(a->x), o, a->log);
    return hd_cuda_done(k, "segment_softmax");
}

static __global__ void segment_softmax_back_kernel(mat dx, mat dy, mat y, owned o, bool log, bool add)
{
    OWNED_ITEMS(o, i, c)
    {
        size_t from = o.begin[i], till = from + max(o.len[i], 0);
        double sum = 0;
        for (size_t r = from; r < till; r++)
            sum += (double)(mat_get(dy, r, c) * (log ? 1 : mat_get(y, r, c)));
        for (size_t r = from; r < till; r++) {
            float p = mat_get(y, r, c), d = mat_get(dy, r, c);
            float v = log ? d - hd_exp(p) * (float)sum : p * (d - (float)sum);
            mat_put_or_add(dx, r, c, v, add);
        }
    }
}

extern "C" hd_status hd_cuda_segment_softmax_back(hd_backend *b, const hd_segment_softmax_back_args *a)
{
    hd_cuda *k = (hd_cuda *)b;
    owned o = owned_by(a->seg, a->y);
    if (!owned_threads(&o) || !o.items) return HD_OK;
    segment_softmax_back_kernel<<<hd_blocks(owned_threads(&o), 128), 128, 0, k->stream>>>(
        mat_of(a->dx), mat_of(a->dy), mat_of(a->y), o, a->log, a->add);
    return hd_cuda_done(k, "segment_softmax_back");
}
