/* Pictures as rows of numbers, and the segments of a window's places on grids. */
#include "backend/cuda/grid/place.h"

enum { SCAN = 1024 };

/* One block: each thread sums neighboring items, then gets what is before them. */
static __global__ void __launch_bounds__(SCAN) regrid_items(hd_regrid_args a)
{
    __shared__ int sums[SCAN];
    const hd_grid_window &w = a.window;
    int items = (int)a.items, each = (items + SCAN - 1) / SCAN, t = (int)threadIdx.x;
    int from = min(t * each, items), till = min(from + each, items), sum = 0;
    for (int i = from; i < till; i++) {
        int down = hd_grid_places(a.size[2 * i], w.kernel[0], w.stride[0], w.padding[0]),
            across = hd_grid_places(a.size[2 * i + 1], w.kernel[1], w.stride[1], w.padding[1]);
        if (!down || !across) down = across = 0;
        a.grid[2 * i] = down, a.grid[2 * i + 1] = across, a.len[i] = down * across;
        sum += down * across;
    }
    sums[t] = sum;
    __syncthreads();
    for (int d = 1; d < SCAN; d *= 2) {
        int before = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    for (int i = from, at = sums[t] - sum; i < till; i++) a.begin[i] = at, at += a.len[i];
}

/* The item of a row is the last that begins at or before it. */
static __global__ void regrid_rows(hd_regrid_args a)
{
    size_t r = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= a.rows) return;
    int low = 0, high = (int)a.items;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if ((size_t)a.begin[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    bool some = a.items && r - (size_t)a.begin[low] < (size_t)a.len[low];
    a.item[r] = some ? low : -1;
    a.pos[r] = some ? (int)(r - (size_t)a.begin[low]) : 0;
}

extern "C" hd_status hd_cuda_regrid(hd_backend *b, const hd_regrid_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    if (a->items) regrid_items<<<1, SCAN, 0, c->stream>>>(*a);
    if (a->rows) regrid_rows<<<hd_blocks(a->rows, 256), 256, 0, c->stream>>>(*a);
    return hd_cuda_done(c, "regrid");
}

typedef struct imaging {
    mat y;
    hd_pixels in;
    const int32_t *item, *pos, *grid;
    int p, lanes;
} imaging;

/* Blocks take many rows, so that the table in shared memory is worth its loading. */
template <class T> static __global__ void pixels_kernel(imaging a)
{
    const int W = step_of<T>::W;
    __shared__ float worth[3 * 256];
    int channels = a.in.channels, square = a.p * a.p;
    for (int i = (int)threadIdx.x; i < channels * 256; i += GRID_THREADS) worth[i] = (float)a.in.worth[i];
    __syncthreads();
    for (size_t r = lane_row(a.lanes); r < (size_t)a.y.rows;
         r += (size_t)gridDim.x * (GRID_THREADS / a.lanes)) {
        int item = a.item[r], across = item < 0 ? 1 : a.grid[2 * item + 1], pos = a.pos[r],
            width = item < 0 ? 0 : a.in.size[2 * item + 1], row = pos / across;
        const uint8_t *from =
            item < 0 ? NULL
                     : a.in.bytes + a.in.begin[item] +
                           ((size_t)row * a.p * width + (size_t)(pos - row * across) * a.p) * channels;
        for (int c = (int)(threadIdx.x % a.lanes) * W; c < a.y.cols; c += a.lanes * W) {
            float v[W] = {};
#pragma unroll
            for (int k = 0; k < W; k++) {
                int channel = (c + k) / square, at = c + k - channel * square, i = at / a.p, j = at - i * a.p;
                if (from) v[k] = worth[256 * channel + from[((size_t)i * width + j) * channels + channel]];
            }
            put<T>(a.y, r, c, v);
        }
    }
}

extern "C" hd_status hd_cuda_pixels(hd_backend *b, const hd_pixels_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t rows = hd_rows_of(a->y), cols = hd_cols_of(a->y);
    if (!rows || !cols) return HD_OK;
    if (a->in->channels > 3) return hd_cuda_fail(c, "pixels", "more than 3 channels");
    walk_kind kind = walk_kind_of(&a->y, 1);
    imaging p = {mat_of(a->y), *a->in, a->to->item, a->to->pos, a->to->grid, a->p, 0};
    p.lanes = lanes_of(kind == WALK_ANY ? cols : cols / 8);
    unsigned blocks = lane_blocks(rows, p.lanes), most = (unsigned)c->processors * 8;
    WALK(kind, pixels_kernel, blocks < most ? blocks : most, GRID_THREADS, c->stream, p);
    return hd_cuda_done(c, "pixels");
}
