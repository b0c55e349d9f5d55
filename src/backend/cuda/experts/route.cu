/* The router: a warp takes a row, its scores in shared memory. Loads are whole numbers, so that atomics
   change no bit. */
#include "backend/cuda/device.h"

enum { WARPS = 4, ROOM = 48 << 10 }; /* ROOM: shared memory that a block may have without asking, bytes */

/* Warps of a block, a row each, whose rows take `each` bytes. */
static int warps_of(size_t each)
{
    size_t most = ROOM / each;
    return most < 1 ? 1 : most < WARPS ? (int)most : WARPS;
}

static const float TINY = 1e-20f; /* keeps a sum of weights from being 0 */

typedef struct routing {
    mat weights, scores, logits, dlogits, dweights;
    int32_t *ids, *load;
    size_t ids_stride, loads;
    const float *bias;
    const int32_t *item;
    float coef;
    int rows, experts;
    hd_routing how;
} routing;

/* The best of x[0 .. n) that is not taken, the first of equal ones, on every lane; -1: none is left. A number
   that is none counts as the smallest. */
DEVICE int warp_best(const float *x, const unsigned char *taken, int n)
{
    int lane = (int)threadIdx.x % 32, best = -1;
    float value = -INFINITY;
    for (int i = lane; i < n; i += 32)
        if (!taken[i] && (best < 0 || x[i] > value)) best = i, value = x[i];
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        int other = __shfl_xor_sync(FULL_WARP, best, d);
        float theirs = __shfl_xor_sync(FULL_WARP, value, d);
        if (other >= 0 && (best < 0 || theirs > value || (!(value > theirs) && other < best)))
            best = other, value = theirs;
    }
    return best;
}

/* Takes out what is in none of the best groups. worth: room for a number of each group. */
DEVICE void keep_groups(const routing &k, const float *x, unsigned char *taken, float *worth)
{
    int lane = (int)threadIdx.x % 32, each = k.experts / k.how.groups;
    for (int g = lane; g < k.how.groups; g += 32) {
        float sum = 0;
        for (int i = 0; i < k.how.group_best && i < each; i++) {
            int best = -1;
            for (int e = g * each; e < (g + 1) * each; e++)
                if (!taken[e] && (best < 0 || x[e] > x[best])) best = e;
            sum += x[best], taken[best] = 1;
        }
        worth[g] = sum;
    }
    __syncwarp();
    for (int e = lane; e < k.experts; e += 32) taken[e] = 0;
    __syncwarp();
    for (int i = 0; i < k.how.groups_used; i++) {
        int best = warp_best(worth, taken, k.how.groups);
        if (!lane) taken[best] = 1;
        __syncwarp();
    }
    unsigned kept[HD_EXPERTS_MOST / 32];
    for (int e = lane, i = 0; e < k.experts; e += 32, i++) kept[i] = taken[e / each];
    __syncwarp();
    for (int e = lane, i = 0; e < k.experts; e += 32, i++) taken[e] = !kept[i];
    __syncwarp();
}

DEVICE void score_row(const routing &k, int t, float *s)
{
    int lane = (int)threadIdx.x % 32;
    float most = -INFINITY, sum = 0;
    for (int e = lane; e < k.experts; e += 32) most = fmaxf(most, s[e] = mat_get(k.logits, t, e));
    most = warp_max(most);
    for (int e = lane; e < k.experts; e += 32) {
        s[e] = k.how.router == HD_ROUTER_SIGMOID ? 1 / (1 + expf(-s[e])) : expf(s[e] - most);
        sum += s[e];
    }
    float by = k.how.router == HD_ROUTER_SIGMOID ? 1 : 1 / warp_sum(sum);
    for (int e = lane; e < k.experts; e += 32) mat_put(k.scores, t, e, s[e] *= by);
    __syncwarp();
}

static __global__ void route_kernel(const __grid_constant__ routing k)
{
    extern __shared__ float room[];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32,
        t = (int)(blockIdx.x * blockDim.x / 32) + warp;
    float *s = room + warp * 4 * k.experts, *x = s + k.experts, *worth = x + k.experts;
    unsigned char *taken = (unsigned char *)(worth + k.experts);
    if (t >= k.rows) return;
    int32_t *ids = k.ids + (size_t)t * k.ids_stride;
    if (k.item && k.item[t] < 0) {
        for (int i = lane; i < k.how.used; i += 32) ids[i] = -1, mat_put(k.weights, t, i, 0);
        for (int e = lane; e < k.experts; e += 32) mat_put(k.scores, t, e, 0);
        return;
    }
    score_row(k, t, s);
    for (int e = lane; e < k.experts; e += 32) x[e] = s[e] + (k.bias ? k.bias[e] : 0), taken[e] = 0;
    __syncwarp();
    if (k.how.groups) keep_groups(k, x, taken, worth);
    float sum = TINY;
    int32_t *load = k.load ? k.load + (k.loads > 1 ? (size_t)k.item[t] * k.experts : 0) : NULL;
    for (int i = 0; i < k.how.used; i++) {
        int best = warp_best(x, taken, k.experts);
        sum += s[best];
        if (!lane) {
            ids[i] = best, taken[best] = 1;
            if (load) atomicAdd(load + best, 1);
        }
        __syncwarp();
    }
    float by = k.how.scaling / (k.how.normalized ? sum : 1);
    for (int i = lane; i < k.how.used; i += 32) mat_put(k.weights, t, i, by * s[ids[i]]);
}

extern "C" hd_status hd_cuda_route(hd_backend *b, const hd_route_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    routing k = {};
    k.weights = mat_of(a->weights), k.scores = mat_of(a->scores), k.logits = mat_of(a->logits);
    k.ids = (int32_t *)a->ids->data, k.ids_stride = a->ids->stride, k.load = a->load, k.loads = a->loads;
    k.bias = a->bias ? (const float *)a->bias->data : NULL, k.item = a->item, k.how = a->how;
    k.rows = (int)hd_rows_of(a->logits), k.experts = (int)hd_cols_of(a->logits);
    if (!k.rows) return HD_OK;
    size_t each = (size_t)4 * k.experts * sizeof(float);
    int warps = warps_of(each);
    route_kernel<<<hd_blocks(k.rows, warps), 32 * warps, warps * each, c->stream>>>(k);
    return hd_cuda_done(c, "route");
}

/* -- backward -- */

/* ds += of the balance loss. */
DEVICE void balance_row(const routing &k, int t, float *ds, const float *s)
{
    int lane = (int)threadIdx.x % 32;
    const int32_t *load = k.load + (k.loads > 1 ? (size_t)k.item[t] * k.experts : 0);
    int all = 0;
    float sum = 0, mean = 0;
    for (int e = lane; e < k.experts; e += 32) all += load[e], sum += s[e];
    all = __reduce_add_sync(FULL_WARP, all);
    if (!all) return;
    float by = k.coef / (float)all;
    if (k.how.router == HD_ROUTER_SOFTMAX) {
        for (int e = lane; e < k.experts; e += 32) ds[e] += by * (float)load[e];
        return;
    }
    sum = warp_sum(sum) + TINY;
    for (int e = lane; e < k.experts; e += 32) mean += by * (float)load[e] * s[e] / sum;
    mean = warp_sum(mean);
    for (int e = lane; e < k.experts; e += 32) ds[e] += (by * (float)load[e] - mean) / sum;
}

static __global__ void route_back_kernel(const __grid_constant__ routing k)
{
    extern __shared__ float room[];
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32,
        t = (int)(blockIdx.x * blockDim.x / 32) + warp;
    float *s = room + warp * 2 * k.experts, *ds = s + k.experts;
    if (t >= k.rows) return;
    bool none = k.item && k.item[t] < 0;
    for (int e = lane; e < k.experts; e += 32) s[e] = none ? 0 : mat_get(k.scores, t, e), ds[e] = 0;
    __syncwarp();
    const int32_t *ids = k.ids + (size_t)t * k.ids_stride;
    if (!none && k.dweights.p) {
        float sum = 1, mean = 0;
        if (k.how.normalized) {
            sum = TINY;
            for (int i = 0; i < k.how.used; i++)
                sum += s[ids[i]], mean += mat_get(k.dweights, t, i) * mat_get(k.weights, t, i);
        }
        for (int i = lane; i < k.how.used; i += 32)
            ds[ids[i]] = (k.how.scaling * mat_get(k.dweights, t, i) - mean) / sum;
        __syncwarp();
    }
    if (!none && k.load) balance_row(k, t, ds, s);
    float mean = 0;
    bool together = k.how.router == HD_ROUTER_SOFTMAX;
    for (int e = lane; together && e < k.experts; e += 32) mean += ds[e] * s[e];
    mean = warp_sum(mean);
    for (int e = lane; e < k.experts; e += 32)
        mat_put(k.dlogits, t, e, s[e] * (together ? ds[e] - mean : (1 - s[e]) * ds[e]));
}

extern "C" hd_status hd_cuda_route_back(hd_backend *b, const hd_route_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    routing k = {};
    k.weights = mat_of(a->weights), k.scores = mat_of(a->scores);
    k.dlogits = mat_of(a->dlogits), k.dweights = mat_of(a->dweights);
    k.ids = (int32_t *)a->ids->data, k.ids_stride = a->ids->stride;
    k.load = (int32_t *)a->load, k.loads = a->loads, k.item = a->item, k.how = a->how, k.coef = a->coef;
    k.rows = (int)hd_rows_of(a->scores), k.experts = (int)hd_cols_of(a->scores);
    if (!k.rows) return HD_OK;
    size_t each = (size_t)2 * k.experts * sizeof(float);
    int warps = warps_of(each);
    route_back_kernel<<<hd_blocks(k.rows, warps), 32 * warps, warps * each, c->stream>>>(k);
    return hd_cuda_done(c, "route_back");
}

/* -- balancing -- */

static __global__ void balance_kernel(float *bias, float *load, float *was, int n, float rate,
                                      const hd_step *step)
{
    float mean = 0; /* every thread by itself, in one order */
    rate *= 1 - step->settled;
    for (int e = 0; e < n; e++) mean += load[e];
    mean /= (float)n;
    __syncthreads();
    for (int e = (int)threadIdx.x; e < n; e += (int)blockDim.x) {
        float x = load[e];
        load[e] = 0;
        if (step->skip) continue;
        was[e] = x;
        if (bias) bias[e] += rate * (float)((mean > x) - (mean < x));
    }
}

extern "C" hd_status hd_cuda_balance(hd_backend *b, const hd_balance_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    balance_kernel<<<1, 256, 0, c->stream>>>(a->bias ? (float *)a->bias->data : NULL, (float *)a->load->data,
                                             (float *)a->was->data, (int)hd_cols_of(a->load), a->rate,
                                             a->step);
    return hd_cuda_done(c, "balance");
}
