/* Attention of long items, backward, without a score matrix: delta = sum of dy * y for every query and head
   first; then a block that owns keys walks over the queries for dk and dv, and one that owns queries walks
   over the keys for dq (long_queries.cu), each in tiles of 64 that come as in long.cu. Scores are made twice
   so that no number has two writers. With vectors of distances that would cost more than to keep the
   gradients of scores (long_slopes.cu).
 */
#include "backend/cuda/attend/long_back.h"

enum { WARPS = 4 }; /* queries to a block of `deltas` */

/* One warp per query: dv / 8 lanes, or some more of them, make the sum of one head. */
static __global__ void deltas(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                              const saved to, int each)
{
    size_t unit = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32, item = (int)(unit / t.longest_q), a = (int)(unit % t.longest_q);
    if (item >= t.items || a >= t.qlen[item]) return;
    size_t row = (size_t)t.qbegin[item] + a;
    int part = lane % each * 8;
    if (t.drops && !lane) to.key[row] = draw_key(t.draw, (uint32_t)row);
    for (int first = 0; first < t.heads; first += 32 / each) {
        int head = first + lane / each;
        float y[8] = {}, dy[8] = {}, sum = 0;
        if (head < t.heads && part < t.dv) {
            size_t column = (size_t)head * t.dv + part;
            load8(y, (const bf16 *)g.y.p + row * g.y.stride + column);
            load8(dy, (const bf16 *)g.dy.p + row * g.dy.stride + column);
        }
#pragma unroll
        for (int c = 0; c < 8; c++) sum = fmaf(y[c], dy[c], sum);
        for (int d = each / 2; d; d /= 2) sum += __shfl_xor_sync(FULL_WARP, sum, d);
        if (head < t.heads && !part) {
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
template <int D, int DV, int THREADS, bool BENDS>
DEVICE void copy_queries(const attend_of &t, const attend_grads &g, const saved &kept, const place &p,
                         int head, int a, bf16 *q, beside *b)
{
    int me = threadIdx.x, real = p.tq - a, d = BENDS ? t.d : D, dv = BENDS ? t.dv : DV;
    size_t row = p.qrow + a;
    slabs_copy<D, ROWS, THREADS>(q, t.q, row, (size_t)head * d, real, d);
    slabs_copy<DV, ROWS, THREADS>(q + ROWS * D, g.dy, row, (size_t)head * dv, real, dv);
    if (me >= ROWS) return;
    bool is = me < real;
    size_t mine = row + (is ? me : 0);
    copy_few<8>(&b->pair[me], kept.pair + mine * t.heads + head, is);
    if (t.drops) copy_few<8>(&b->key[me], kept.key + mine, is);
}

/* Sums that a launch makes: of wide heads registers do not hold both. */
enum { OF_KEYS = 1, OF_VALUES = 2 };

template <int D, int DV, int WITH, int SUMS>
static __global__ void __launch_bounds__(GROUP *BACK_GROUPS<D>, BACK_BLOCKS<D>)
    long_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept)
{
    constexpr int GROUPS = BACK_GROUPS<D>, THREADS = GROUPS * GROUP, KEYS = GROUPS * ROWS;
    constexpr int MOST = BACK_MOST<D>, STAGES = MOST < (int)GROUP_STAGES ? MOST : (int)GROUP_STAGES;
    constexpr int AHEAD = STAGES - 1, PAIR = ROWS * (D + DV);
    constexpr bool BENDS = WITH & MORE, SUMS_K = SUMS & OF_KEYS, SUMS_V = SUMS & OF_VALUES;
    extern __shared__ __align__(1024) char attend_room[];
    __shared__ beside rows[STAGES];
    int kv_heads = t.heads / t.group, me = threadIdx.x;
    int blocks = (t.longest_k + KEYS - 1) / KEYS, which = (int)(blockIdx.x / blocks);
    int group = which % kv_heads, begin = (int)(blockIdx.x % blocks) * KEYS;
    place p = place_at(t, which / kv_heads, group * t.group);
    if (begin >= p.tk) return;
    bf16 *k = (bf16 *)attend_room, *v = k + KEYS * D, *queries = v + KEYS * DV;
    int d = BENDS ? t.d : D, dvs = BENDS ? t.dv : DV, mine = GROUPS > 1 ? me / GROUP * ROWS : 0;
    int first = begin + mine, own = first + me % GROUP / 32 * 16; /* the group's and the warp's first key */
    size_t k_column = (size_t)group * d, v_column = (size_t)group * dvs, row = p.krow + begin;
    reach by = queries_of<WITH>(t, p, begin, begin + KEYS - 1);
    int low = by.lo / ROWS; /* first tile with a query that sees a key */
    int tiles = max(0, (by.hi + ROWS - 1) / ROWS - low), all = tiles * t.group;
    auto head_of = [&](int i) { return i < tiles ? 0 : i / tiles; }; /* as a rule without a division */
    auto copy_tile = [&](int i, int stage) {
        if (i < all)
            copy_queries<D, DV, THREADS, BENDS>(t, g, kept, p, group * t.group + head_of(i),
                                                (low + i - head_of(i) * tiles) * ROWS, queries + stage * PAIR,
                                                &rows[stage]);
        copy_commit();
    };
    slabs_copy<D, KEYS, THREADS>(k, t.k, row, k_column, p.tk - begin, d);
    if (SUMS_K) slabs_copy<DV, KEYS, THREADS>(v, t.v, row, v_column, p.tk - begin, dvs);
    copy_tile(0, 0);
    if (AHEAD > 1) copy_tile(1, 1);
    group_matrix left_k = slabs_at<D, false>(k, mine, KEYS), left_v = slabs_at<DV, false>(v, mine, KEYS);
    float dk[SUMS_K ? D / 8 : 1][4] = {}, dv[SUMS_V ? DV / 8 : 1][4] = {};
    for (int i = 0, stage = 0; i < all; i++, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_tile(i + AHEAD, stage == 0 ? STAGES - 1 : stage - 1);
        int a = (low + i - head_of(i) * tiles) * ROWS;
        if (GROUPS > 1 && (first >= p.tk || (t.causal && a + ROWS - 1 + p.shift < first))) continue;
        p.head = group * t.group + head_of(i);
        const bf16 *q = queries + stage * PAIR, *dy = q + ROWS * D;
        meeting m = {a, own + me % 32 / 4, rows[stage].two, rows[stage].key};
        bool whole =
            a + ROWS <= p.tq && first + ROWS <= p.tk && (!t.causal || first + ROWS - 1 <= a + p.shift);
        if (BENDS) {
            reach see = keys_of<WITH>(t, p, a + ROWS - 1 + p.shift, a + p.shift);
            whole = a + ROWS <= p.tq && first >= see.lo && first + ROWS <= see.hi;
        }
        float s[8][4], ds[8][4] = {};
        uint32_t left[4][4], bends[BENDS ? 8 : 1][2];
        group_scores<D>(s, left_k, KEYS, slabs_at<D, false>(q, 0, ROWS), ROWS);
        if (SUMS_K) group_scores<DV>(ds, left_v, KEYS, slabs_at<DV, false>(dy, 0, ROWS), ROWS);
        group_wait<SUMS_K ? 1 : 0>(s);
        if constexpr (BENDS)
            if (t.cap > 0) group_cap(t, s, bends);
        if (!whole) hide_queries<WITH>(t, p, s, m);
        key_weights(t, s, m);
        if (SUMS_K) group_wait<0>(ds);
        key_slopes<WITH>(t, p, s, ds, m);
        if constexpr (SUMS_V) {
            group_left(left, s);
            group_add<DV>(dv, left, slabs_at<DV, true>(dy, 0, ROWS));
        }
        if constexpr (SUMS_K) {
            uint32_t slopes[4][4];
            if constexpr (BENDS)
                if (t.cap > 0) group_uncap(ds, bends);
            group_left(slopes, ds);
            group_add<D>(dk, slopes, slabs_at<D, true>(q, 0, ROWS));
        }
        if constexpr (SUMS_V) group_wait<0>(dv);
        if constexpr (SUMS_K) group_wait<0>(dk);
    }
    copy_wait<0>();
    int real = p.tk - own;
    if (real <= 0) return;
    row = p.krow + own;
    if constexpr (SUMS_V)
        put_rows<DV>((bf16 *)g.dv.p + row * g.dv.stride + v_column, g.dv.stride, real, dv, 1, 1, !g.fresh_v,
                     dvs);
    if constexpr (SUMS_K)
        put_rows<D>((bf16 *)g.dk.p + row * g.dk.stride + k_column, g.dk.stride, real, dk, t.scale, t.scale,
                    !g.fresh_k, d);
}

template <int D, int DV, int WITH, int SUMS>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    constexpr int GROUPS = BACK_GROUPS<D>;
    size_t room = back_room<D, DV>(c);
    unsigned units = (unsigned)(t->items * (t->heads / t->group));
    unsigned blocks = hd_blocks((size_t)t->longest_k, ROWS * GROUPS) * units;
    cudaFuncSetAttribute(long_keys<D, DV, WITH, SUMS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)room);
    long_keys<D, DV, WITH, SUMS><<<blocks, GROUP * GROUPS, room, c->stream>>>(*t, *g, kept);
}

template <int D, int DV, int WITH>
static void launch_sums(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if constexpr (D + DV > 256) {
        launch<D, DV, WITH, OF_VALUES>(c, t, g, kept);
        launch<D, DV, WITH, OF_KEYS>(c, t, g, kept);
    } else
        launch<D, DV, WITH, OF_KEYS | OF_VALUES>(c, t, g, kept);
}

template <int D, int DV>
static void launch_size(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if constexpr (ATTEND_WHOLE(D, DV))
        if (t->drops && !hd_attend_more(t)) return launch_sums<D, DV, DROPS>(c, t, g, kept);
    if (!hd_attend_more(t)) return launch_sums<D, DV, PLAIN>(c, t, g, kept);
    t->drops ? launch_sums<D, DV, MORE | DROPS>(c, t, g, kept) : launch_sums<D, DV, MORE>(c, t, g, kept);
}

size_t hd_attend_long_back_room(const hd_cuda *c, const attend_of *t)
{
    attend_size size = hd_attend_size(t);
    size_t room = 0;
#define X(D, DV) \
    if (size.d == D && size.dv == DV) room = back_room<D, DV>(c) + WGMMA_STAGES * sizeof(beside);
    ATTEND_SIZES(X)
#undef X
    return room;
}

static void near_back(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    attend_size size = hd_attend_size(t);
#define X(D, DV) \
    if (size.d == D && size.dv == DV) launch_size<D, DV>(c, t, g, kept);
    ATTEND_SIZES(X)
#undef X
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
    int each = 1;
    while (each * 8 < t->dv) each *= 2;
    deltas<<<hd_blocks((size_t)t->items * t->longest_q, WARPS), WARPS * 32, 0, c->stream>>>(with, *g, kept,
                                                                                            each);
    if (t->distance.p)
        distance_back(c, &with, g, kept, room + keys + pairs + near);
    else
        near_back(c, &with, g, kept);
    return hd_cuda_done(c, "attend_back");
}
