/* Norms over rows, forward: x is read twice, once for mean and squares of each chunk of rows, once to be
   normed. Chunks are laid together in double and in an order that only the shape decides. */
#include "backend/cuda/function.h"
#include "backend/cuda/norm/group.h"

typedef struct moments {
    double count, mean, squares; /* squares: around the mean */
} moments;

DEVICE void add_moments(moments *m, double count, double mean, double squares)
{
    if (count <= 0) return;
    double all = m->count + count, d = mean - m->mean;
    m->mean += d * count / all;
    m->squares += squares + d * d * m->count * count / all;
    m->count = all;
}

/* Sums around the first number that the thread meets: it lies among the others, so nothing is lost. */
template <class T> __global__ void __launch_bounds__(WALK_THREADS) moments_kernel(group_walk w, mat x)
{
    const int W = step_of<T>::W;
    __shared__ float means[WALK_THREADS * W], squares[WALK_THREADS * W];
    __shared__ int counts[WALK_THREADS];
    group_place p = group_place_of<T>(w);
    float first[W] = {}, s1[W] = {}, s2[W] = {};
    int count = 0;
#pragma unroll 4
    for (int r = p.row; r < p.till; r += p.step) {
        if (!group_owns(w, r)) continue;
        float v[W];
        get<T>(v, x, (size_t)r, p.c);
#pragma unroll
        for (int i = 0; i < W; i++) {
            first[i] = count ? first[i] : v[i];
            float d = v[i] - first[i];
            s1[i] += d, s2[i] += d * d;
        }
        count++;
    }
    float by = count ? 1.0f / (float)count : 0;
#pragma unroll
    for (int i = 0; i < W; i++) {
        means[threadIdx.x * W + i] = first[i] + s1[i] * by;
        squares[threadIdx.x * W + i] = fmaxf(0, s2[i] - s1[i] * s1[i] * by);
    }
    counts[threadIdx.x] = count;
    __syncthreads();
    for (int k = threadIdx.x; k < w.lanes * W;
         k += WALK_THREADS) { /* a column: its threads one after the other */
        int c = blockIdx.x * w.lanes * W + k;
        if (c >= w.cols) break;
        moments m = {};
        for (int s = 0; s < p.slots; s++) {
            int t = s * w.lanes + k / W; /* slots follow each other by the lanes of a row */
            add_moments(&m, counts[t], means[t * W + k % W], squares[t * W + k % W]);
        }
        float *part = w.part + group_part(w) * 2 * w.cols;
        part[c] = (float)m.mean, part[w.cols + c] = (float)m.squares;
        if (!c) w.count[group_part(w)] = (int)m.count;
    }
}

typedef struct stat_of {
    float *stat, *mean, *variance; /* stat [2 * sets, cols] */
    size_t stride;
    bool given;
    float eps, momentum;
} stat_of;

DEVICE moments shuffled(const moments &m, int d)
{
    return {__shfl_xor_sync(FULL_WARP, m.count, d), __shfl_xor_sync(FULL_WARP, m.mean, d),
            __shfl_xor_sync(FULL_WARP, m.squares, d)};
}

/* A warp to a group of a set. The lower lane's part always comes first, so both of a pair get the same. */
static __global__ void stat_kernel(group_walk w, stat_of k)
{
    int lane = threadIdx.x % 32, unit = blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    if (unit >= w.sets * w.groups) return;
    int set = unit / w.groups, width = w.cols / w.groups, first = unit % w.groups * width;
    moments m = {};
    if (k.given) m = {1, k.mean[first], k.variance[first]};
    for (int i = lane; !k.given && i < w.chunks * width; i += 32) {
        size_t part = (size_t)set * w.chunks + i / width;
        const float *at = w.part + part * 2 * w.cols + first + i % width;
        add_moments(&m, w.count[part], at[0], at[w.cols]);
    }
    for (int d = 1; !k.given && d < 32; d *= 2) {
        moments other = shuffled(m, d), low = lane & d ? other : m, high = lane & d ? m : other;
        m = low;
        add_moments(&m, high.count, high.mean, high.squares);
    }
    double variance = m.count > 0 ? m.squares / m.count : 0;
    float inverse = (float)(1 / sqrt(variance + (double)k.eps));
    for (int c = first + lane; c < first + width; c += 32) {
        k.stat[2 * set * k.stride + c] = (float)m.mean;
        k.stat[(2 * set + 1) * k.stride + c] = inverse;
    }
    if (k.given || !k.mean || lane || m.count <= 0) return;
    double sample = m.squares / (m.count > 1 ? m.count - 1 : 1), keep = 1 - (double)k.momentum;
    if (!isfinite(m.mean) || !isfinite(sample)) return;
    k.mean[first] = (float)(keep * k.mean[first] + (double)k.momentum * m.mean);
    k.variance[first] = (float)(keep * k.variance[first] + (double)k.momentum * sample);
}

typedef struct apply_of {
    mat y, before, x, add;
    const float *stat, *gain, *bias;
    size_t stride;
    int act;
} apply_of;

template <class T> __global__ void __launch_bounds__(WALK_THREADS) apply_kernel(group_walk w, apply_of k)
{
    const int W = step_of<T>::W;
    group_place p = group_place_of<T>(w);
    float mean[W], by[W], bias[W];
#pragma unroll
    for (int i = 0; i < W; i++) {
        int c = p.c + i < w.cols ? p.c + i : 0;
        const float *stat = k.stat + 2 * (size_t)blockIdx.z * k.stride + c;
        mean[i] = stat[0], by[i] = stat[k.stride] * (k.gain ? k.gain[c] : 1),
        bias[i] = k.bias ? k.bias[c] : 0;
    }
#pragma unroll 4
    for (int r = p.row; r < p.till; r += p.step) {
        float v[W] = {}, u[W];
        if (group_owns(w, r)) {
            get<T>(v, k.x, (size_t)r, p.c);
            if (k.add.p) get<T>(u, k.add, (size_t)r, p.c);
#pragma unroll
            for (int i = 0; i < W; i++) v[i] = (v[i] - mean[i]) * by[i] + bias[i] + (k.add.p ? u[i] : 0);
        }
        if (k.before.p) put<T>(k.before, (size_t)r, p.c, v);
        if (group_owns(w, r)) unary_values<W>(v, k.act);
        put<T>(k.y, (size_t)r, p.c, v);
    }
}

/* Sets of items do not reach rows of none. */
template <class T> __global__ void clear_kernel(const int32_t *item, mat y, mat z)
{
    const int W = step_of<T>::W;
    span s;
    if (!span_of<T>(&s, y.rows, y.cols) || item[s.row] >= 0) return;
    const float none[W] = {};
    LANE_STEPS(T, c, s)
    {
        put<T>(y, s.row, c, none);
        if (z.p) put<T>(z, s.row, c, none);
    }
}

extern "C" hd_status hd_cuda_group_norm(hd_backend *b, const hd_group_norm_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (!hd_count_of(a->x)) return HD_OK;
    const hd_tensor *all[] = {a->y, a->before, a->x, a->add};
    walk_kind kind = walk_kind_of(all, 4);
    group_plan g;
    if (!group_plan_of(&g, c, kind, a->x, a->seg, a->together, a->groups, 0)) return HD_ENOMEM;
    if (!a->given) WALK(kind, moments_kernel, g.grid, WALK_THREADS, c->stream, g.walk, mat_of(a->x));
    stat_of k = {(float *)a->stat->data,
                 a->mean ? (float *)a->mean->data : NULL,
                 a->mean ? (float *)a->variance->data : NULL,
                 a->stat->stride,
                 a->given,
                 a->eps,
                 a->momentum};
    stat_kernel<<<hd_blocks((size_t)g.walk.sets * (size_t)g.walk.groups, WALK_WARPS), WALK_THREADS, 0,
                  c->stream>>>(g.walk, k);
    apply_of y = {mat_of(a->y),
                  mat_of(a->before),
                  mat_of(a->x),
                  mat_of(a->add),
                  k.stat,
                  a->gain ? (const float *)a->gain->data : NULL,
                  a->bias ? (const float *)a->bias->data : NULL,
                  k.stride,
                  (int)a->act};
    WALK(kind, apply_kernel, g.grid, WALK_THREADS, c->stream, g.walk, y);
    if (g.walk.begin && g.walk.item)
        WALK(kind, clear_kernel, walk_blocks(kind, a->y), WALK_THREADS, c->stream, g.walk.item, y.y,
             y.before);
    return hd_cuda_done(c, "group_norm");
}
