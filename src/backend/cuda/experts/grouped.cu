/* Products of segments of rows, an expert's weight each, in one launch whatever the segments are: the grid
   has as many blocks as there can be tiles, and a block finds its own in the list of where experts begin.
   bf16 goes through tensor cores, few rows through warps that read a weight once, all else through a plain
   tile of f32. */
#include "backend/cuda/experts/tile.h"

enum { PLAIN = 64, PLAIN_DEPTH = 16, FEW = 64, FEW_WARPS = 8 };

typedef struct grouped_of {
    mat y, a, b;
    const int32_t *begin;
    int experts, n, k;
    bool b_transposed, add;
} grouped_of;

typedef struct found {
    int expert, row, end; /* expert -1: there is no such tile */
} found;

/* The tile-th block of `size` rows of all experts; every warp finds it for itself. */
DEVICE found find_tile(const int32_t *begin, int experts, int tile, int size)
{
    int lane = (int)threadIdx.x % 32, before = 0;
    for (int at = 0; at < experts; at += 32) {
        int e = at + lane, rows = e < experts ? begin[e + 1] - begin[e] : 0;
        int own = (rows + size - 1) / size, sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(FULL_WARP, sum, d);
            if (lane >= d) sum += other;
        }
        unsigned past = __ballot_sync(FULL_WARP, before + sum > tile);
        if (past) {
            int who = __ffs((int)past) - 1;
            found f = {at + who, 0, begin[at + who + 1]};
            f.row = begin[at + who] + (tile - before - __shfl_sync(FULL_WARP, sum - own, who)) * size;
            return f;
        }
        before += __shfl_sync(FULL_WARP, sum, 31);
    }
    return {-1, 0, 0};
}

template <bool B>
static __global__ __launch_bounds__(TILE_THREADS, 2) void grouped_tiles(const __grid_constant__ grouped_of k)
{
    extern __shared__ __align__(16) bf16 room[];
    found f = find_tile(k.begin, k.experts, (int)blockIdx.y, TILE);
    if (f.expert < 0) return;
    float sum[4][8][4];
    side a = {(const bf16 *)k.a.p + (size_t)f.row * k.a.stride, k.a.stride, f.end - f.row, k.k};
    side b = {(const bf16 *)k.b.p + (size_t)f.expert * (size_t)(B ? k.k : k.n) * k.b.stride, k.b.stride, k.n,
              k.k};
    int j0 = (int)blockIdx.x * TILE;
    tile_product<false, B>(sum, room, a, b, 0, j0);
    tile_out((bf16 *)k.y.p + (size_t)f.row * k.y.stride, k.y.stride, sum, 0, j0, f.end - f.row, k.n, k.add);
}

/* A warp has a number of the result: few rows, for which a weight is read once each. */
static __global__ void grouped_few(const __grid_constant__ grouped_of k)
{
    int lane = (int)threadIdx.x % 32, j = (int)blockIdx.x * FEW_WARPS + (int)threadIdx.x / 32;
    int row = (int)blockIdx.y, e = 0;
    if (j >= k.n || row >= k.begin[k.experts]) return;
    for (int step = 1 << 10; step; step >>= 1) /* the last expert that begins here or before */
        if (e + step < k.experts && k.begin[e + step] <= row) e += step;
    const bf16 *a = (const bf16 *)k.a.p + (size_t)row * k.a.stride,
               *b = (const bf16 *)k.b.p + ((size_t)e * k.n + j) * k.b.stride;
    float sum = 0;
    for (int c = 8 * lane; c < k.k; c += 256) {
        float x[8], w[8];
        load8(x, a + c), load8(w, b + c);
#pragma unroll
        for (int i = 0; i < 8; i++) sum += x[i] * w[i];
    }
    sum = warp_sum(sum);
    if (!lane) mat_put_or_add(k.y, row, j, sum, k.add);
}

/* 64 x 64 of any types, 4 x 4 a thread. OUTER: of an expert's rows as the inner dimension. */
template <bool OUTER>
static __global__ __launch_bounds__(256) void grouped_plain(const __grid_constant__ grouped_of k, int m)
{
    __shared__ float left[PLAIN_DEPTH][PLAIN + 1], right[PLAIN_DEPTH][PLAIN + 1];
    int i0, end, depth, e, j0 = (int)blockIdx.x * PLAIN;
    size_t first = 0; /* OUTER: of the rows that are summed */
    if (OUTER) {
        e = (int)blockIdx.z, i0 = (int)blockIdx.y * PLAIN, end = m;
        first = (size_t)k.begin[e], depth = k.begin[e + 1] - k.begin[e];
        if (!depth) return;
    } else {
        found f = find_tile(k.begin, k.experts, (int)blockIdx.y, PLAIN);
        e = f.expert, i0 = f.row, end = f.end, depth = k.k;
        if (e < 0) return;
    }
    int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
    float sum[4][4] = {};
    for (int at = 0; at < depth; at += PLAIN_DEPTH) {
        __syncthreads();
        for (int n = (int)threadIdx.x; n < PLAIN * PLAIN_DEPTH; n += 256) {
            /* neighbors in memory by neighboring threads */
            int i = OUTER ? n % PLAIN : n / PLAIN_DEPTH, p = OUTER ? n / PLAIN : n % PLAIN_DEPTH;
            bool real = i0 + i < end && at + p < depth;
            left[p][i] = !real   ? 0
                         : OUTER ? mat_get(k.a, first + at + p, i0 + i)
                                 : mat_get(k.a, i0 + i, at + p);
            bool across = !OUTER && k.b_transposed;
            int j = across ? n / PLAIN_DEPTH : n % PLAIN, q = across ? n % PLAIN_DEPTH : n / PLAIN;
            real = j0 + j < k.n && at + q < depth;
            right[q][j] = !real    ? 0
                          : OUTER  ? mat_get(k.b, first + at + q, j0 + j)
                          : across ? mat_get(k.b, (size_t)e * k.n + j0 + j, at + q)
                                   : mat_get(k.b, (size_t)e * k.k + at + q, j0 + j);
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < PLAIN_DEPTH; p++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] += left[p][y + 16 * i] * right[p][x + 16 * j];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i0 + y + 16 * i < end && j0 + x + 16 * j < k.n)
                mat_put_or_add(k.y, (OUTER ? (size_t)e * m : 0) + i0 + y + 16 * i, j0 + x + 16 * j, sum[i][j],
                               k.add);
}

/* A weight as bf16 where rows are, if it has such a copy. */
static mat weight_of(const hd_tensor *w, bool small)
{
    mat m = mat_of(w);
    if (small && !m.small && w->prepared) m.p = w->prepared, m.small = true;
    return m;
}

static bool at_eights(const mat &m)
{
    return m.small && m.cols % 8 == 0 && m.stride % 8 == 0 && (uintptr_t)m.p % 16 == 0;
}

template <typename F> static bool widened(F *kernel, int bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
}

template <bool B> static bool launch_tiles(hd_cuda *c, const grouped_of &k, size_t rows)
{
    constexpr int bytes = tile_bytes<false, B>;
    if (!widened(grouped_tiles<B>, bytes)) return false;
    dim3 grid(hd_blocks(k.n, TILE), hd_blocks(rows, TILE) + k.experts);
    grouped_tiles<B><<<grid, TILE_THREADS, bytes, c->stream>>>(k);
    return true;
}

extern "C" hd_status hd_cuda_grouped(hd_backend *b, const hd_grouped_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    grouped_of k = {};
    k.y = mat_of(a->y), k.a = mat_of(a->a), k.b = weight_of(a->b, k.a.small);
    k.begin = a->begin, k.experts = (int)a->experts, k.n = k.y.cols, k.k = k.a.cols;
    k.b_transposed = a->b_transposed, k.add = a->add;
    size_t rows = hd_rows_of(a->y);
    if (!rows || !k.n) return HD_OK;
    bool eights = at_eights(k.a) && at_eights(k.b);
    bool done = eights && rows <= FEW && k.b_transposed;
    if (done)
        grouped_few<<<dim3(hd_blocks(k.n, FEW_WARPS), (unsigned)rows), 32 * FEW_WARPS, 0, c->stream>>>(k);
    else if (eights && at_eights(k.y))
        done = k.b_transposed ? launch_tiles<false>(c, k, rows) : launch_tiles<true>(c, k, rows);
    if (!done) {
        dim3 grid(hd_blocks(k.n, PLAIN), hd_blocks(rows, PLAIN) + k.experts);
        grouped_plain<false><<<grid, 256, 0, c->stream>>>(k, 0);
    }
    return hd_cuda_done(c, "grouped");
}

/* -- gradients of weights -- */

static __global__ __launch_bounds__(TILE_THREADS, 2) void outer_tiles(const __grid_constant__ grouped_of k,
                                                                      int m)
{
    extern __shared__ __align__(16) bf16 room[];
    int e = (int)blockIdx.z, first = k.begin[e], depth = k.begin[e + 1] - first;
    if (!depth) return;
    float sum[4][8][4];
    side a = {(const bf16 *)k.a.p + (size_t)first * k.a.stride, k.a.stride, m, depth};
    side b = {(const bf16 *)k.b.p + (size_t)first * k.b.stride, k.b.stride, k.n, depth};
    int i0 = (int)blockIdx.y * TILE, j0 = (int)blockIdx.x * TILE;
    tile_product<true, true>(sum, room, a, b, i0, j0);
    tile_out((float *)k.y.p + (size_t)e * m * k.y.stride, k.y.stride, sum, i0, j0, m, k.n, true);
}

extern "C" hd_status hd_cuda_grouped_outer(hd_backend *b, const hd_grouped_outer_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    grouped_of k = {};
    k.y = mat_of(a->y), k.a = mat_of(a->a), k.b = mat_of(a->b);
    k.begin = a->begin, k.experts = (int)a->experts, k.n = k.b.cols, k.add = true;
    int m = k.a.cols;
    if (!m || !k.n) return HD_OK;
    constexpr int bytes = tile_bytes<true, true>;
    if (at_eights(k.a) && at_eights(k.b) && !k.y.small && k.y.stride % 2 == 0 && (uintptr_t)k.y.p % 8 == 0 &&
        widened(outer_tiles, bytes)) {
        dim3 grid(hd_blocks(k.n, TILE), hd_blocks(m, TILE), (unsigned)k.experts);
        outer_tiles<<<grid, TILE_THREADS, bytes, c->stream>>>(k, m);
    } else {
        dim3 grid(hd_blocks(k.n, PLAIN), hd_blocks(m, PLAIN), (unsigned)k.experts);
        grouped_plain<true><<<grid, 256, 0, c->stream>>>(k, m);
    }
    return hd_cuda_done(c, "grouped_outer");
}
