/* Norms over rows, forward: x is read twice, once for mean and squares of each chunk of rows, once to be
   normed. Chunks are laid together in double and in an order that only the shape decides. */
#include "backend/cuda/function.h"
#include "backend/cuda/norm/group.h"

/* The mean of the threads that share a column, and the squares around it: thread s * lanes + of. */
DEVICE void join(float *to, const group_walk &w, const float *mean, const float *square, const int *count,
                 int of, int slots, int W)
{
    float base = 0, sum = 0, all = 0;
    for (int s = slots - 1; s >= 0; s--)
        if (count[s * w.lanes + of / W]) base = mean[s * w.lanes * W + of];
    for (int s = 0; s < slots; s++) {
        float n = (float)count[s * w.lanes + of / W];
        all += n, sum += n * (mean[s * w.lanes * W + of] - base);
    }
    float middle = all > 0 ? base + sum / all : 0, squares = 0;
    for (int s = 0; s < slots; s++) {
        float d = mean[s * w.lanes * W + of] - middle;
        squares += square[s * w.lanes * W + of] + (float)count[s * w.lanes + of / W] * d * d;
    }
    to[0] = middle, to[w.cols] = squares;
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
    for (int r = p.row; r < p.till; r += GROUP_AHEAD * p.step) {
        held<T> h[GROUP_AHEAD];
        bool has[GROUP_AHEAD];
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            has[j] = r + j * p.step < p.till && group_owns(w, r + j * p.step);
            if (has[j]) hold<T>(&h[j], x, r + j * p.step, p.c);
        }
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            if (!has[j]) continue;
            float v[W];
            unhold<T>(v, h[j]);
#pragma unroll
            for (int i = 0; i < W; i++) {
                first[i] = count ? first[i] : v[i];
                float d = v[i] - first[i];
                s1[i] += d, s2[i] += d * d;
            }
            count++;
        }
    }
    float by = count ? 1.0f / (float)count : 0;
#pragma unroll
    for (int i = 0; i < W; i++) {
        means[threadIdx.x * W + i] = first[i] + s1[i] * by;
        squares[threadIdx.x * W + i] = fmaxf(0, s2[i] - s1[i] * s1[i] * by);
    }
    counts[threadIdx.x] = count;
    __syncthreads();
    for (int k = threadIdx.x; k < w.lanes * W; k += WALK_THREADS) {
        int c = blockIdx.x * w.lanes * W + k;
        if (c >= w.cols) break;
        join(w.part + group_part(w) * 2 * w.cols + c, w, means, squares, counts, k, p.slots, W);
        if (c) continue;
        int all = 0;
        for (int s = 0; s < p.slots; s++) all += counts[s * w.lanes];
        w.count[group_part(w)] = all;
    }
}

typedef struct stat_of {
    float *stat, *mean, *variance; /* stat [2 * sets, cols] */
    size_t stride;
    bool given;
    float eps, momentum;
} stat_of;

/* A warp to a group of a set: the mean of all chunks and columns, then the squares around it. */
static __global__ void stat_kernel(group_walk w, stat_of k)
{
    int lane = threadIdx.x % 32, unit = blockIdx.x * WALK_WARPS + threadIdx.x / 32;
    if (unit >= w.sets * w.groups) return;
    int set = unit / w.groups, width = w.cols / w.groups, first = unit % w.groups * width,
        parts = k.given ? 0 : w.chunks * width;
    const float *part = w.part + (size_t)set * w.chunks * 2 * w.cols + first;
    const int *count = w.count + (size_t)set * w.chunks;
    double base = k.given ? 0 : part[0], all = 0, sum = 0, squares = 0;
    for (int i = lane; i < parts; i += 32) {
        double n = count[i / width];
        all += n, sum += n * (part[i / width * 2 * (size_t)w.cols + i % width] - base);
    }
    all = warp_add(all), sum = warp_add(sum);
    double mean = k.given ? k.mean[first] : all > 0 ? base + sum / all : 0;
    for (int i = lane; i < parts; i += 32) {
        const float *at = part + i / width * 2 * (size_t)w.cols + i % width;
        double d = at[0] - mean, n = count[i / width];
        if (n > 0) squares += at[w.cols] + n * d * d;
    }
    squares = warp_add(squares);
    double variance = k.given ? k.variance[first] : all > 0 ? squares / all : 0;
    float inverse = (float)(1 / sqrt(variance + (double)k.eps));
    for (int c = first + lane; c < first + width; c += 32) {
        k.stat[2 * set * k.stride + c] = (float)mean;
        k.stat[(2 * set + 1) * k.stride + c] = inverse;
    }
    if (k.given || !k.mean || lane || all <= 0) return;
    double sample = squares / (all > 1 ? all - 1 : 1), keep = 1 - (double)k.momentum;
    if (!isfinite(mean) || !isfinite(sample)) return;
    k.mean[first] = (float)(keep * k.mean[first] + (double)k.momentum * mean);
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
    for (int r = p.row; r < p.till; r += GROUP_AHEAD * p.step) {
        held<T> h[GROUP_AHEAD], more[GROUP_AHEAD];
        bool has[GROUP_AHEAD];
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            int at = r + j * p.step;
            has[j] = at < p.till && group_owns(w, at);
            if (has[j]) hold<T>(&h[j], k.x, at, p.c);
            if (has[j] && k.add.p) hold<T>(&more[j], k.add, at, p.c);
        }
#pragma unroll
        for (int j = 0; j < GROUP_AHEAD; j++) {
            int at = r + j * p.step;
            if (at >= p.till) break;
            float v[W] = {}, u[W] = {};
            if (has[j]) {
                unhold<T>(v, h[j]);
                if (k.add.p) unhold<T>(u, more[j]);
#pragma unroll
                for (int i = 0; i < W; i++) v[i] = (v[i] - mean[i]) * by[i] + bias[i] + u[i];
            }
            if (k.before.p) put<T>(k.before, (size_t)at, p.c, v);
            if (has[j]) unary_values<W>(v, k.act);
            put<T>(k.y, (size_t)at, p.c, v);
        }
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
        WALK(kind, group_clear_kernel, walk_blocks(kind, a->y), WALK_THREADS, c->stream, g.walk.item, y.y,
             y.before);
    return hd_cuda_done(c, "group_norm");
}
