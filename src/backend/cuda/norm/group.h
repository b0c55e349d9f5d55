/* How the norms over rows walk a matrix on the card: a block takes a chunk of rows of one set and up to 256
   columns. Narrow matrices have several rows to a warp, so that all lanes load. A thread stays in its
   columns: sums and factors are in registers. */
#ifndef HD_BACKEND_CUDA_NORM_GROUP_H
#define HD_BACKEND_CUDA_NORM_GROUP_H

#include "backend/cuda/walk.h"

/* Sets and chunks, and which rows are whose. */
typedef struct group_walk {
    const int32_t *item, *begin,
        *len; /* item NULL: every row is of an item; begin NULL: one set of all rows */
    int rows, cols, groups, sets, chunks, each;
    int lanes;   /* lanes of a warp that share a row: a power of two */
    float *part; /* [sets, chunks, 2, cols] */
    int *count;  /* [sets, chunks] rows */
} group_walk;

/* A thread's place: its first column, and the rows it takes. */
typedef struct group_place {
    int c, row, step, till, slot, slots; /* slot: of the block's threads with these columns */
} group_place;

template <class T> DEVICE group_place group_place_of(const group_walk &w)
{
    const int W = step_of<T>::W;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = 32 / w.lanes;
    int set = blockIdx.z, from = w.begin ? w.begin[set] : 0, len = w.begin ? w.len[set] : w.rows;
    group_place p;
    p.c = (blockIdx.x * w.lanes + lane % w.lanes) * W;
    p.slot = warp * across + lane / w.lanes, p.slots = WALK_WARPS * across;
    p.row = from + (int)blockIdx.y * w.each + p.slot, p.step = p.slots;
    p.till = from + min(len, ((int)blockIdx.y + 1) * w.each);
    if (p.c >= w.cols) p.till = 0;
    return p;
}

DEVICE bool group_owns(const group_walk &w, int r)
{
    return !w.item || w.item[r] >= 0;
}

/* Numbers of a row as they lie in memory: loads of several rows are under way before the first is used. */
template <class T> struct held {
    raw8<T> q;
};
template <> struct held<either> {
    float q;
};
template <class T> DEVICE void hold(held<T> *to, const mat &m, int r, int c)
{
    if constexpr (step_of<T>::W == 1)
        to->q = mat_get(m, (size_t)r, c);
    else
        load_raw<T>(&to->q, m, (size_t)r, c);
}
template <class T> DEVICE void unhold(float *v, const held<T> &from)
{
    if constexpr (step_of<T>::W == 1)
        v[0] = from.q;
    else
        load8(v, (const T *)&from.q);
}

enum { GROUP_AHEAD = 4 }; /* rows that a thread loads together */

DEVICE size_t group_part(const group_walk &w)
{
    return (size_t)blockIdx.z * w.chunks + blockIdx.y;
}

DEVICE double warp_add(double x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}

/* Sets of items do not reach rows of none: they get zeros here. z may be absent. */
template <class T> static __global__ void group_clear_kernel(const int32_t *item, mat y, mat z)
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

/* -- host side -- */

/* The walk and its grid; partial sums and `more` floats behind them are in scratch. */
typedef struct group_plan {
    group_walk walk;
    dim3 grid;
    float *rest;
} group_plan;

static inline bool group_plan_of(group_plan *g, hd_cuda *c, walk_kind kind, const hd_tensor *x,
                                 const hd_seg *seg, bool together, int groups, size_t more)
{
    group_walk w = {};
    bool all = together || !seg;
    size_t rows = hd_rows_of(x), cols = hd_cols_of(x), wide = kind == WALK_ANY ? 1 : 8,
           longest = all ? rows : seg->longest, sets = hd_group_sets(seg, together);
    w.rows = (int)rows, w.cols = (int)cols, w.groups = groups, w.sets = (int)sets, w.lanes = 1;
    if (seg && !seg->full) w.item = seg->item;
    if (!all) w.begin = seg->begin, w.len = seg->len;
    while (w.lanes < 32 && (size_t)w.lanes * wide < cols) w.lanes *= 2;
    size_t across = (cols + wide * (size_t)w.lanes - 1) / (wide * (size_t)w.lanes),
           least = (size_t)(WALK_WARPS * 32 / w.lanes) * 4; /* four rows to a thread */
    size_t chunks = (size_t)c->processors * 8 / (across * sets), most = (longest + least - 1) / least;
    if (chunks > most) chunks = most;
    if (chunks < 1) chunks = 1;
    w.each = (int)((longest + chunks - 1) / chunks);
    if (w.each < 1) w.each = 1;
    chunks = (longest + (size_t)w.each - 1) / (size_t)w.each;
    w.chunks = (int)(chunks ? chunks : 1);
    size_t parts = sets * (size_t)w.chunks, floats = parts * 2 * cols + more;
    char *room = (char *)hd_cuda_scratch(c, floats * sizeof(float) + parts * sizeof(int));
    if (!room) return false;
    w.part = (float *)room, w.count = (int *)(w.part + floats);
    g->walk = w, g->rest = w.part + parts * 2 * cols;
    g->grid = dim3((unsigned)across, (unsigned)w.chunks, (unsigned)sets);
    return true;
}

#endif
