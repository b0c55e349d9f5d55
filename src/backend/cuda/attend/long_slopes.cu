/* Attention of long items with vectors of distances, backward. A block that owns 64 keys walks over the
   queries for dk and dv, with a band (band.h) for each tile, and leaves the slopes of a slice in scratch: to
   make scores a second time would cost more than to read them. Then a block takes 64 queries of one head for
   each of its two groups and walks over the keys for dq, as in long.cu: slopes are multiplied with the keys,
   and, moved into a band, with the vectors. Easy to get wrong: slopes lie turned, keys by rows. */
#include "backend/cuda/attend/long_back.h"

enum { THREADS = GROUP, GROUPS = 2, ALL = GROUPS * GROUP, QUERIES = GROUPS * ROWS, STAGES = 2 };

/* Heads of items whose tiles begin together, the long ones first: few threads are busy alone at the end. */
enum { TOGETHER = 32 };
static unsigned units_of(const slice *s)
{
    return (unsigned)(s->items * s->heads + TOGETHER - 1) / TOGETHER * TOGETHER;
}

/* Puts sums [64 queries, 64 vectors] where add_turned looks for them. */
DEVICE void put_turned(uint16_t *band, int side, const float m[8][4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        band_put16(band + band_row() * BAND_STRIDE + threadIdx.x % 4 * 2 + side * GROUP_ROWS + 16 * k,
                   m + 2 * k);
}

/* s [64 keys, 64 queries] += the products of each pair, from a band with its right block on side 1. */
DEVICE void add_turned(float s[8][4], const uint16_t *band)
{
    const uint16_t *at = band + threadIdx.x % 4 * 2 * (BAND_STRIDE - 1) + GROUP_ROWS - 1 + band_row();
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++)
            s[n][x] += band_number(at + (n * 8 + x % 2) * (BAND_STRIDE - 1) + x / 2 * 8);
}

/* Sums of 64 keys that go on in the next slice: each thread has its own behind those of the others. */
template <int D> DEVICE float4 *carried(const slice &part, int begin)
{
    return part.carry + (size_t)begin / ROWS * 2 * THREADS * (D / 8) + threadIdx.x;
}
template <int D> DEVICE void put_carried(float4 *to, const float dk[D / 8][4], const float dv[D / 8][4])
{
#pragma unroll
    for (int n = 0; n < D / 8; n++, to += 2 * THREADS) {
        to[0] = make_float4(dk[n][0], dk[n][1], dk[n][2], dk[n][3]);
        to[THREADS] = make_float4(dv[n][0], dv[n][1], dv[n][2], dv[n][3]);
    }
}
template <int D> DEVICE void get_carried(const float4 *from, float dk[D / 8][4], float dv[D / 8][4])
{
#pragma unroll
    for (int n = 0; n < D / 8; n++, from += 2 * THREADS) {
        float4 x = from[0], y = from[THREADS];
        dk[n][0] = x.x, dk[n][1] = x.y, dk[n][2] = x.z, dk[n][3] = x.w;
        dv[n][0] = y.x, dv[n][1] = y.y, dv[n][2] = y.z, dv[n][3] = y.w;
    }
}

/* Three blocks find room on a multiprocessor (one where heads are wider): dy and vectors have one place each
   and come late. */
template <int D, int WITH>
static __global__ void __launch_bounds__(THREADS, D > 64 ? 1 : 3)
    slope_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept,
               const slice part)
{
    extern __shared__ __align__(1024) char attend_room[];
    int me = threadIdx.x, blocks = TOGETHER * ((t.longest_k + ROWS - 1) / ROWS),
        at = (int)blockIdx.x % blocks;
    int which = (int)blockIdx.x / blocks * TOGETHER + at % TOGETHER, begin = at / TOGETHER * ROWS;
    if (which >= part.items * part.heads) return;
    place p = place_at(t, part.item + which / part.heads, part.head + which % part.heads);
    int end = p.tq; /* queries from here on see none */
    if (t.block > 0) end = min(end, ((begin + ROWS - 1) / t.block + 2) * t.block);
    int a = max(begin, part.tile * ROWS), stop = min(end, (part.tile + part.tiles) * ROWS);
    if (begin >= p.tk || a >= stop) return;
    bf16 *k = (bf16 *)attend_room, *v = k + ROWS * D, *queries = v + ROWS * D, *dy = queries + 2 * ROWS * D;
    bf16 *vectors = dy + ROWS * D;
    uint16_t *band = (uint16_t *)(vectors + 2 * ROWS * D);
    float2 *pairs = (float2 *)(band + BAND_CELLS);
    uint64_t *keys = (uint64_t *)(pairs + 2 * ROWS);
    size_t column = (size_t)p.head * D, row = p.krow + begin;
    auto turn = [](int query) { return query / ROWS & 1; }; /* tiles take turns in what has two places */
    /* the right block of the tile of queries from here on, the left one of the tile before */
    auto copy_vectors = [&](int query) {
        bf16 *to = vectors + turn(query) * ROWS * D;
        if (query < stop + ROWS) vectors_copy<D, THREADS>(to, t, p.head, t.span - query + begin);
    };
    auto copy_queries = [&](int query) {
        int real = p.tq - query, to = turn(query) * ROWS;
        if (query >= stop) return;
        slabs_copy<D, ROWS, THREADS>(queries + to * D, t.q, p.qrow + query, column, real);
        if (me >= ROWS) return;
        size_t mine = p.qrow + query + (me < real ? me : 0);
        copy_few<8>(&pairs[to + me], kept.pair + mine * t.heads + p.head, me < real);
        if (WITH & DROPS) copy_few<8>(&keys[to + me], kept.key + mine, me < real);
    };
    slabs_copy<D, ROWS, THREADS>(k, t.k, row, column, p.tk - begin);
    slabs_copy<D, ROWS, THREADS>(v, t.v, row, column, p.tk - begin);
    copy_vectors(a), copy_vectors(a + ROWS);
    copy_queries(a);
    copy_commit();
    int own = me / 32 * 16; /* the warp's first key */
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    if (a > begin)
        get_carried<D>(carried<D>(part, begin), dk, dv); /* the slice before had queries of these */
    bf16 *leave = slice_slopes(part, p.item, p.head, a / ROWS) + (size_t)(a - begin) / ROWS * ROWS * ROWS;
    for (; a < stop; a += ROWS) {
        copy_wait<0>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        slabs_copy<D, ROWS, THREADS>(dy, g.dy, p.qrow + a, column, p.tq - a);
        copy_commit();
        copy_queries(a + ROWS);
        copy_commit();
        int to = turn(a) * ROWS;
        const bf16 *q = queries + to * D;
        meeting m = {a, begin + own + me % 32 / 4, (const float4 *)(pairs + to), keys + to};
        bool whole = a + ROWS <= p.tq && begin + ROWS <= p.tk && begin + ROWS - 1 <= a;
        if (begin < block_begin(t, a + ROWS - 1)) whole = false;
        float s[8][4], ds[8][4];
        group_matrix left_q = slabs_at<D, false>(q, 0, ROWS);
        {
            float right[8][4], left[8][4];
            group_scores<D>(right, left_q, ROWS, slabs_at<D, false>(vectors + to * D, 0, ROWS), ROWS);
            group_scores<D>(left, left_q, ROWS, slabs_at<D, false>(vectors + (ROWS - to) * D, 0, ROWS), ROWS);
            group_wait<1>(right);
            put_turned(band, 1, right);
            group_wait<0>(left);
            group_scores<D>(s, slabs_at<D, false>(k, 0, ROWS), ROWS, left_q, ROWS);
            put_turned(band, 0, left);
        }
        copy_wait<1>();
        copies_shown();
        __syncthreads(); /* dy is here, the band is of all warps, nobody reads the right block any more */
        copy_vectors(a + 2 * ROWS);
        copy_commit();
        group_scores<D>(ds, slabs_at<D, false>(v, 0, ROWS), ROWS, slabs_at<D, false>(dy, 0, ROWS), ROWS);
        group_wait<1>(s);
        add_turned(s, band);
        if (!whole) hide_queries<FAR>(t, p, s, m);
        key_weights(t, s, m);
        group_wait<0>(ds);
        key_slopes<WITH>(t, p, s, ds, m);
        uint32_t weights[4][4], slopes[4][4];
        group_left(weights, s);
        group_left(slopes, ds); /* to be stored before a product has these registers */
#pragma unroll
        for (int n = 0; n < 4; n++)
            *slopes_at(leave, n, me / 32) =
                make_uint4(slopes[n][0], slopes[n][1], slopes[n][2], slopes[n][3]);
        leave += (size_t)(min(a / ROWS + 1, part.width) + 1) * ROWS * ROWS;
        group_add<D>(dv, weights, slabs_at<D, true>(dy, 0, ROWS));
        group_add<D>(dk, slopes, slabs_at<D, true>(q, 0, ROWS));
        group_wait<0>(dv);
        group_wait<0>(dk);
    }
    copy_wait<0>();
    if (stop < end) {
        put_carried<D>(carried<D>(part, begin), dk, dv);
        return;
    }
    int real = p.tk - begin - own;
    if (real <= 0) return;
    row += own;
    put_rows<D>((bf16 *)g.dv.p + row * g.dv.stride + column, g.dv.stride, real, dv, 1, 1, !g.fresh_v);
    put_rows<D>((bf16 *)g.dk.p + row * g.dk.stride + column, g.dk.stride, real, dk, t.scale, t.scale,
                !g.fresh_k);
}

/* The words that a warp has of its sixteen queries and a tile of keys. */
typedef struct words {
    uint4 of[4];
} words;

DEVICE words get_words(const bf16 *tile)
{
    words x;
#pragma unroll
    for (int k = 0; k < 4; k++) x.of[k] = *slopes_at((bf16 *)tile, threadIdx.x % GROUP / 32, k);
    return x;
}

/* Puts slopes into the cells of a band whose left block is on side `left`. */
DEVICE void put_words(uint16_t *band, int left, const words &x)
{
    int lane = threadIdx.x % 32, key = lane / 4, query = lane % 4 * 2;
    uint16_t *at = band + (threadIdx.x % GROUP / 32 * 16 + query) * BAND_STRIDE + key - query;
    uint16_t *ahead = at + (left ? -1 : ROWS - 1), *back = at + (left ? 2 * ROWS - 1 : ROWS - 1);
    uint16_t *mixed[2] = {key > query ? ahead : back, key > query + 1 ? ahead : back};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t w[4] = {x.of[k].x, x.of[k].y, x.of[k].z, x.of[k].w};
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int more = 16 * k + m % 2 * 8, down = m / 2 * 8 + i;
                uint16_t *p = k || (m % 2 && !(m / 2)) ? ahead : m % 2 == m / 2 ? mixed[i] : back;
                p[down * (BAND_STRIDE - 1) + more] = (uint16_t)(i ? w[m] >> 16 : w[m]);
            }
    }
}

/* Slopes as the left side of a product. */
DEVICE void turn_words(uint32_t a[4][4], const words &x)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        a[k][0] = turn_matrix(x.of[k].x), a[k][1] = turn_matrix(x.of[k].z);
        a[k][2] = turn_matrix(x.of[k].y), a[k][3] = turn_matrix(x.of[k].w);
    }
}

/* Zeros in the warp's rows. */
DEVICE void clear_band(uint16_t *band)
{
    uint4 *rows = (uint4 *)(band + threadIdx.x % GROUP / 32 * 16 * BAND_STRIDE);
    for (int i = threadIdx.x % 32; i < 16 * BAND_STRIDE / 8; i += 32) rows[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
}

template <int D>
static __global__ void __launch_bounds__(ALL, D <= 64 ? 2 : 1)
    slope_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                  const slice part)
{
    extern __shared__ __align__(1024) char attend_room[];
    int tiles = (part.tiles + GROUPS - 1) / GROUPS, me = threadIdx.x;
    int at = (int)blockIdx.x % (TOGETHER * tiles);
    int which = (int)blockIdx.x / (TOGETHER * tiles) * TOGETHER + at % TOGETHER;
    if (which >= part.items * part.heads) return;
    place p = place_at(t, part.item + which / part.heads, part.head + which % part.heads);
    int begin = part.tile * ROWS + (tiles - 1 - at / TOGETHER) * QUERIES;
    int group = me / GROUP, first = begin + group * ROWS;
    int row = first + me % GROUP / 32 * 16; /* the warp's first query */
    if (begin >= p.tq) return;
    bf16 *keys = (bf16 *)attend_room, *vectors = keys + STAGES * ROWS * D;
    uint16_t *band = (uint16_t *)(vectors + FAR_BLOCKS * ROWS * D) + group * BAND_CELLS;
    int lowest = block_begin(t, begin) / ROWS * ROWS, own_lowest = block_begin(t, first) / ROWS * ROWS;
    int seen = min(p.tk, min(p.tq, begin + QUERIES)); /* items have as many keys as queries */
    int vector = t.span - begin + lowest - ROWS;      /* block b is the left one of tile b of group 0 */
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D;
    auto copy_vectors = [&](int b) {
        vectors_copy<D, ALL>(vectors + (b + 1) % 3 * ROWS * D, t, p.head, vector + b * ROWS);
    };
    auto copy_keys = [&](int from, int stage) {
        if (from < seen) {
            slabs_copy<D, ROWS, ALL>(keys + stage * ROWS * D, t.k, p.krow + from, kv_column, p.tk - from);
            copy_vectors((from - lowest) / ROWS);
        }
        copy_commit();
    };
    copy_vectors(-1);
    copy_keys(lowest, 0);
    bool any = first < min(p.tq, (part.tile + part.tiles) * ROWS);
    const bf16 *saved =
        any ? slice_slopes(part, p.item, p.head, first / ROWS) + (size_t)first / ROWS * ROWS * ROWS : NULL;
    auto meets = [&](int from) { return any && from >= own_lowest && from <= first; };
    auto get = [&](words &x, int from) {
        if (meets(from)) x = get_words(saved - (size_t)from / ROWS * ROWS * ROWS);
    };
    words even = {}, odd = {};
    get(even, lowest);
    clear_band(band);
    float dq[D / 8][4] = {};
    int from = lowest, stage = 0, left = -group; /* block of vectors */
    auto step = [&](const words &x, words &next) {
        copy_wait<0>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_keys(from + ROWS, stage ^ 1);
        get(next, from + ROWS);
        if (meets(from)) {
            uint32_t slopes[4][4], more[4][4];
            turn_words(slopes, x);
            group_add<D>(dq, slopes, slabs_at<D, true>(keys + stage * ROWS * D, 0, ROWS));
            put_words(band, left & 1, x);
            __syncwarp();
            band_left(more, band, left & 1);
            group_add<D>(dq, more, slabs_at<D, true>(vectors + (left + 1) % 3 * ROWS * D, 0, ROWS));
            group_wait<0>(dq);
        }
        from += ROWS, stage ^= 1, left++;
    };
    while (from < seen) { /* two at a time: words on their way stay where they are */
        step(even, odd);
        if (from < seen) step(odd, even);
    }
    copy_wait<0>();
    if (!any || row >= p.tq) return;
    put_rows<D>((bf16 *)g.dq.p + (p.qrow + row) * g.dq.stride + column, g.dq.stride, p.tq - row, dq, t.scale,
                t.scale, !g.fresh_q);
}

template <int D, int WITH>
static void launch_keys(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, const slice *s)
{
    size_t room =
        (7 * ROWS * D + BAND_CELLS) * sizeof(bf16) + (WITH & DROPS ? 4 : 2) * ROWS * sizeof(uint64_t);
    cudaFuncSetAttribute(slope_keys<D, WITH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    cudaFuncSetAttribute(slope_keys<D, WITH>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
    slope_keys<D, WITH>
        <<<hd_blocks((size_t)t->longest_k, ROWS) * units_of(s), THREADS, room, c->stream>>>(*t, *g, kept, *s);
}

template <int D>
static void launch_heads(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, const slice *s)
{
    t->drops ? launch_keys<D, FAR | DROPS>(c, t, g, kept, s) : launch_keys<D, FAR>(c, t, g, kept, s);
}

void hd_attend_slope_keys(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, const slice *s)
{
    if (t->d == 32)
        launch_heads<32>(c, t, g, kept, s);
    else if (t->d == 64)
        launch_heads<64>(c, t, g, kept, s);
    else
        launch_heads<128>(c, t, g, kept, s);
}

template <int D>
static void launch_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, const slice *s)
{
    size_t room = (size_t)STAGES * ROWS * D * sizeof(bf16) + band_room(D, GROUPS);
    cudaFuncSetAttribute(slope_queries<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    slope_queries<D><<<hd_blocks((size_t)s->tiles, GROUPS) * units_of(s), ALL, room, c->stream>>>(*t, *g, *s);
}

void hd_attend_slope_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, const slice *s)
{
    if (t->d == 32)
        launch_queries<32>(c, t, g, s);
    else if (t->d == 64)
        launch_queries<64>(c, t, g, s);
    else
        launch_queries<128>(c, t, g, s);
}
