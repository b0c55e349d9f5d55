/* Attention of long items, backward, without a score matrix: delta = sum of dy * y for every query and head
   first; then a block that owns keys walks over the queries for dk and dv, and one that owns queries walks
   over the keys for dq (long_queries.cu), each in tiles of 64 that come as in long.cu. Scores are made twice
   so that no number has two writers. With vectors of distances that would cost more than to keep the
   gradients of scores (long_slopes.cu).
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

/* What is copied of a tile of queries beside the rows. */
typedef struct beside {
    union {
        float2 pair[ROWS];
        float4 two[ROWS / 2];
    };
    uint64_t key[ROWS];
} beside;

/* q and dy of 64 queries behind each other, and what goes beside them. */
template <int D>
DEVICE void copy_queries(const attend_of &t, const attend_grads &g, const saved &kept, const place &p,
                         int head, int a, bf16 *q, beside *b)
{
    int me = threadIdx.x, real = p.tq - a;
    size_t row = p.qrow + a, column = (size_t)head * D;
    slabs_copy<D, ROWS, THREADS>(q, t.q, row, column, real);
    slabs_copy<D, ROWS, THREADS>(q + ROWS * D, g.dy, row, column, real);
    if (me >= ROWS) return;
    bool is = me < real;
    size_t mine = row + (is ? me : 0);
    copy_few<8>(&b->pair[me], kept.pair + mine * t.heads + head, is);
    if (t.drops) copy_few<8>(&b->key[me], kept.key + mine, is);
}

template <int D, bool DROPS, bool LOCAL>
static __global__ void __launch_bounds__(THREADS, D > 64 ? 2 : 3)
    long_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept)
{
    constexpr int STAGES = GROUP_STAGES, AHEAD = STAGES - 1;
    extern __shared__ __align__(1024) char attend_room[];
    __shared__ beside rows[STAGES];
    int kv_heads = t.heads / t.group, me = threadIdx.x;
    int blocks = (t.longest_k + ROWS - 1) / ROWS, which = (int)(blockIdx.x / blocks);
    int group = which % kv_heads, begin = (int)(blockIdx.x % blocks) * ROWS;
    place p = place_at(t, which / kv_heads, group * t.group);
    if (begin >= p.tk) return;
    bf16 *k = (bf16 *)attend_room, *v = k + ROWS * D, *queries = v + ROWS * D;
    size_t column = (size_t)group * D, row = p.krow + begin;
    int low = t.causal ? max(0, begin - p.shift) / ROWS : 0; /* first tile with a query that sees a key */
    int high = p.tq;                                         /* queries from here on see none */
    if (LOCAL) high = min(high, ((begin + ROWS - 1) / t.block + 2) * t.block - p.shift);
    int tiles = max(0, (high + ROWS - 1) / ROWS - low), all = tiles * t.group;
    auto head_of = [&](int i) { return i < tiles ? 0 : i / tiles; }; /* as a rule without a division */
    auto copy_tile = [&](int i, int stage) {
        if (i < all)
            copy_queries<D>(t, g, kept, p, group * t.group + head_of(i),
                            (low + i - head_of(i) * tiles) * ROWS, queries + stage * 2 * ROWS * D,
                            &rows[stage]);
        copy_commit();
    };
    slabs_copy<D, ROWS, THREADS>(k, t.k, row, column, p.tk - begin);
    slabs_copy<D, ROWS, THREADS>(v, t.v, row, column, p.tk - begin);
    copy_tile(0, 0);
    if (AHEAD > 1) copy_tile(1, 1);
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
        meeting m = {a, begin + own + me % 32 / 4, rows[stage].two, rows[stage].key};
        bool whole =
            a + ROWS <= p.tq && begin + ROWS <= p.tk && (!t.causal || begin + ROWS - 1 <= a + p.shift);
        if (LOCAL && begin < block_begin(t, a + ROWS - 1 + p.shift)) whole = false;
        float s[8][4], ds[8][4];
        group_scores<D>(s, slabs_at<D, false>(k, 0, ROWS), ROWS, slabs_at<D, false>(q, 0, ROWS), ROWS);
        group_scores<D>(ds, slabs_at<D, false>(v, 0, ROWS), ROWS, slabs_at<D, false>(dy, 0, ROWS), ROWS);
        group_wait<1>(s);
        if (!whole) hide_queries<LOCAL>(t, p, s, m);
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

template <int D, bool DROPS, bool LOCAL>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    size_t room = (2 + stages_on(c) * 2) * ROWS * D * sizeof(bf16);
    unsigned units = (unsigned)(t->items * (t->heads / t->group));
    cudaFuncSetAttribute(long_keys<D, DROPS, LOCAL>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_keys<D, DROPS, LOCAL>
        <<<hd_blocks((size_t)t->longest_k, ROWS) * units, THREADS, room, c->stream>>>(*t, *g, kept);
}

template <int D>
static void launch_heads(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if (t->block > 0)
        t->drops ? launch<D, true, true>(c, t, g, kept) : launch<D, false, true>(c, t, g, kept);
    else
        t->drops ? launch<D, true, false>(c, t, g, kept) : launch<D, false, false>(c, t, g, kept);
}

static void near_back(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if (t->d == 32)
        launch_heads<32>(c, t, g, kept);
    else if (t->d == 64)
        launch_heads<64>(c, t, g, kept);
    else
        launch_heads<128>(c, t, g, kept);
    hd_attend_long_queries(c, t, g, kept);
}

static void distance_back(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept,
                          void *room)
{
    slice s = {};
    while (hd_attend_slice_next(t, room, &s)) {
        hd_attend_slope_keys(c, t, g, kept, &s);
        hd_attend_slope_queries(c, t, g, &s);
        if (g->ddistance.p) hd_attend_slope_sums(c, t, g, &s);
    }
}

hd_status hd_attend_long_back(hd_cuda *c, const attend_of *t, const attend_grads *g, const hd_attention *at)
{
    size_t rows = (size_t)t->q.rows, keys = (rows * sizeof(uint64_t) + 255) / 256 * 256,
           pairs = (rows * t->heads * sizeof(float2) + 255) / 256 * 256, near = hd_attend_near_bytes(at);
    size_t slices = t->distance.p ? hd_attend_slice_bytes(t) : 0;
    char *room = (char *)hd_cuda_scratch(c, keys + pairs + near + slices);
    if (!room) return HD_ENOMEM;
    attend_of with = *t;
    hd_attend_narrow(c, &with, at, room + keys + pairs);
    saved kept = {(float2 *)(room + keys), (uint64_t *)room};
    deltas<<<hd_blocks((size_t)t->items * t->longest_q, WARPS), WARPS * 32, 0, c->stream>>>(with, *g, kept);
    if (t->distance.p)
        distance_back(c, &with, g, kept, room + keys + pairs + near);
    else
        near_back(c, &with, g, kept);
    return hd_cuda_done(c, "attend_back");
}
