/* Rows moved about: gather, scatter, appending to a cache, folding. Scatter-add has no atomics: row numbers
   are sorted by index (stably), and each index's rows are summed in that order, in pieces that depend on the
   place in the sorted list alone; a run that crosses pieces is joined from their partial sums. */
#include <cub/device/device_radix_sort.cuh>

#include "backend/cuda/device.h"

enum { WARPS = 8, TURNS = 4, PIECE = 32, AHEAD = 4 };

template <int W, typename T> DEVICE void add_to(T *p, const float v[W])
{
    float sum[W];
    load_wide<W>(sum, p);
#pragma unroll
    for (int i = 0; i < W; i++) sum[i] += v[i];
    store_wide<W>(p, sum);
}

/* Starts kernel<type of x, type of y, 8 or 1>. */
#define LAUNCH_WIDE(kernel, W, xt, yt, grid, block, stream, ...)              \
    do {                                                                      \
        if ((xt)->dtype == HD_BF16 && (yt)->dtype == HD_BF16)                 \
            kernel<bf16, bf16, W><<<grid, block, 0, stream>>>(__VA_ARGS__);   \
        else if ((xt)->dtype == HD_BF16)                                      \
            kernel<bf16, float, W><<<grid, block, 0, stream>>>(__VA_ARGS__);  \
        else if ((yt)->dtype == HD_BF16)                                      \
            kernel<float, bf16, W><<<grid, block, 0, stream>>>(__VA_ARGS__);  \
        else                                                                  \
            kernel<float, float, W><<<grid, block, 0, stream>>>(__VA_ARGS__); \
    } while (0)
#define LAUNCH(kernel, eights, ...)              \
    do {                                         \
        if (eights)                              \
            LAUNCH_WIDE(kernel, 8, __VA_ARGS__); \
        else                                     \
            LAUNCH_WIDE(kernel, 1, __VA_ARGS__); \
    } while (0)

/* -- gather, and scatter where no index repeats -- */

typedef struct moving {
    mat y, x;
    const int32_t *index;
    int count, limit; /* of indices; what they must be below */
    float scale;
    bool add, scatter;
} moving;

template <typename X, typename Y, int W> static __global__ void move_rows(moving m)
{
    size_t i = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (i >= (size_t)m.count) return;
    int32_t at = m.index[i];
    bool inside = at >= 0 && at < m.limit;
    if (!inside && (m.scatter || m.add)) return;
    size_t to = m.scatter ? (size_t)at : i, from = m.scatter ? i : inside ? (size_t)at : 0;
    Y *y = (Y *)m.y.p + to * m.y.stride;
    const X *x = (const X *)m.x.p + from * m.x.stride;
    int c = (int)((blockIdx.y * TURNS * 32 + threadIdx.x % 32) * W);
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++, c += 32 * W) {
        if (c >= m.y.cols) break;
        float v[W] = {};
        if (inside) load_wide<W>(v, x + c);
#pragma unroll
        for (int j = 0; j < W; j++) v[j] *= m.scale;
        if (m.add)
            add_to<W>(y + c, v);
        else
            store_wide<W>(y + c, v);
    }
}

static void move_start(hd_cuda *c, const moving *m, const hd_tensor *y, const hd_tensor *x)
{
    bool eights = by_eights(y) && by_eights(x);
    dim3 grid(hd_blocks((size_t)m->count, WARPS), hd_blocks(hd_cols_of(y), TURNS * 32 * (eights ? 8 : 1)));
    LAUNCH(move_rows, eights, x, y, grid, WARPS * 32, c->stream, *m);
}

extern "C" hd_status hd_cuda_gather(hd_backend *b, const hd_gather_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    moving m = {mat_of(a->y), mat_of(a->x), a->index, 0, 0, a->scale, a->add, false};
    m.count = m.y.rows, m.limit = m.x.rows;
    if (!m.count || !m.y.cols) return HD_OK;
    move_start(c, &m, a->y, a->x);
    return hd_cuda_done(c, "gather");
}

/* -- scatter where indices repeat -- */

typedef struct summing {
    mat y, x;
    const uint32_t *key, *row; /* [count]: indices rising, and the rows of x they came with */
    float *head, *tail;        /* [pieces, cols]: sums of a piece's first and last run, where these cross */
    uint32_t count;
    float scale;
} summing;

static __global__ void number_rows(uint32_t *key, uint32_t *row, const int32_t *index, uint32_t count,
                                   int32_t limit)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int32_t at = index[i];
    key[i] = (uint32_t)(at >= 0 && at < limit ? at : limit); /* those out of range sort behind all others */
    row[i] = i;
}

/* One block sums the rows at PIECE neighboring places of the sorted list, run by run. A run that came from
   the piece before goes to head, one that began here and goes on to tail, others to y. */
template <typename X, typename Y, int W> static __global__ void sum_pieces(summing s)
{
    __shared__ uint32_t key[PIECE + 2], row[PIECE]; /* key[1] is the piece's first */
    uint32_t begin = blockIdx.x * PIECE, rows = (uint32_t)s.y.rows;
    int count = (int)min((uint32_t)PIECE, s.count - begin);
    for (uint32_t i = threadIdx.x; i < PIECE + 2; i += blockDim.x) {
        uint32_t at = begin + i - 1; /* wraps before the first: beyond count, too */
        key[i] = at < s.count ? s.key[at] : 0xFFFFFFFFu;
    }
    for (uint32_t i = threadIdx.x; i < PIECE; i += blockDim.x)
        row[i] = begin + i < s.count ? s.row[begin + i] : 0;
    __syncthreads();
    int c = (int)((blockIdx.y * blockDim.x + threadIdx.x) * W);
    uint32_t run = key[1];
    if (c >= s.y.cols || run >= rows) return;
    bool head = key[0] == run;
    float acc[W] = {};
    float *head_at = s.head + (size_t)blockIdx.x * s.y.cols + c;
    for (int i = 0; i < count; i += AHEAD) {
        float v[AHEAD][W];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) load_wide<W>(v[j], (const X *)s.x.p + row[i + j] * s.x.stride + c);
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            if (i + j >= count) continue;
            uint32_t k = key[1 + i + j];
            if (k != run) {
                if (head)
                    store_wide<W>(head_at, acc);
                else
                    add_to<W>((Y *)s.y.p + run * s.y.stride + c, acc);
                if (k >= rows) return;
                head = false, run = k;
#pragma unroll
                for (int l = 0; l < W; l++) acc[l] = 0;
            }
#pragma unroll
            for (int l = 0; l < W; l++) acc[l] += s.scale * v[j][l];
        }
    }
    if (head)
        store_wide<W>(head_at, acc);
    else if (key[1 + count] == run)
        store_wide<W>(s.tail + (size_t)blockIdx.x * s.y.cols + c, acc);
    else
        add_to<W>((Y *)s.y.p + run * s.y.stride + c, acc);
}

/* The piece in which a crossing run begins adds its partial sums up, piece after piece. */
template <typename X, typename Y, int W> static __global__ void join_pieces(summing s)
{
    uint32_t begin = blockIdx.x * PIECE, end = begin + PIECE;
    if (end >= s.count) return; /* the last piece: nothing goes on */
    uint32_t run = s.key[end - 1];
    if (run >= (uint32_t)s.y.rows || s.key[end] != run) return;
    if (begin && s.key[begin - 1] == run) return;
    uint32_t pieces = gridDim.x, last = blockIdx.x + 1, on; /* pieces [blockIdx.x, last) begin with the run */
    do {
        uint32_t p = last + threadIdx.x;
        on = (uint32_t)__syncthreads_count(p < pieces && s.key[p * PIECE] == run);
        last += on;
    } while (on == blockDim.x);
    int c = (int)((blockIdx.y * blockDim.x + threadIdx.x) * W);
    if (c >= s.y.cols) return;
    float acc[W];
    load_wide<W>(acc, (const float *)s.tail + (size_t)blockIdx.x * s.y.cols + c);
    const float *head = s.head + c;
    uint32_t p = blockIdx.x + 1;
    for (; p + AHEAD <= last; p += AHEAD) {
        float v[AHEAD][W];
#pragma unroll
        for (int j = 0; j < AHEAD; j++) load_wide<W>(v[j], head + (size_t)(p + j) * s.y.cols);
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
#pragma unroll
            for (int l = 0; l < W; l++) acc[l] += v[j][l];
    }
    for (; p < last; p++) {
        float v[W];
        load_wide<W>(v, head + (size_t)p * s.y.cols);
#pragma unroll
        for (int l = 0; l < W; l++) acc[l] += v[l];
    }
    add_to<W>((Y *)s.y.p + run * s.y.stride + c, acc);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static hd_status scatter_add(hd_cuda *c, const hd_scatter_args *a, const moving *m)
{
    uint32_t count = (uint32_t)m->count, pieces = (count + PIECE - 1) / PIECE;
    int bits = 1;
    while (bits < 32 && (uint32_t)m->limit >> bits) bits++;
    size_t temp = 0, list = rounded(count * sizeof(uint32_t)),
           sums = rounded((size_t)pieces * m->y.cols * sizeof(float));
    uint32_t *none = NULL;
    if (cub::DeviceRadixSort::SortPairs(NULL, temp, none, none, none, none, count, 0, bits, c->stream) !=
        cudaSuccess)
        return hd_cuda_fail(c, "scatter", "the sort cannot say what memory it needs");
    char *at = (char *)hd_cuda_scratch(c, 4 * list + 2 * sums + temp);
    if (!at) return HD_ENOMEM;
    uint32_t *key = (uint32_t *)at, *row = (uint32_t *)(at + list), *key_sorted = (uint32_t *)(at + 2 * list),
             *row_sorted = (uint32_t *)(at + 3 * list);
    at += 4 * list;
    summing s = {m->y, m->x, key_sorted, row_sorted, (float *)at, (float *)(at + sums), count, m->scale};
    number_rows<<<hd_blocks(count, 256), 256, 0, c->stream>>>(key, row, m->index, count, m->limit);
    if (cub::DeviceRadixSort::SortPairs(at + 2 * sums, temp, key, key_sorted, row, row_sorted, count, 0, bits,
                                        c->stream) != cudaSuccess)
        return hd_cuda_fail(c, "scatter", "the sort does not start");
    bool eights = by_eights(a->y) && by_eights(a->x);
    unsigned lanes = hd_blocks((size_t)m->y.cols, eights ? 8 : 1), threads = hd_blocks(lanes, 32) * 32;
    if (threads > 128) threads = 128;
    dim3 grid(pieces, hd_blocks(lanes, threads));
    LAUNCH(sum_pieces, eights, a->x, a->y, grid, threads, c->stream, s);
    if (pieces > 1) LAUNCH(join_pieces, eights, a->x, a->y, grid, threads, c->stream, s);
    return hd_cuda_done(c, "scatter");
}

extern "C" hd_status hd_cuda_scatter(hd_backend *b, const hd_scatter_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    moving m = {mat_of(a->y), mat_of(a->x), a->index, 0, 0, a->scale, false, true};
    m.count = m.x.rows, m.limit = m.y.rows;
    if (!m.count || !m.limit || !m.y.cols) return HD_OK;
    if (a->add) return scatter_add(c, a, &m);
    move_start(c, &m, a->y, a->x);
    return hd_cuda_done(c, "scatter");
}

/* -- rows item by item: threadIdx.x goes along the columns, threadIdx.y and blockIdx.y along the rows -- */

typedef struct appending {
    mat y, x;
    const int32_t *from_begin, *from_len, *begin, *len, *page;
    int pages;
} appending;

/* Where row `at` of item i lies in a cache. */
DEVICE long long cache_row(const appending &a, int i, int at)
{
    if (!a.page) return (long long)a.begin[i] + at;
    return (long long)a.page[(size_t)i * a.pages + at / HD_PAGE_ROWS] * HD_PAGE_ROWS + at % HD_PAGE_ROWS;
}

template <typename X, typename Y, int W> static __global__ void append_rows(appending a)
{
    int i = (int)blockIdx.x, more = a.from_len[i], from = a.from_begin[i], old = a.len ? a.len[i] : 0;
    int step = (int)(gridDim.y * blockDim.y);
    for (int j = (int)(blockIdx.y * blockDim.y + threadIdx.y); j < more; j += step) {
        long long to = cache_row(a, i, old + j);
        if (to < 0 || to >= a.y.rows) continue;
        const X *x = (const X *)a.x.p + (size_t)(from + j) * a.x.stride;
        Y *y = (Y *)a.y.p + (size_t)to * a.y.stride;
        for (int c = (int)threadIdx.x * W; c < a.x.cols; c += (int)blockDim.x * W) {
            float v[W];
            load_wide<W>(v, x + c);
            store_wide<W>(y + c, v);
        }
    }
}

/* Its own launch: blocks of append_rows still read the old lengths. */
static __global__ void advance(int32_t *len, const int32_t *more, int items)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < items) len[i] += more[i];
}

/* A block of 256 for rows of so many lanes, and the grid for items of at most `longest` rows. */
static dim3 item_block(size_t lanes)
{
    unsigned x = 32;
    while (x < 256 && x < lanes) x *= 2;
    return dim3(x, 256 / x);
}
static dim3 item_grid(size_t items, size_t longest, dim3 block)
{
    unsigned y = hd_blocks(longest, block.y);
    return dim3((unsigned)items, y < 1024 ? y : 1024);
}

extern "C" hd_status hd_cuda_append(hd_backend *b, const hd_append_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    const hd_seg *from = a->from;
    size_t cols = hd_cols_of(a->x);
    if (!from->items || !from->longest) return HD_OK;
    if (cols) {
        bool eights = by_eights(a->y) && by_eights(a->x);
        appending s = {mat_of(a->y), mat_of(a->x), from->begin, from->len,
                       a->begin,     a->len,       a->page,     (int)a->pages};
        dim3 block = item_block(eights ? cols / 8 : cols);
        dim3 grid = item_grid(from->items, from->longest, block);
        LAUNCH(append_rows, eights, a->x, a->y, grid, block, c->stream, s);
    }
    if (a->advance)
        advance<<<hd_blocks(from->items, 128), 128, 0, c->stream>>>(a->len, from->len, (int)from->items);
    return hd_cuda_done(c, "append");
}

typedef struct folding {
    mat y, x;
    const int32_t *from_begin, *from_len, *to_begin, *to_len;
    int k;
    bool back;
} folding;

template <typename X, typename Y, int W> static __global__ void fold_rows(folding f)
{
    int i = (int)blockIdx.x, n = f.x.cols, inside = f.from_len[i], all = f.to_len[i] * f.k;
    int step = (int)(gridDim.y * blockDim.y);
    for (int at = (int)(blockIdx.y * blockDim.y + threadIdx.y); at < all; at += step) {
        int q = at / f.k, j = at % f.k;
        if (f.back && at >= inside) continue;
        Y *wide = (Y *)f.y.p + (size_t)(f.to_begin[i] + q) * f.y.stride + (size_t)j * n;
        X *x = (X *)f.x.p + (size_t)(f.from_begin[i] + (at < inside ? at : 0)) * f.x.stride;
        for (int c = (int)threadIdx.x * W; c < n; c += (int)blockDim.x * W) {
            float v[W] = {};
            if (f.back) {
                load_wide<W>(v, wide + c);
                add_to<W>(x + c, v);
                continue;
            }
            if (at < inside) load_wide<W>(v, x + c);
            store_wide<W>(wide + c, v);
        }
    }
}

extern "C" hd_status hd_cuda_fold(hd_backend *b, const hd_fold_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    size_t cols = hd_cols_of(a->x), items = a->from->items;
    if (!items || !a->to->longest || !cols) return HD_OK;
    bool eights = by_eights(a->y) && by_eights(a->x);
    folding f = {mat_of(a->y), mat_of(a->x), a->from->begin, a->from->len,
                 a->to->begin, a->to->len,   a->k,           a->back};
    dim3 block = item_block(eights ? cols / 8 : cols);
    dim3 grid = item_grid(items, a->to->longest * (size_t)a->k, block);
    LAUNCH(fold_rows, eights, a->x, a->y, grid, block, c->stream, f);
    return hd_cuda_done(c, "fold");
}
