/* Pooling under a window, and back: each cell of dx looks at the windows over it. */
#include "backend/cuda/grid/place.h"

typedef struct pooling {
    mat y, x; /* back: dx and dy */
    int32_t *which;
    size_t which_stride;
    grids g;
    hd_grid_pool kind;
    int lanes;
    float share;
    bool add;
} pooling;

static pooling pooling_of(const hd_tensor *y, const hd_tensor *x, const hd_tensor *which, const hd_seg *at,
                          const hd_seg *other, const hd_grid_window *w, hd_grid_pool kind, walk_kind walk)
{
    size_t cols = hd_cols_of(y);
    return (pooling){mat_of(y),
                     mat_of(x),
                     which ? (int32_t *)which->data : NULL,
                     which ? which->stride : 0,
                     grids_of(at, other, w),
                     kind,
                     lanes_of(walk == WALK_ANY ? cols : cols / 8),
                     1.0f / ((float)w->kernel[0] * (float)w->kernel[1]),
                     false};
}

/* The cells [*from, *till) of a side that the window at a place covers. */
DEVICE void covered(int *from, int *till, int place, int kernel, int stride, int padding, int cells)
{
    int at = place * stride - padding;
    *from = max(at, 0);
    *till = min(at + kernel, cells);
}

template <class T> static __global__ void pool_kernel(pooling a)
{
    const int W = step_of<T>::W;
    const hd_grid_window &w = a.g.window;
    size_t r = lane_row(a.lanes);
    if (r >= (size_t)a.y.rows) return;
    place p;
    int top = 0, bottom = 0, left = 0, right = 0;
    if (place_of(&p, a.g, r)) {
        covered(&top, &bottom, p.row, w.kernel[0], w.stride[0], w.padding[0], p.height);
        covered(&left, &right, p.col, w.kernel[1], w.stride[1], w.padding[1], p.width);
    }
    for (int c = (int)(threadIdx.x % a.lanes) * W; c < a.y.cols; c += a.lanes * W) {
        float best[W] = {};
        int which[W];
#pragma unroll
        for (int k = 0; k < W; k++) which[k] = -1;
        for (int i = top; i < bottom; i++)
            for (int j = left; j < right; j++) {
                int row = p.begin + i * p.width + j;
                float v[W];
                get<T>(v, a.x, (size_t)row, c);
#pragma unroll
                for (int k = 0; k < W; k++)
                    if (a.kind == HD_GRID_MEAN)
                        best[k] += v[k];
                    else if (which[k] < 0 || v[k] > best[k] || v[k] != v[k])
                        best[k] = v[k], which[k] = row;
            }
#pragma unroll
        for (int k = 0; k < W; k++) {
            if (a.kind == HD_GRID_MEAN) best[k] *= a.share;
            if (a.which) a.which[r * a.which_stride + c + k] = which[k];
        }
        put<T>(a.y, r, c, best);
    }
}

extern "C" hd_status hd_cuda_pool(hd_backend *b, const hd_pool_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    const hd_tensor *const both[] = {a->y, a->x};
    if (!hd_count_of(a->y)) return HD_OK;
    walk_kind kind = walk_kind_of(both, 2);
    pooling p = pooling_of(a->y, a->x, a->which, a->to, a->from, &a->window, a->kind, kind);
    WALK(kind, pool_kernel, lane_blocks(hd_rows_of(a->y), p.lanes), GRID_THREADS, c->stream, p);
    return hd_cuda_done(c, "pool");
}

template <class T> static __global__ void pool_back_kernel(pooling a)
{
    const int W = step_of<T>::W;
    const hd_grid_window &w = a.g.window;
    size_t r = lane_row(a.lanes);
    if (r >= (size_t)a.y.rows) return;
    place p;
    int top = 0, bottom = -1, left = 0, right = -1;
    if (place_of(&p, a.g, r)) {
        covering(&top, &bottom, p.row, w.kernel[0], w.stride[0], w.padding[0], p.height);
        covering(&left, &right, p.col, w.kernel[1], w.stride[1], w.padding[1], p.width);
    } else if (a.add) {
        return;
    }
    for (int c = (int)(threadIdx.x % a.lanes) * W; c < a.y.cols; c += a.lanes * W) {
        float sum[W] = {};
        for (int i = top; i <= bottom; i++)
            for (int j = left; j <= right; j++) {
                size_t row = (size_t)p.begin + (size_t)i * p.width + j;
                float v[W];
                get<T>(v, a.x, row, c);
#pragma unroll
                for (int k = 0; k < W; k++)
                    if (a.kind == HD_GRID_MEAN)
                        sum[k] += a.share * v[k];
                    else if (a.which[row * a.which_stride + c + k] == (int)r)
                        sum[k] += v[k];
            }
        put_or_add<T>(a.y, r, c, sum, a.add);
    }
}

extern "C" hd_status hd_cuda_pool_back(hd_backend *b, const hd_pool_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    const hd_tensor *const both[] = {a->dx, a->dy};
    if (!hd_count_of(a->dx)) return HD_OK;
    walk_kind kind = walk_kind_of(both, 2);
    pooling p = pooling_of(a->dx, a->dy, a->which, a->from, a->to, &a->window, a->kind, kind);
    p.add = a->add;
    WALK(kind, pool_back_kernel, lane_blocks(hd_rows_of(a->dx), p.lanes), GRID_THREADS, c->stream, p);
    return hd_cuda_done(c, "pool_back");
}
