/* Choosing columns: the k largest of a row, and a random one by its probability. Equal values go to the
   smaller column. All that decides is integer arithmetic (a key that orders values and columns, weights in
   fixed point), so no result depends on the order in which threads come. */
#include "backend/cuda/device.h"

typedef unsigned long long u64;

enum { MOST_THREADS = 1024, FOUND = 4096, FEW = 3 };

/* -- the k largest -- */

/* Rises with the value, above 0; NaN below every number, -0 like 0. */
DEVICE uint32_t order_of(float v)
{
    if (v != v) return 1;
    uint32_t bits = __float_as_uint(v == 0 ? 0.0f : v);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

DEVICE u64 block_max_key(u64 x, u64 *room) /* 32 of shared memory, free again after the call */
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
#pragma unroll
    for (int d = 16; d; d >>= 1) x = max(x, __shfl_xor_sync(FULL_WARP, x, d));
    if (!lane) room[warp] = x;
    __syncthreads();
    x = lane < warps ? room[lane] : 0;
#pragma unroll
    for (int d = 16; d; d >>= 1) x = max(x, __shfl_xor_sync(FULL_WARP, x, d));
    __syncthreads();
    return x;
}

typedef struct topping {
    mat x, values;
    int32_t *ids;
    size_t ids_stride;
    int k, bits; /* bits that a column number needs */
} topping;

DEVICE u64 key_of(const topping &a, float v, int c)
{
    return (u64)order_of(v) << a.bits | (((u64)1 << a.bits) - 1 - (u64)c);
}

DEVICE void put_top(const topping &a, size_t r, int rank, u64 key)
{
    u64 low = ((u64)1 << a.bits) - 1;
    int c = (int)(low - (key & low));
    a.ids[r * a.ids_stride + rank] = c;
    if (a.values.p) mat_put(a.values, r, rank, mat_get(a.x, r, c));
}

/* Right for any k and any row: the largest below the last one, k times. */
static __device__ __noinline__ void top_one_by_one(const topping &a, size_t r, u64 *room)
{
    u64 last = ~(u64)0;
    for (int i = 0; i < a.k; i++) {
        u64 best = 0;
        for (int c = (int)threadIdx.x; c < a.x.cols; c += (int)blockDim.x) {
            u64 key = key_of(a, mat_get(a.x, r, c), c);
            if (key < last && key > best) best = key;
        }
        last = block_max_key(best, room);
        if (!threadIdx.x) put_top(a, r, i, last);
    }
}

/* The largest key of the thread's own columns below `bound`; 0: there is none. */
template <typename T, int W> DEVICE u64 best_below(const topping &a, const T *x, u64 bound)
{
    u64 best = 0;
#pragma unroll 2
    for (int c = (int)threadIdx.x * W; c < a.x.cols; c += (int)blockDim.x * W) {
        float v[W];
        load_wide<W>(v, x + c);
#pragma unroll
        for (int j = 0; j < W; j++) {
            u64 key = key_of(a, v[j], c + j);
            if (key < bound && key > best) best = key;
        }
    }
    return best;
}

/* One block per row. A few go one after the other: who had the last one looks for its next. Of more: keys
   differ, so the k largest lie in the columns of those k threads whose own maxima are
   largest; what there is at least the k-th of these maxima is collected and ranked by counting. */
template <typename T, int W>
static __global__ __launch_bounds__(MOST_THREADS) void top_rows(const __grid_constant__ topping a)
{
    __shared__ u64 found[FOUND];
    __shared__ int counter;
    size_t r = blockIdx.x;
    const T *x = (const T *)a.x.p + r * a.x.stride;
    int n = a.x.cols, t = (int)threadIdx.x, step = (int)blockDim.x * W, at = 0;
    if (a.k > (int)blockDim.x) {
        top_one_by_one(a, r, found);
        return;
    }
    uint32_t best = 0;
#pragma unroll 2
    for (int c = t * W; c < n; c += step) {
        float v[W];
        load_wide<W>(v, x + c);
#pragma unroll
        for (int j = 0; j < W; j++) {
            uint32_t key = order_of(v[j]);
            if (key > best) best = key, at = c + j;
        }
    }
    u64 mine = best ? (u64)best << a.bits | (((u64)1 << a.bits) - 1 - (u64)at) : 0;
    if (a.k <= FEW) {
        for (int i = 0; i < a.k; i++) {
            u64 last = block_max_key(mine, found);
            if (!t) put_top(a, r, i, last);
            if (mine == last && i + 1 < a.k) mine = best_below<T, W>(a, x, last);
        }
        return;
    }
    if (!t) counter = 0;
    u64 bound = 0; /* stays 0 where fewer than k threads have columns: then all are collected */
    for (int bit = 31 + a.bits; bit >= 0; bit--) {
        u64 higher = bound | (u64)1 << bit;
        if (__syncthreads_count(mine >= higher) >= a.k) bound = higher;
    }
    if (mine >= bound)
        for (int c = t * W; c < n; c += step)
            for (int j = 0; j < W; j++) {
                u64 key = key_of(a, to_float(x[c + j]), c + j);
                if (key < bound) continue;
                int slot = atomicAdd(&counter, 1);
                if (slot < FOUND) found[slot] = key;
            }
    __syncthreads();
    int count = counter;
    if (count > FOUND) { /* a row that repeats itself in step with the threads */
        top_one_by_one(a, r, found);
        return;
    }
    for (int i = t; i < count; i += (int)blockDim.x) {
        u64 key = found[i];
        int rank = 0;
        for (int j = 0; j < count && rank < a.k; j++) rank += found[j] > key;
        if (rank < a.k) put_top(a, r, rank, key);
    }
}

extern "C" hd_status hd_cuda_top(hd_backend *b, const hd_top_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    topping s = {mat_of(a->x), mat_of(a->values), (int32_t *)a->ids->data, a->ids->stride, a->k, 1};
    if (!s.x.rows || !s.x.cols || a->k < 1) return HD_OK;
    while (s.x.cols - 1 >> s.bits) s.bits++;
    /* few rows: as quick as one block can be; many: more blocks to a multiprocessor */
    unsigned rows = (unsigned)s.x.rows, threads = s.x.rows > 2 * c->processors ? 512 : MOST_THREADS;
    bool eights = by_eights(a->x);
    if (s.x.small && eights)
        top_rows<bf16, 8><<<rows, threads, 0, c->stream>>>(s);
    else if (s.x.small)
        top_rows<bf16, 1><<<rows, threads, 0, c->stream>>>(s);
    else if (eights)
        top_rows<float, 8><<<rows, threads, 0, c->stream>>>(s);
    else
        top_rows<float, 1><<<rows, threads, 0, c->stream>>>(s);
    return hd_cuda_done(c, "top");
}

/* -- sampling: blocks of MOST_THREADS, that is 32 warps -- */

typedef struct sampling {
    mat x, logp;
    int32_t *ids;
    size_t ids_stride;
    float inverse, top_p; /* 1 / temperature */
    int top_k;            /* 0: all */
    draw_of draw;
    uint32_t *weights; /* room for one row per block; NULL: the draw walks by column */
    size_t each;       /* columns rounded up to fours */
} sampling;

/* How much a column counts in a walk: its weight, or whether it has the wanted one. */
typedef struct measure {
    const mat *x;
    size_t r;
    float max, inverse;
    const uint32_t *weights; /* NULL: from x */
    uint32_t wanted;
} measure;

/* The cpu's exp gives 0 from here on. */
DEVICE float weight_of(float x, float max, float inverse)
{
    float e = (x - max) * inverse;
    return e < -87.33654f ? 0.0f : expf(e);
}

DEVICE u64 measure_at(const measure &m, int c)
{
    if (m.weights) return m.weights[c] == m.wanted;
    float w = weight_of(mat_get(*m.x, m.r, c), m.max, m.inverse);
    return w > 0 ? __float2ull_rn(w * 0x1p40f) : 0; /* NaN counts nothing */
}

DEVICE u64 warp_sum_u64(u64 x)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}

/* The first of n columns at which the sum passes the goal; a goal below 0 means `share` of the whole. Narrows
   the row down to a 32nd, again and again. 0 where nothing counts. */
static __device__ int walk(const measure &m, int n, double goal, double share, u64 *room)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, from = 0, span = n;
    u64 before = 0;
    do {
        int piece = ((span + 31) / 32 + 31) / 32 * 32, begin = warp * piece;
        int end = begin + piece < span ? begin + piece : span;
        u64 sum = 0;
        for (int c = begin + lane; c < end; c += 32) sum += measure_at(m, from + c);
        sum = warp_sum_u64(sum);
        if (!lane) room[warp] = sum;
        __syncthreads();
        if (goal < 0) {
            u64 all = warp_sum_u64(room[lane]);
            goal = share * (double)all;
        }
        int pick = 0;
        u64 at = before;
        while (pick < 32 && !((double)(at + room[pick]) > goal)) at += room[pick++];
        __syncthreads();
        if (pick == 32) return 0;
        before = at, from += pick * piece;
        span = span - pick * piece < piece ? span - pick * piece : piece;
    } while (span > 32);
    u64 sum = lane < span ? measure_at(m, from + lane) : 0;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        u64 left = __shfl_up_sync(FULL_WARP, sum, d);
        if (lane >= d) sum += left;
    }
    unsigned passed = __ballot_sync(FULL_WARP, (double)(before + sum) > goal);
    return from + (passed ? __ffs((int)passed) - 1 : 0);
}

/* What weighs at least key + 1, + 2 and + 3 steps of 1 << shift: the sum of it, or (unit) the number. Zeros
   are never among them. */
static __device__ void sums_above(u64 sum[3], const uint32_t *weights, size_t each, uint32_t key, int shift,
                                  bool unit, u64 *room)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    uint32_t one = key + (1u << shift), two = key + (2u << shift), three = key + (3u << shift);
    u64 a = 0, b = 0, c = 0;
    for (size_t i = threadIdx.x; i < each / 4; i += MOST_THREADS) {
        uint4 four = ((const uint4 *)weights)[i];
        uint32_t v[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            uint32_t counts = unit ? 1 : v[j];
            if (v[j] >= one) a += counts;
            if (v[j] >= two) b += counts;
            if (v[j] >= three) c += counts;
        }
    }
    a = warp_sum_u64(a), b = warp_sum_u64(b), c = warp_sum_u64(c);
    if (!lane) room[warp] = a, room[32 + warp] = b, room[64 + warp] = c;
    __syncthreads();
    sum[0] = warp_sum_u64(room[lane]), sum[1] = warp_sum_u64(room[32 + lane]);
    sum[2] = warp_sum_u64(room[64 + lane]);
    __syncthreads();
}

/* A place in rank order: the nth (from 1) by column of those that weigh `key`. `above` is the sum or number
   of all that weigh more. */
typedef struct place {
    uint32_t key;
    u64 above, nth;
} place;

DEVICE bool crossed(u64 sum, double goal, bool pass)
{
    return pass ? (double)sum > goal : (double)sum >= goal;
}

/* The first place in rank order at which the sum (unit: the number) reaches or, with `pass`, passes the goal,
   two bits of its weight at a time. */
static __device__ place crossing(const uint32_t *weights, size_t each, bool unit, double goal, bool pass,
                                 u64 *room)
{
    place p = {0, 0, 1};
    for (int shift = 30; shift >= 0; shift -= 2) {
        u64 sum[3];
        sums_above(sum, weights, each, p.key, shift, unit, room);
        if (crossed(sum[2], goal, pass))
            p.key += 3u << shift;
        else if (crossed(sum[1], goal, pass))
            p.key += 2u << shift, p.above = sum[2];
        else if (crossed(sum[0], goal, pass))
            p.key += 1u << shift, p.above = sum[1];
        else
            p.above = sum[0];
    }
    u64 counts = unit ? 1 : p.key;
    if (!counts) return p;
    double guess = (goal - (double)p.above) / (double)counts; /* the division rounds: look around it */
    p.nth = guess > 1 ? (u64)guess : 1;
    while (p.nth > 1 && crossed(p.above + (p.nth - 1) * counts, goal, pass)) p.nth--;
    while (!crossed(p.above + p.nth * counts, goal, pass)) p.nth++;
    return p;
}

static __device__ int draw_by_rank(const sampling &s, size_t r, float max, double share, uint32_t *weights,
                                   u64 *room)
{
    int n = s.x.cols;
    for (size_t c = threadIdx.x; c < s.each; c += MOST_THREADS) {
        float w = c < (size_t)n ? weight_of(mat_get(s.x, r, c), max, s.inverse) : 0;
        weights[c] = w > 0 ? __float2uint_rn(w * 0x1p31f) : 0;
    }
    __syncthreads();
    place p = {0, 0, 0};
    if (s.top_k) p = crossing(weights, s.each, true, s.top_k, false, room);
    u64 sum[3];
    sums_above(sum, weights, s.each, p.key, 0, false, room);
    u64 mass = sum[0] + p.nth * p.key;
    if (!mass) return 0;
    if (s.top_p < 1) {
        p = crossing(weights, s.each, false, (double)s.top_p * (double)mass, false, room);
        mass = p.above + p.nth * p.key;
    }
    p = crossing(weights, s.each, false, share * (double)mass, true, room);
    measure m = {&s.x, r, max, s.inverse, weights, p.key};
    return walk(m, n, (double)(p.nth - 1), 0, room);
}

DEVICE double unit_of(const draw_of &d, uint32_t r)
{
    uint32_t item = r, row = 0;
    if (d.item) {
        int32_t i = d.item[r];
        item = (uint32_t)(d.key && i >= 0 ? d.key[i] : i), row = (uint32_t)d.pos[r];
    }
    return (double)(hd_rng_row_key(d.step->seed, d.step->number, d.op, item, row) >> 11) * 0x1p-53;
}

static __global__ __launch_bounds__(MOST_THREADS) void sample_rows(const __grid_constant__ sampling s)
{
    __shared__ u64 room[96];
    __shared__ float room_float[32];
    int n = s.x.cols;
    for (size_t r = blockIdx.x; r < (size_t)s.x.rows; r += gridDim.x) {
        float max = -INFINITY;
        for (int c = (int)threadIdx.x; c < n; c += MOST_THREADS) max = fmaxf(max, mat_get(s.x, r, c));
        max = block_max(max, room_float);
        double share = unit_of(s.draw, (uint32_t)r);
        int chosen;
        if (s.weights) {
            chosen = draw_by_rank(s, r, max, share, s.weights + blockIdx.x * s.each, room);
        } else {
            measure m = {&s.x, r, max, s.inverse, NULL, 0};
            chosen = walk(m, n, -1, share, room);
        }
        float sum = 0;
        for (int c = (int)threadIdx.x; s.logp.p && c < n; c += MOST_THREADS)
            sum += weight_of(mat_get(s.x, r, c), max, 1);
        sum = block_sum(sum, room_float); /* also keeps the next row's weights back until all are done */
        if (threadIdx.x) continue;
        s.ids[r * s.ids_stride] = chosen;
        if (!s.logp.p) continue;
        mat_put(s.logp, r, 0, (float)((double)(mat_get(s.x, r, chosen) - max) - log((double)sum)));
    }
}

extern "C" hd_status hd_cuda_sample(hd_backend *b, const hd_sample_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    sampling s = {mat_of(a->x), mat_of(a->logp), (int32_t *)a->ids->data, a->ids->stride};
    if (!s.x.rows || !s.x.cols) return HD_OK;
    s.inverse = (float)(1 / (double)a->temperature), s.top_p = a->top_p;
    s.top_k = a->top_k > 0 && a->top_k < s.x.cols ? a->top_k : 0;
    s.draw = draw_make(&a->draw);
    s.each = ((size_t)s.x.cols + 3) / 4 * 4;
    unsigned blocks = (unsigned)(s.x.rows < 2 * c->processors ? s.x.rows : 2 * c->processors);
    if (s.top_k || s.top_p < 1) {
        s.weights = (uint32_t *)hd_cuda_scratch(c, blocks * s.each * sizeof(uint32_t));
        if (!s.weights) return HD_ENOMEM;
    }
    sample_rows<<<blocks, MOST_THREADS, 0, c->stream>>>(s);
    return hd_cuda_done(c, "sample");
}
