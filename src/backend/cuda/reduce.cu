/* Reductions of a segment to one row, and sums down all rows. A thread owns a column; column sums go through
   partial sums of fixed chunks of rows, which are then added in their order: the same bits every time. */
#include "backend/cuda/walk.h"

typedef struct reduce_of {
    mat to, from; /* forward y and x, backward dx and dy */
    int32_t *which;
    size_t which_stride;
    const int32_t *begin, *len;
    int items, cols;
    hd_reduction kind;
} reduce_of;

static reduce_of reduce_make(const hd_tensor *to, const hd_tensor *from, const hd_tensor *which,
                             const hd_seg *s, hd_reduction kind)
{
    reduce_of k = {mat_of(to),
                   mat_of(from),
                   which ? (int32_t *)which->data : NULL,
                   which ? which->stride : 0,
                   s->begin,
                   s->len,
                   (int)s->items,
                   (int)hd_cols_of(from),
                   kind};
    return k;
}

static __global__ void reduce_kernel(reduce_of k)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, i = at / k.cols, c = at - i * k.cols;
    if (i >= (size_t)k.items) return;
    int from = k.begin[i], len = k.len[i], best = 0;
    float y = 0;
    if (len <= 0)
        from = len = 0;
    else if (k.kind == HD_FIRST || k.kind == HD_LAST)
        y = mat_get(k.from, (size_t)from + (k.kind == HD_FIRST ? 0 : len - 1), c);
    else if (k.kind == HD_MAX) {
        y = mat_get(k.from, from, c);
        for (int j = 1; j < len; j++) {
            float v = mat_get(k.from, (size_t)from + j, c);
            if (v > y) y = v, best = j;
        }
    } else {
        for (int j = 0; j < len; j++) y += mat_get(k.from, (size_t)from + j, c);
        if (k.kind == HD_MEAN) y /= (float)len;
    }
    mat_put(k.to, i, c, y);
    if (k.which && k.kind == HD_MAX) k.which[i * k.which_stride + c] = len ? from + best : -1;
}

extern "C" hd_status hd_cuda_reduce(hd_backend *b, const hd_reduce_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    reduce_of k = reduce_make(a->y, a->x, a->which, a->seg, a->kind);
    size_t threads = (size_t)k.items * k.cols;
    if (!threads) return HD_OK;
    reduce_kernel<<<hd_blocks(threads, 128), 128, 0, c->stream>>>(k);
    return hd_cuda_done(c, "reduce");
}

DEVICE void reduce_back_item(const reduce_of &k, size_t i, size_t c)
{
    int len = k.len[i], first = k.begin[i], count = len;
    if (len <= 0) return;
    float d = mat_get(k.from, i, c);
    if (k.kind == HD_MAX) first = k.which[i * k.which_stride + c];
    if (k.kind == HD_LAST) first += len - 1;
    if (k.kind != HD_SUM && k.kind != HD_MEAN) count = 1;
    if (k.kind == HD_MEAN) d *= (float)(1.0 / (double)len);
    for (int j = 0; j < count; j++) mat_put_or_add(k.to, (size_t)first + j, c, d, true);
}

/* Where items share rows, one thread takes all items of a column, in their order. */
static __global__ void reduce_back_kernel(reduce_of k, bool overlap)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, i = at / k.cols, c = at - i * k.cols;
    if (overlap && at < (size_t)k.cols) {
        for (int item = 0; item < k.items; item++) reduce_back_item(k, item, c);
    } else if (!overlap && i < (size_t)k.items) {
        reduce_back_item(k, i, c);
    }
}

extern "C" hd_status hd_cuda_reduce_back(hd_backend *b, const hd_reduce_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    reduce_of k = reduce_make(a->dx, a->dy, a->which, a->seg, a->kind);
    size_t threads = (size_t)k.cols * (a->seg->overlap ? 1 : k.items);
    if (!threads || !k.items) return HD_OK;
    reduce_back_kernel<<<hd_blocks(threads, 128), 128, 0, c->stream>>>(k, a->seg->overlap);
    return hd_cuda_done(c, "reduce_back");
}

/* A warp to every 32nd part, then a transposed sum over the 32. */
static __global__ void __launch_bounds__(1024)
    add_parts_kernel(float *y, float *z, const float *part, int parts, int cols, int width)
{
    __shared__ float room[32][33];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 32 + lane;
    float sum = 0;
    if (c < width)
#pragma unroll 8
        for (int p = warp; p < parts; p += 32) sum += part[(size_t)p * width + c];
    room[warp][lane] = sum;
    __syncthreads();
    sum = warp_sum(room[lane][warp]);
    c = blockIdx.x * 32 + warp;
    if (lane || c >= width) return;
    float *to = c < cols ? y : z;
    if (to) to[c < cols ? c : c - cols] += sum;
}

void hd_cuda_add_parts(hd_cuda *c, float *y, float *z, const float *part, int parts, int cols, int width)
{
    add_parts_kernel<<<hd_blocks((size_t)width, 32), 1024, 0, c->stream>>>(y, z, part, parts, cols, width);
}

/* Rows [chunk * each, + each) of 32 steps of columns; warps take rows in turn. */
template <class T> __global__ void column_part_kernel(float *part, mat x, int each)
{
    const int W = step_of<T>::W;
    __shared__ float room[WALK_WARPS][32 * W];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * 32 * W, c = first + lane * W;
    int from = blockIdx.y * each, till = min(x.rows, from + each);
    float sum[W] = {};
    if (c < x.cols) {
        int r = from + warp;
        for (; r + 3 * WALK_WARPS < till; r += 4 * WALK_WARPS) { /* four loads under way, added in order */
            float v[4][W];
#pragma unroll
            for (int j = 0; j < 4; j++) get<T>(v[j], x, (size_t)r + j * WALK_WARPS, c);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int i = 0; i < W; i++) sum[i] += v[j][i];
        }
        for (; r < till; r += WALK_WARPS) {
            float v[W];
            get<T>(v, x, r, c);
#pragma unroll
            for (int i = 0; i < W; i++) sum[i] += v[i];
        }
    }
#pragma unroll
    for (int i = 0; i < W; i++) room[warp][lane * W + i] = sum[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * W && first + i < x.cols; i += WALK_THREADS) {
        float all = 0;
#pragma unroll
        for (int w = 0; w < WALK_WARPS; w++) all += room[w][i];
        part[(size_t)blockIdx.y * x.cols + first + i] = all;
    }
}

extern "C" hd_status hd_cuda_column_sum(hd_backend *b, const hd_column_sum_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t rows = hd_rows_of(a->x), n = hd_cols_of(a->x);
    if (!rows || !n) return HD_OK;
    walk_kind kind = walk_kind_of(&a->x, 1);
    chunking k = chunking_of(c, kind, rows, n);
    float *part = (float *)hd_cuda_scratch(c, k.chunks * n * sizeof(float));
    if (!part) return HD_ENOMEM;
    WALK(kind, column_part_kernel, k.grid, WALK_THREADS, c->stream, part, mat_of(a->x), (int)k.each);
    hd_cuda_add_parts(c, (float *)a->y->data, NULL, part, (int)k.chunks, (int)n, (int)n);
    return hd_cuda_done(c, "column_sum");
}
