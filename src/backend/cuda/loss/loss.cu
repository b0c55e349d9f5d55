/* Losses per row, with the gradient in the same pass. The gradient may lie where the logits are: a block
   keeps its row in registers, or reads the target's logit and the whole row before it writes the first
   column. */
#include "backend/box.h"
#include "backend/cuda/function.h"
#include "backend/cuda/walk.h"

enum { CE_THREADS = 512 };

typedef struct entropy_of {
    mat loss, logp, dx, x, weight, policy_rows;
    const int32_t *target;
    float smoothing, coef;
    bool add;
    hd_policy_opt policy;
} entropy_of;

DEVICE float raw_max(const raw8<bf16> &x)
{
    const __nv_bfloat162 *h = (const __nv_bfloat162 *)&x;
    __nv_bfloat162 m = __hmax2(__hmax2(h[0], h[1]), __hmax2(h[2], h[3]));
    return fmaxf(__low2float(m), __high2float(m));
}
DEVICE float raw_max(const raw8<float> &x)
{
    float v[8], m;
    load8(v, (const float *)&x);
    m = v[0];
#pragma unroll
    for (int j = 1; j < 8; j++) m = fmaxf(m, v[j]);
    return m;
}

/* Two sums in one go; `room` is 64 floats. */
DEVICE float2 block_sums(float x, float y, float *room)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    x = warp_sum(x), y = warp_sum(y);
    if (!lane) room[warp] = x, room[32 + warp] = y;
    __syncthreads();
    x = warp_sum(lane < warps ? room[lane] : 0), y = warp_sum(lane < warps ? room[32 + lane] : 0);
    __syncthreads();
    return make_float2(x, y);
}

/* A row whose target is no column weighs nothing, whatever it holds. */
DEVICE bool row_counts(const entropy_of &k, size_t r)
{
    int t = k.target[r];
    if (t >= 0 && t < k.x.cols) return true;
    if (!threadIdx.x) {
        if (k.loss.p) mat_put(k.loss, r, 0, 0);
        if (k.logp.p) mat_put(k.logp, r, 0, 0);
    }
    return false;
}

/* The loss of a row that was drawn, and its derivative by the log-probability. */
DEVICE double policy_row(const entropy_of &k, size_t r, double logp, double *slope)
{
    return hd_policy_loss(k.policy, logp, mat_get(k.policy_rows, r, HD_POLICY_ADVANTAGE),
                          mat_get(k.policy_rows, r, HD_POLICY_BEFORE),
                          mat_get(k.policy_rows, r, HD_POLICY_REFERENCE), slope);
}

/* Returns what the weight of the gradient is multiplied by. */
DEVICE float put_loss(const entropy_of &k, size_t r, float weight, float at, float max, float2 sums)
{
    if (threadIdx.x && !k.policy_rows.p) return 1;
    double lse = (double)max + log((double)sums.x), s = (double)k.smoothing, slope = -1;
    double average = s > 0 ? (double)sums.y / k.x.cols : 0, loss = lse - (1 - s) * (double)at - s * average;
    if (k.policy_rows.p) loss = policy_row(k, r, (double)at - lse, &slope);
    if (!threadIdx.x && k.logp.p) mat_put(k.logp, r, 0, (float)((double)at - lse));
    if (!threadIdx.x && k.loss.p) mat_put(k.loss, r, 0, (float)((double)weight * loss));
    return (float)-slope;
}

/* N: runs of eight that a thread holds */
template <class T, int N>
__global__ void __launch_bounds__(CE_THREADS, sizeof(T) * N <= 16 ? 2 : 1) entropy_kernel(entropy_of k)
{
    __shared__ float room[64];
    size_t r = blockIdx.x;
    int n = k.x.cols, t = k.target[r];
    if (!row_counts(k, r)) {
        const float none[8] = {};
        for (int c = threadIdx.x * 8; k.dx.p && !k.add && c < n; c += CE_THREADS * 8)
            put<T>(k.dx, r, c, none);
        return;
    }
    raw8<T> x[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        int c = (i * CE_THREADS + threadIdx.x) * 8;
        if (c < n) load_raw<T>(&x[i], k.x, r, c);
    }
    float weight = k.weight.p ? mat_get(k.weight, r, 0) : 1, at = mat_get(k.x, r, t), max = -INFINITY;
#pragma unroll
    for (int i = 0; i < N; i++)
        if ((i * CE_THREADS + (int)threadIdx.x) * 8 < n) max = fmaxf(max, raw_max(x[i]));
    max = block_max(max, room);
    float sum = 0, all = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        if ((i * CE_THREADS + (int)threadIdx.x) * 8 >= n) continue;
        float v[8];
        load8(v, (const T *)&x[i]);
#pragma unroll
        for (int j = 0; j < 8; j++) sum += quick_exp(v[j] - max), all += v[j];
    }
    float2 sums = block_sums(sum, all, room);
    float pull = put_loss(k, r, weight, at, max, sums);
    if (!k.dx.p) return;
    float slope = k.coef * weight * pull, share = slope / sums.x, smooth = slope * k.smoothing / (float)n;
#pragma unroll
    for (int i = 0; i < N; i++) {
        int c = (i * CE_THREADS + threadIdx.x) * 8;
        if (c >= n) continue;
        float v[8];
        load8(v, (const T *)&x[i]);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = quick_exp(v[j] - max) * share - smooth;
        if (c <= t && t < c + 8) {
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] -= c + j == t ? slope * (1 - k.smoothing) : 0;
        }
        put_or_add<T>(k.dx, r, c, v, k.add);
    }
}

/* Any width and type; goes through the row three times. */
static __global__ void entropy_wide_kernel(entropy_of k)
{
    __shared__ float room[64];
    size_t r = blockIdx.x;
    int n = k.x.cols, t = k.target[r];
    if (!row_counts(k, r)) {
        for (int c = threadIdx.x; k.dx.p && !k.add && c < n; c += blockDim.x) mat_put(k.dx, r, c, 0);
        return;
    }
    float weight = k.weight.p ? mat_get(k.weight, r, 0) : 1, at = mat_get(k.x, r, t), max = -INFINITY;
    for (int c = threadIdx.x; c < n; c += blockDim.x) max = fmaxf(max, mat_get(k.x, r, c));
    max = block_max(max, room);
    float sum = 0, all = 0;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float v = mat_get(k.x, r, c);
        sum += expf(v - max), all += v;
    }
    float2 sums = block_sums(sum, all, room);
    float pull = put_loss(k, r, weight, at, max, sums);
    if (!k.dx.p) return;
    float slope = k.coef * weight * pull, share = slope / sums.x, smooth = slope * k.smoothing / (float)n;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float v = expf(mat_get(k.x, r, c) - max) * share - smooth;
        if (c == t) v -= slope * (1 - k.smoothing);
        mat_put_or_add(k.dx, r, c, v, k.add);
    }
}

extern "C" hd_status hd_cuda_cross_entropy(hd_backend *b, const hd_cross_entropy_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t rows = hd_rows_of(a->x), n = hd_cols_of(a->x);
    if (!rows || !n) return HD_OK;
    const hd_tensor *all[] = {a->dx, a->x};
    walk_kind kind = n >= 1024 ? walk_kind_of(all, 2) : WALK_ANY;
    size_t runs = (n + CE_THREADS * 8 - 1) / (CE_THREADS * 8); /* of eight, to a thread */
    entropy_of k = {mat_of(a->loss), mat_of(a->logp),   mat_of(a->dx),
                    mat_of(a->x),    mat_of(a->weight), mat_of(a->policy_rows),
                    a->target,       a->smoothing,      a->coef,
                    a->add,          a->policy};
    unsigned grid = (unsigned)rows;
    if (kind == WALK_BF16 && runs <= 2)
        entropy_kernel<bf16, 2><<<grid, CE_THREADS, 0, c->stream>>>(k);
    else if (kind == WALK_BF16 && runs <= 4)
        entropy_kernel<bf16, 4><<<grid, CE_THREADS, 0, c->stream>>>(k);
    else if (kind == WALK_BF16 && runs <= 8)
        entropy_kernel<bf16, 8><<<grid, CE_THREADS, 0, c->stream>>>(k);
    else if (kind == WALK_BF16 && runs <= 16)
        entropy_kernel<bf16, 16><<<grid, CE_THREADS, 0, c->stream>>>(k);
    else if (kind == WALK_F32 && runs <= 2)
        entropy_kernel<float, 2><<<grid, CE_THREADS, 0, c->stream>>>(k);
    else if (kind == WALK_F32 && runs <= 8)
        entropy_kernel<float, 8><<<grid, CE_THREADS, 0, c->stream>>>(k);
    else
        entropy_wide_kernel<<<grid, n >= 4096 ? 1024 : n >= 512 ? 128 : 32, 0, c->stream>>>(k);
    return hd_cuda_done(c, "cross_entropy");
}

typedef struct distance_of {
    mat loss, dx, dtarget, x, target, weight;
    hd_distance_kind kind;
    double coef;
} distance_of;

DEVICE double warp_total(double x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}

/* A warp to a row. */
static __global__ void distance_kernel(distance_of k)
{
    size_t r = (size_t)blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    if (r >= (size_t)k.x.rows) return;
    double sum = 0, weight = k.weight.p ? (double)mat_get(k.weight, r, 0) : 1, by = weight * k.coef;
    for (int c = threadIdx.x % 32; c < k.x.cols; c += 32) {
        double v = mat_get(k.x, r, c), u = mat_get(k.target, r, c), d = v - u, slope, back;
        if (k.kind == HD_SQUARED) {
            sum += d * d, slope = 2 * d, back = -2 * d;
        } else { /* max(v,0) - v u + log(1 + exp(-|v|)): no overflow on either side */
            sum += fmax(v, 0.0) - v * u + log1p(exp(-fabs(v)));
            slope = 1 / (1 + exp(-v)) - u, back = -v;
        }
        if (k.dx.p) mat_put_or_add(k.dx, r, c, (float)(by * slope), true);
        if (k.dtarget.p) mat_put_or_add(k.dtarget, r, c, (float)(by * back), true);
    }
    sum = warp_total(sum);
    if (k.loss.p && threadIdx.x % 32 == 0) mat_put(k.loss, r, 0, (float)(weight * sum));
}

/* A thread to a row: boxes have four columns, and rows of |x - t| are short. A row of weight 0 is not read.
 */
static __global__ void box_kernel(distance_of k)
{
    size_t r = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= (size_t)k.x.rows) return;
    double weight = k.weight.p ? (double)mat_get(k.weight, r, 0) : 1, by = weight * k.coef, sum = 0;
    double v[4], u[4], dv[4], du[4];
    for (int c = 0; weight != 0 && k.kind == HD_ABSOLUTE && c < k.x.cols; c++) {
        double d = (double)mat_get(k.x, r, c) - (double)mat_get(k.target, r, c), slope = d > 0   ? by
                                                                                         : d < 0 ? -by
                                                                                                 : 0;
        sum += fabs(d);
        if (k.dx.p) mat_put_or_add(k.dx, r, c, (float)slope, true);
        if (k.dtarget.p) mat_put_or_add(k.dtarget, r, c, (float)-slope, true);
    }
    if (weight != 0 && k.kind == HD_GIOU) {
        for (int c = 0; c < 4; c++) v[c] = mat_get(k.x, r, c), u[c] = mat_get(k.target, r, c);
        sum = hd_box_error_of(v, u, dv, du);
        for (int c = 0; c < 4; c++) {
            if (k.dx.p) mat_put_or_add(k.dx, r, c, (float)(by * dv[c]), true);
            if (k.dtarget.p) mat_put_or_add(k.dtarget, r, c, (float)(by * du[c]), true);
        }
    }
    if (k.loss.p) mat_put(k.loss, r, 0, (float)(weight * sum));
}

extern "C" hd_status hd_cuda_distance(hd_backend *b, const hd_distance_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!hd_rows_of(a->x)) return HD_OK;
    distance_of k = {mat_of(a->loss),   mat_of(a->dx), mat_of(a->dtarget), mat_of(a->x), mat_of(a->target),
                     mat_of(a->weight), a->kind,       (double)a->coef};
    if (a->kind == HD_ABSOLUTE || a->kind == HD_GIOU)
        box_kernel<<<hd_blocks(hd_rows_of(a->x), 64), 64, 0, c->stream>>>(k);
    else
        distance_kernel<<<hd_blocks(hd_rows_of(a->x), WALK_WARPS), WALK_THREADS, 0, c->stream>>>(k);
    return hd_cuda_done(c, "distance");
}

/* One block: every thread adds its numbers in order, then the threads are added in order. */
static __global__ void total_kernel(mat y, mat x, double scale, bool add)
{
    __shared__ double room[32];
    double sum = 0;
    size_t count = (size_t)x.rows * x.cols;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        size_t r = x.cols == 1 ? i : i / x.cols;
        sum += (double)mat_get(x, r, i - r * x.cols);
    }
    sum = warp_total(sum);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = warp_total(room[threadIdx.x]);
    if (!threadIdx.x) mat_put_or_add(y, 0, 0, (float)(scale * sum), add);
}

extern "C" hd_status hd_cuda_total(hd_backend *b, const hd_total_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    total_kernel<<<1, 1024, 0, c->stream>>>(mat_of(a->y), mat_of(a->x), (double)a->scale, a->add);
    return hd_cuda_done(c, "total");
}
