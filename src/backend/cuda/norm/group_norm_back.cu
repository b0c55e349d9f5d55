/* Norms over rows, backward: dz and x are read twice, once for the sums of each chunk of rows, once for dx.
 */
#include "backend/cuda/norm/group.h"

typedef struct back_of {
    mat dx, dz, x;
    const float *gain, *stat;
    size_t stride;
    float *dgain, *dbias;
    float *total; /* [sets, 2, cols]: sums of dz and of dz h, then their means over the group with the gain */
    bool given, add;
} back_of;

template <class T> __global__ void __launch_bounds__(WALK_THREADS) sums_kernel(group_walk w, back_of k)
{
    const int W = step_of<T>::W;
    __shared__ float plain[WALK_THREADS * W], normed[WALK_THREADS * W];
    __shared__ int counts[WALK_THREADS];
    group_place p = group_place_of<T>(w);
    float mean[W], by[W], s1[W] = {}, s2[W] = {};
    int count = 0;
#pragma unroll
    for (int i = 0; i < W; i++) {
        const float *stat = k.stat + 2 * (size_t)blockIdx.z * k.stride + (p.c + i < w.cols ? p.c + i : 0);
        mean[i] = stat[0], by[i] = stat[k.stride];
    }
    for (int r = p.row; r < p.till; r += GROUP_AHEAD * p.step) {
        held<T> slope[GROUP_AHEAD], value[GROUP_AHEAD];
        bool has[GROUP_AHEAD];
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            int at = r + j * p.step;
            has[j] = at < p.till && group_owns(w, at);
            if (has[j]) hold<T>(&slope[j], k.dz, at, p.c);
            if (has[j]) hold<T>(&value[j], k.x, at, p.c);
        }
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            if (!has[j]) continue;
            float g[W], v[W];
            unhold<T>(g, slope[j]);
            unhold<T>(v, value[j]);
#pragma unroll
            for (int i = 0; i < W; i++) s1[i] += g[i], s2[i] += g[i] * ((v[i] - mean[i]) * by[i]);
            count++;
        }
    }
#pragma unroll
    for (int i = 0; i < W; i++) plain[threadIdx.x * W + i] = s1[i], normed[threadIdx.x * W + i] = s2[i];
    counts[threadIdx.x] = count;
    __syncthreads();
    for (int i = threadIdx.x; i < w.lanes * W; i += WALK_THREADS) {
        int c = blockIdx.x * w.lanes * W + i, rows = 0;
        if (c >= w.cols) break;
        float a = 0, b = 0;
        for (int s = 0; s < p.slots; s++) {
            int t = s * w.lanes + i / W;
            a += plain[t * W + i % W], b += normed[t * W + i % W], rows += counts[t];
        }
        float *part = w.part + group_part(w) * 2 * w.cols;
        part[c] = a, part[w.cols + c] = b;
        if (!c) w.count[group_part(w)] = rows;
    }
}

/* A warp to a column of a set: its sums over the chunks. */
static __global__ void totals_kernel(group_walk w, float *total)
{
    int lane = threadIdx.x % 32, unit = blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    if (unit >= w.sets * w.cols) return;
    int set = unit / w.cols, c = unit % w.cols;
    double a = 0, b = 0;
    for (int i = lane; i < w.chunks; i += 32) {
        const float *part = w.part + ((size_t)set * w.chunks + i) * 2 * w.cols + c;
        a += part[0], b += part[w.cols];
    }
    a = warp_add(a), b = warp_add(b);
    if (lane) return;
    total += (size_t)set * 2 * w.cols + c;
    total[0] = (float)a, total[w.cols] = (float)b;
}

/* A thread to a column: gain and bias get the sums of all sets, in order. */
static __global__ void affine_kernel(group_walk w, back_of k)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= w.cols) return;
    double a = 0, b = 0;
    for (int set = 0; set < w.sets; set++)
        a += k.total[(size_t)set * 2 * w.cols + c], b += k.total[((size_t)set * 2 + 1) * w.cols + c];
    if (k.dbias) k.dbias[c] += (float)a;
    if (k.dgain) k.dgain[c] += (float)b;
}

/* A warp to a group of a set: the totals of its columns become means. */
static __global__ void means_kernel(group_walk w, back_of k)
{
    int lane = threadIdx.x % 32, unit = blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    if (unit >= w.sets * w.groups) return;
    int set = unit / w.groups, width = w.cols / w.groups, first = unit % w.groups * width;
    float *total = k.total + (size_t)set * 2 * w.cols;
    double m1 = 0, m2 = 0, rows = 0;
    for (int i = lane; i < w.chunks; i += 32) rows += w.count[(size_t)set * w.chunks + i];
    for (int c = first + lane; c < first + width; c += 32) {
        double by = k.gain ? k.gain[c] : 1;
        m1 += by * total[c], m2 += by * total[w.cols + c];
    }
    rows = warp_add(rows), m1 = warp_add(m1), m2 = warp_add(m2);
    double each = k.given || rows <= 0 ? 0 : 1 / (rows * width);
    for (int c = first + lane; c < first + width; c += 32)
        total[c] = (float)(m1 * each), total[w.cols + c] = (float)(m2 * each);
}

template <class T> __global__ void __launch_bounds__(WALK_THREADS) slope_kernel(group_walk w, back_of k)
{
    const int W = step_of<T>::W;
    group_place p = group_place_of<T>(w);
    float mean[W], by[W], gain[W], m1[W], m2[W];
#pragma unroll
    for (int i = 0; i < W; i++) {
        int c = p.c + i < w.cols ? p.c + i : 0;
        const float *stat = k.stat + 2 * (size_t)blockIdx.z * k.stride + c,
                    *total = k.total + 2 * (size_t)blockIdx.z * w.cols + c;
        mean[i] = stat[0], by[i] = stat[k.stride], gain[i] = k.gain ? k.gain[c] : 1;
        m1[i] = total[0], m2[i] = total[w.cols];
    }
    for (int r = p.row; r < p.till; r += GROUP_AHEAD * p.step) {
        held<T> slope[GROUP_AHEAD], value[GROUP_AHEAD];
        bool has[GROUP_AHEAD];
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            int at = r + j * p.step;
            has[j] = at < p.till && group_owns(w, at);
            if (has[j] && k.dx.p) hold<T>(&slope[j], k.dz, at, p.c);
            if (has[j] && k.dx.p) hold<T>(&value[j], k.x, at, p.c);
        }
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            int at = r + j * p.step;
            if (at >= p.till) break;
            float g[W] = {}, v[W];
            if (!has[j]) put<T>(k.dz, (size_t)at, p.c, g);
            if (!k.dx.p || (!has[j] && k.add)) continue;
            if (has[j]) {
                unhold<T>(g, slope[j]);
                unhold<T>(v, value[j]);
#pragma unroll
                for (int i = 0; i < W; i++)
                    g[i] = (g[i] * gain[i] - m1[i] - (v[i] - mean[i]) * by[i] * m2[i]) * by[i];
            }
            put_or_add<T>(k.dx, (size_t)at, p.c, g, k.add);
        }
    }
}

static float *floats(const hd_tensor *t)
{
    return t ? (float *)t->data : NULL;
}

extern "C" hd_status hd_cuda_group_norm_back(hd_backend *b, const hd_group_norm_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!hd_count_of(a->x)) return HD_OK;
    const hd_tensor *all[] = {a->dx, a->dz, a->x};
    walk_kind kind = walk_kind_of(all, 3);
    group_plan g;
    size_t n = hd_cols_of(a->x), sets = hd_group_sets(a->seg, a->together);
    if (!group_plan_of(&g, c, kind, a->x, a->seg, a->together, a->groups, sets * 2 * n)) return HD_ENOMEM;
    back_of k = {mat_of(a->dx),   mat_of(a->dz),    mat_of(a->x),     floats(a->gain), floats(a->stat),
                 a->stat->stride, floats(a->dgain), floats(a->dbias), g.rest,          a->given,
                 a->add};
    WALK(kind, sums_kernel, g.grid, WALK_THREADS, c->stream, g.walk, k);
    totals_kernel<<<hd_blocks(sets * n, WALK_WARPS), WALK_THREADS, 0, c->stream>>>(g.walk, k.total);
    if (k.dgain || k.dbias) affine_kernel<<<hd_blocks(n, 128), 128, 0, c->stream>>>(g.walk, k);
    means_kernel<<<hd_blocks(sets * (size_t)a->groups, WALK_WARPS), WALK_THREADS, 0, c->stream>>>(g.walk, k);
    if (k.dx.p || g.walk.item) WALK(kind, slope_kernel, g.grid, WALK_THREADS, c->stream, g.walk, k);
    if (g.walk.begin && g.walk.item)
        WALK(kind, group_clear_kernel, walk_blocks(kind, a->dz), WALK_THREADS, c->stream, g.walk.item, k.dz,
             k.add ? mat_of(NULL) : k.dx);
    return hd_cuda_done(c, "group_norm_back");
}
