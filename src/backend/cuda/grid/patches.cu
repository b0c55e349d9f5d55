/* The cells under a window side by side, and back. Back gathers: each cell of dx sums what the windows over
   it have, in the order of their rows. */
#include "backend/cuda/grid/place.h"

typedef struct patching {
    mat y, x;
    grids g;
    size_t first;
    int lanes, all; /* all: columns that are cells; those behind are 0 */
} patching;

/* x that the window at p has in column c of its patch: the row of x, or -1 outside; *k gets the column. */
DEVICE long long patch_source(const patching &a, const place &p, int c, int *k)
{
    int n = a.x.cols, cell = c / n, down = cell / a.g.window.kernel[1],
        across = cell - down * a.g.window.kernel[1];
    int row = p.row * a.g.window.stride[0] - a.g.window.padding[0] + down,
        col = p.col * a.g.window.stride[1] - a.g.window.padding[1] + across;
    *k = c - cell * n;
    bool inside = row >= 0 && row < p.height && col >= 0 && col < p.width;
    return inside ? (long long)p.begin + (long long)row * p.width + col : -1;
}

template <class T> static __global__ void patches_kernel(patching a)
{
    const int W = step_of<T>::W;
    size_t r = lane_row(a.lanes);
    if (r >= (size_t)a.y.rows) return;
    place p;
    bool some = place_of(&p, a.g, a.first + r);
    for (int c = (int)(threadIdx.x % a.lanes) * W; c < a.y.cols; c += a.lanes * W) {
        float v[W] = {};
        int k;
        long long row = some && c < a.all ? patch_source(a, p, c, &k) : -1;
        if (row >= 0) get<T>(v, a.x, (size_t)row, k);
        put<T>(a.y, r, c, v);
    }
}

/* Few channels: eight columns are read one by one and written at once. */
template <class T> static __global__ void patches_of_few_kernel(patching a)
{
    size_t r = lane_row(a.lanes);
    if (r >= (size_t)a.y.rows) return;
    place p;
    bool some = place_of(&p, a.g, a.first + r);
    for (int c = (int)(threadIdx.x % a.lanes) * 8; c < a.y.cols; c += a.lanes * 8) {
        float v[8] = {};
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int k;
            long long row = some && c + i < a.all ? patch_source(a, p, c + i, &k) : -1;
            if (row >= 0) v[i] = mat_get(a.x, (size_t)row, k);
        }
        put<T>(a.y, r, c, v);
    }
}

static int window_cells(const hd_grid_window *w)
{
    return w->kernel[0] * w->kernel[1];
}

extern "C" hd_status hd_cuda_patches(hd_backend *b, const hd_patches_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    const hd_tensor *const both[] = {a->y, a->x};
    size_t rows = hd_rows_of(a->y), cols = hd_cols_of(a->y);
    if (!rows || !cols) return HD_OK;
    walk_kind kind = walk_kind_of(both, 2), wide = walk_kind_of(&a->y, 1);
    bool few = kind == WALK_ANY && wide != WALK_ANY;
    patching p = {mat_of(a->y), mat_of(a->x), grids_of(a->to, a->from, &a->window), a->first, 0, 0};
    p.all = p.x.cols * window_cells(&a->window);
    p.lanes = lanes_of(kind != WALK_ANY || few ? cols / 8 : cols);
    unsigned blocks = lane_blocks(rows, p.lanes);
    if (few && wide == WALK_BF16)
        patches_of_few_kernel<bf16><<<blocks, GRID_THREADS, 0, c->stream>>>(p);
    else if (few)
        patches_of_few_kernel<float><<<blocks, GRID_THREADS, 0, c->stream>>>(p);
    else
        WALK(kind, patches_kernel, blocks, GRID_THREADS, c->stream, p);
    return hd_cuda_done(c, "patches");
}

typedef struct unpatching {
    mat dx, dy;
    grids g;
    size_t first, begin, end;
    int lanes;
    bool add;
} unpatching;

template <class T> static __global__ void patches_back_kernel(unpatching a)
{
    const int W = step_of<T>::W;
    const hd_grid_window &w = a.g.window;
    size_t r = a.begin + lane_row(a.lanes);
    if (r >= a.end) return;
    place p;
    int top = 0, bottom = -1, left = 0, right = -1;
    if (place_of(&p, a.g, r)) {
        covering(&top, &bottom, p.row, w.kernel[0], w.stride[0], w.padding[0], p.height);
        covering(&left, &right, p.col, w.kernel[1], w.stride[1], w.padding[1], p.width);
    } else if (a.add) {
        return;
    }
    for (int c = (int)(threadIdx.x % a.lanes) * W; c < a.dx.cols; c += a.lanes * W) {
        float sum[W] = {};
        for (int i = top; i <= bottom; i++)
            for (int j = left; j <= right; j++) {
                size_t row = (size_t)p.begin + (size_t)i * p.width + j;
                if (row < a.first || row - a.first >= (size_t)a.dy.rows) continue;
                int down = p.row + w.padding[0] - i * w.stride[0],
                    across = p.col + w.padding[1] - j * w.stride[1];
                float v[W];
                get<T>(v, a.dy, row - a.first, (size_t)(down * w.kernel[1] + across) * a.dx.cols + c);
#pragma unroll
                for (int k = 0; k < W; k++) sum[k] += v[k];
            }
        put_or_add<T>(a.dx, r, c, sum, a.add);
    }
}

extern "C" hd_status hd_cuda_patches_back(hd_backend *b, const hd_patches_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    const hd_tensor *const both[] = {a->dx, a->dy};
    size_t cols = hd_cols_of(a->dx);
    if (a->end <= a->begin || !cols) return HD_OK;
    walk_kind kind = walk_kind_of(both, 2);
    unpatching u = {
        mat_of(a->dx), mat_of(a->dy), grids_of(a->from, a->to, &a->window), a->first, a->begin, a->end, 0,
        a->add};
    u.lanes = lanes_of(kind == WALK_ANY ? cols : cols / 8);
    WALK(kind, patches_back_kernel, lane_blocks(a->end - a->begin, u.lanes), GRID_THREADS, c->stream, u);
    return hd_cuda_done(c, "patches_back");
}

static __global__ void transpose_kernel(mat y, mat x, int height, int width, bool add)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, r = at / y.cols;
    int c = (int)(at - r * y.cols), j = c / height, i = c - j * height;
    if (r >= (size_t)y.rows) return;
    if (j < width)
        mat_put_or_add(y, r, c, mat_get(x, r, (size_t)i * width + j), add);
    else if (!add)
        mat_put(y, r, c, 0);
}

extern "C" hd_status hd_cuda_transpose(hd_backend *b, const hd_transpose_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t count = hd_count_of(a->y);
    if (!count) return HD_OK;
    transpose_kernel<<<hd_blocks(count, 256), 256, 0, c->stream>>>(mat_of(a->y), mat_of(a->x), (int)a->height,
                                                                   (int)a->width, a->add);
    return hd_cuda_done(c, "transpose");
}
