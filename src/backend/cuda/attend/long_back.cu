/* Attention of long items, backward, without a score matrix: delta = sum of dy * y for every query and head
   first; then a block that owns keys walks over the queries for dk and dv, and one that owns queries walks
   over the keys for dq (long_queries.cu), each in tiles of 64 that come as in long.cu. Scores are made twice
   so that no number has two writers. With vectors of distances a band (band.h) is made for each tile of
   queries.
 */
#include "backend/cuda/attend/long_back.h"

/* One warp per query: D / 8 lanes make the sum of one head. */
static __global__ void deltas(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                              const saved to)
{
    size_t unit = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32, item = (int)(unit / t.longest_q), a = (int)(unit % t.longest_q);
    if (item >= t.items || a >= t.qlen[item]) return;
    size_t row = (size_t)t.qbegin[item] + a;
    int pieces = t.heads * t.d / 8, each = t.d / 8;
    if (t.drops && !lane) to.key[row] = draw_key(t.draw, (uint32_t)row);
    for (int first = 0; first < pieces; first += 32) {
        int i = first + lane;
        float y[8] = {}, dy[8] = {}, sum = 0;
        if (i < pieces) {
            load8(y, (const bf16 *)g.y.p + row * g.y.stride + i * 8);
            load8(dy, (const bf16 *)g.dy.p + row * g.dy.stride + i * 8);
        }
#pragma unroll
        for (int c = 0; c < 8; c++) sum = fmaf(y[c], dy[c], sum);
        for (int d = each / 2; d; d /= 2) sum += __shfl_xor_sync(FULL_WARP, sum, d);
        if (i < pieces && i % each == 0) {
            int head = i / each;
            float lse = ((const float *)g.lse.p)[row * g.lse.stride + head] * LOG2_E;
            to.pair[row * t.heads + head] = make_float2(lse, sum);
        }
    }
}

/* The tile of queries that a group of keys meets. */
typedef struct meeting {
    int a, j;        /* the first query; the lane's first key */
    const beside *b; /* of the queries */
} meeting;

/* Scores [64 keys, 64 queries] of pairs that do not see each other. */
template <bool FAR>
DEVICE void hide_queries(const attend_of &t, const place &p, float s[8][4], const meeting &m)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int query = m.a + n * 8 + threadIdx.x % 4 * 2 + i;
            int last = query >= p.tq ? -1 : t.causal ? min(p.tk - 1, query + p.shift) : p.tk - 1;
            int first = FAR ? block_begin(t, query + p.shift) : 0;
            if (m.j > last || (FAR && m.j < first)) s[n][i] = -INFINITY;
            if (m.j + 8 > last || (FAR && m.j + 8 < first)) s[n][2 + i] = -INFINITY;
        }
}

/* s: in scores, out weights. */
DEVICE void key_weights(const attend_of &t, float s[8][4], const meeting &m)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float4 b = m.b->two[n * 4 + threadIdx.x % 4];
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = power_of_two(fmaf(s[n][x], c, -(x % 2 ? b.z : b.x)));
    }
}

/* ds: in dy v^T, out gradients of the scores. s: weights, out those after dropout. */
template <bool DROPS>
DEVICE void key_slopes(const attend_of &t, const place &p, float s[8][4], float ds[8][4], const meeting &m)
{
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float4 b = m.b->two[n * 4 + threadIdx.x % 4];
#pragma unroll
        for (int x = 0; x < 4; x++) {
            int of = n * 8 + threadIdx.x % 4 * 2 + x % 2;
            float mask = DROPS ? draw_mask(t.draw, m.b->key[of], draw_column(p.head, m.j + x / 2 * 8)) : 1;
            ds[n][x] = s[n][x] * fmaf(ds[n][x], mask, -(x % 2 ? b.w : b.y));
            s[n][x] *= mask;
        }
    }
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

template <int D, bool DROPS, bool FAR>
static __global__ void __launch_bounds__(THREADS, D > 64 ? (FAR ? 1 : 2)
                                                  : FAR  ? 2
                                                         : 3)
    long_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept)
{
    constexpr int STAGES = FAR ? (int)FAR_STAGES : (int)GROUP_STAGES, AHEAD = STAGES - 1;
    extern __shared__ __align__(1024) char attend_room[];
    __shared__ beside rows[STAGES];
    int kv_heads = t.heads / t.group, me = threadIdx.x;
    int blocks = (t.longest_k + ROWS - 1) / ROWS, which = (int)(blockIdx.x / blocks);
    int group = which % kv_heads, begin = (int)(blockIdx.x % blocks) * ROWS;
    place p = place_at(t, which / kv_heads, group * t.group);
    if (begin >= p.tk) return;
    bf16 *k = (bf16 *)attend_room, *v = k + ROWS * D, *queries = v + ROWS * D;
    bf16 *vectors =
        queries + STAGES * 2 * ROWS * D; /* block b is the right one of tile b, the left one before */
    uint16_t *band = (uint16_t *)(vectors + FAR_BLOCKS * ROWS * D);
    bool distances = FAR && t.distance.p;
    size_t column = (size_t)group * D, row = p.krow + begin;
    int low = t.causal ? max(0, begin - p.shift) / ROWS : 0; /* first tile with a query that sees a key */
    int high = p.tq;                                         /* queries from here on see none */
    if (FAR && t.block > 0) high = min(high, ((begin + ROWS - 1) / t.block + 2) * t.block - p.shift);
    int tiles = max(0, (high + ROWS - 1) / ROWS - low), all = tiles * t.group;
    int vector = t.span - (low * ROWS + p.shift) + begin;            /* the first row of block 0 */
    auto head_of = [&](int i) { return i < tiles ? 0 : i / tiles; }; /* as a rule without a division */
    auto copy_vectors = [&](int b) {
        vectors_copy<D, THREADS>(vectors + b % 3 * ROWS * D, t, p.head, vector - b * ROWS);
    };
    auto copy_tile = [&](int i, int stage) {
        if (distances && i < all) copy_vectors(i + 1);
        if (i < all)
            copy_queries<D>(t, g, kept, p, group * t.group + head_of(i),
                            (low + i - head_of(i) * tiles) * ROWS, queries + stage * 2 * ROWS * D,
                            &rows[stage]);
        copy_commit();
    };
    slabs_copy<D, ROWS, THREADS>(k, t.k, row, column, p.tk - begin);
    slabs_copy<D, ROWS, THREADS>(v, t.v, row, column, p.tk - begin);
    if (FAR) copy_commit();
    if (distances) copy_vectors(0);
    copy_tile(0, 0);
    if (AHEAD > 1) copy_tile(1, 1);
    constexpr bool HOLDS = FAR && D <= 64; /* else registers would be too few */
    uint32_t held_k[HOLDS ? D / 16 : 1][4], held_v[HOLDS ? D / 16 : 1][4];
    if constexpr (HOLDS) {
        copy_wait<AHEAD>();
        __syncthreads();
        group_hold<D>(held_k, k), group_hold<D>(held_v, v);
    }
    int own = me / 32 * 16; /* the warp's first key */
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    for (int i = 0, stage = 0; i < all; i++, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_tile(i + AHEAD, stage == 0 ? STAGES - 1 : stage - 1);
        int a = (low + i - head_of(i) * tiles) * ROWS;
        p.head = group * t.group + head_of(i);
        const bf16 *q = queries + stage * 2 * ROWS * D, *dy = q + ROWS * D;
        meeting m = {a, begin + own + me % 32 / 4, &rows[stage]};
        bool whole =
            a + ROWS <= p.tq && begin + ROWS <= p.tk && (!t.causal || begin + ROWS - 1 <= a + p.shift);
        if (FAR && begin < block_begin(t, a + ROWS - 1 + p.shift)) whole = false;
        float s[8][4], ds[8][4];
        auto score = [&] {
            group_matrix right_q = slabs_at<D, false>(q, 0, ROWS), right_dy = slabs_at<D, false>(dy, 0, ROWS);
            if constexpr (HOLDS) {
                group_scores<D>(s, held_k, right_q, ROWS);
                group_scores<D>(ds, held_v, right_dy, ROWS);
            } else {
                group_scores<D>(s, slabs_at<D, false>(k, 0, ROWS), ROWS, right_q, ROWS);
                group_scores<D>(ds, slabs_at<D, false>(v, 0, ROWS), ROWS, right_dy, ROWS);
            }
        };
        if (distances) {
            float right[8][4], left[8][4];
            group_matrix left_q = slabs_at<D, false>(q, 0, ROWS);
            group_scores<D>(right, left_q, ROWS, slabs_at<D, false>(vectors + i % 3 * ROWS * D, 0, ROWS),
                            ROWS);
            group_scores<D>(left, left_q, ROWS, slabs_at<D, false>(vectors + (i + 1) % 3 * ROWS * D, 0, ROWS),
                            ROWS);
            if (D <= 64) score(); /* registers for all four */
            group_wait<(D <= 64 ? 3 : 1)>(right);
            put_turned(band, 1, right);
            group_wait<(D <= 64 ? 2 : 0)>(left);
            put_turned(band, 0, left);
        }
        if (D > 64 || !distances) score();
        group_wait<1>(s);
        if (distances) {
            __syncthreads(); /* the band is of all warps */
            add_turned(s, band);
        }
        if (!whole) hide_queries<FAR>(t, p, s, m);
        key_weights(t, s, m);
        group_wait<0>(ds);
        key_slopes<DROPS>(t, p, s, ds, m);
        uint32_t weights[4][4], slopes[4][4];
        group_left(weights, s);
        group_left(slopes, ds);
        group_add<D>(dv, weights, slabs_at<D, true>(dy, 0, ROWS));
        group_add<D>(dk, slopes, slabs_at<D, true>(q, 0, ROWS));
        group_wait<0>(dv);
        group_wait<0>(dk);
    }
    copy_wait<0>();
    int real = p.tk - begin - own;
    if (real <= 0) return;
    row += own;
    put_rows<D>((bf16 *)g.dv.p + row * g.dv.stride + column, g.dv.stride, real, dv, 1, 1, !g.fresh_v);
    put_rows<D>((bf16 *)g.dk.p + row * g.dk.stride + column, g.dk.stride, real, dk, t.scale, t.scale,
                !g.fresh_k);
}

template <int D, bool DROPS, bool FAR>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    size_t stages = FAR ? (size_t)FAR_STAGES : stages_on(c);
    size_t room = (2 + stages * 2) * ROWS * D * sizeof(bf16) + (FAR ? band_room(D, 1) : 0);
    unsigned units = (unsigned)(t->items * (t->heads / t->group));
    cudaFuncSetAttribute(long_keys<D, DROPS, FAR>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_keys<D, DROPS, FAR>
        <<<hd_blocks((size_t)t->longest_k, ROWS) * units, THREADS, room, c->stream>>>(*t, *g, kept);
}

template <int D>
static void launch_heads(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if (hd_attend_far(t))
        t->drops ? launch<D, true, true>(c, t, g, kept) : launch<D, false, true>(c, t, g, kept);
    else
        t->drops ? launch<D, true, false>(c, t, g, kept) : launch<D, false, false>(c, t, g, kept);
}

hd_status hd_attend_long_back(hd_cuda *c, const attend_of *t, const attend_grads *g, const hd_attention *at)
{
    size_t rows = (size_t)t->q.rows, keys = (rows * sizeof(uint64_t) + 255) / 256 * 256,
           pairs = (rows * t->heads * sizeof(float2) + 255) / 256 * 256, near = hd_attend_near_bytes(at);
    size_t sums = g->ddistance.p ? hd_attend_bands_bytes(t) : 0;
    char *room = (char *)hd_cuda_scratch(c, keys + pairs + near + sums);
    if (!room) return HD_ENOMEM;
    attend_of with = *t;
    hd_attend_narrow(c, &with, at, room + keys + pairs);
    t = &with;
    void *bands = sums ? room + keys + pairs + near : NULL;
    saved kept = {(float2 *)(room + keys), (uint64_t *)room};
    deltas<<<hd_blocks((size_t)t->items * t->longest_q, WARPS), WARPS * 32, 0, c->stream>>>(*t, *g, kept);
    if (t->d == 32)
        launch_heads<32>(c, t, g, kept);
    else if (t->d == 64)
        launch_heads<64>(c, t, g, kept);
    else
        launch_heads<128>(c, t, g, kept);
    hd_attend_long_queries(c, t, g, kept, bands);
    return hd_cuda_done(c, "attend_back");
}
