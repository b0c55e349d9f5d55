/* Attention of long items, backward, without a score matrix: delta = sum of dy * y for every query and head
   first; then a block that owns keys walks over the queries for dk and dv, and one that owns queries walks
   over the keys for dq, each in tiles of 64 that come as in long.cu. Scores are made twice so that no
   number has two writers. */
#include "backend/cuda/attend/group.h"

/* A block is one group: three of them, which wait for nobody, fill a multiprocessor's registers. */
enum { ROWS = GROUP_ROWS, THREADS = GROUP, WARPS = THREADS / 32, STAGES = GROUP_STAGES, AHEAD = STAGES - 1 };

typedef struct saved { /* scratch */
    float2 *pair;      /* [Rq,H]: the logarithm of the sum, in powers of two, and delta */
    uint64_t *key;     /* [Rq]: of the dropout draws */
} saved;

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

/* What the keys' kernel copies of a tile of queries beside the rows. */
typedef struct beside {
    union {
        float2 pair[ROWS];
        float4 two[ROWS / 2];
    };
    uint64_t key[ROWS];
} beside;

/* The tile of queries that a group of keys meets. */
typedef struct meeting {
    int a, j;        /* the first query; the lane's first key */
    const beside *b; /* of the queries */
} meeting;

/* Scores [64 keys, 64 queries] of pairs that do not see each other. */
DEVICE void hide_queries(const attend_of &t, const place &p, float s[8][4], const meeting &m)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int query = m.a + n * 8 + threadIdx.x % 4 * 2 + i;
            int last = query >= p.tq ? -1 : t.causal ? min(p.tk - 1, query + p.shift) : p.tk - 1;
            if (m.j > last) s[n][i] = -INFINITY;
            if (m.j + 8 > last) s[n][2 + i] = -INFINITY;
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

template <int D, bool DROPS>
static __global__ void __launch_bounds__(THREADS, D <= 64 ? 3 : 2)
    long_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept)
{
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
    int tiles = max(0, (p.tq + ROWS - 1) / ROWS - low), all = tiles * t.group;
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
    group_matrix left_k = slabs_at<D, false>(k, 0, ROWS), left_v = slabs_at<D, false>(v, 0, ROWS);
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
        float s[8][4], ds[8][4];
        group_scores<D>(s, left_k, ROWS, slabs_at<D, false>(q, 0, ROWS), ROWS);
        group_scores<D>(ds, left_v, ROWS, slabs_at<D, false>(dy, 0, ROWS), ROWS);
        group_wait<1>(s);
        if (!whole) hide_queries(t, p, s, m);
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

/* The two rows of queries that a lane holds. */
typedef struct two_rows {
    float2 pair[2];
    uint64_t key[2];
} two_rows;

/* s: in scores, out weights. */
DEVICE void query_weights(const attend_of &t, float s[8][4], const two_rows &r)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = power_of_two(fmaf(s[n][x], c, -r.pair[x / 2].x));
}

/* ds: in dy v^T, out gradients of the scores. */
template <bool DROPS>
DEVICE void query_slopes(const attend_of &t, const place &p, const float s[8][4], float ds[8][4], int from,
                         const two_rows &r)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < 8; n++) {
            int j = from + n * 8 + threadIdx.x % 4 * 2;
            uint32_t kept = DROPS ? kept_pair(t.draw, r.key[half], draw_column(p.head, j)) : 3;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float d = ds[n][half * 2 + i];
                if (DROPS) d = kept >> i & 1 ? d * t.draw.scale : 0;
                ds[n][half * 2 + i] = s[n][half * 2 + i] * (d - r.pair[half].y);
            }
        }
}

DEVICE two_rows rows_of(const attend_of &t, const saved &kept, const place &p, int a)
{
    two_rows r = {{{INFINITY, 0}, {INFINITY, 0}}, {0, 0}};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        size_t at = p.qrow + a + half * 8;
        if (a + half * 8 >= p.tq) continue; /* INFINITY: it has no weights */
        r.pair[half] = kept.pair[at * t.heads + p.head];
        if (t.drops) r.key[half] = kept.key[at];
    }
    return r;
}

template <int D, bool DROPS>
static __global__ void __launch_bounds__(THREADS, 3)
    long_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                 const saved kept)
{
    extern __shared__ __align__(1024) char attend_room[];
    int heads = t.heads, tiles = (t.longest_q + ROWS - 1) / ROWS, me = threadIdx.x;
    int tile = tiles - 1 - (int)(blockIdx.x % tiles), which = (int)(blockIdx.x / tiles); /* long ones first */
    place p = place_at(t, which / heads, which % heads);
    int begin = tile * ROWS, own = me / 32 * 16, a = begin + own + me % 32 / 4; /* the lane's first query */
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *dy = q + ROWS * D, *kv = dy + ROWS * D;
    int end = min(p.tq, begin + ROWS), seen = t.causal ? max(0, min(p.tk, end + p.shift)) : p.tk;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D, row = p.qrow + begin;
    auto copy_keys = [&](int from, int stage) {
        bf16 *k = kv + stage * 2 * ROWS * D;
        if (from < seen) {
            slabs_copy<D, ROWS, THREADS>(k, t.k, p.krow + from, kv_column, p.tk - from);
            slabs_copy<D, ROWS, THREADS>(k + ROWS * D, t.v, p.krow + from, kv_column, p.tk - from);
        }
        copy_commit();
    };
    slabs_copy<D, ROWS, THREADS>(q, t.q, row, column, p.tq - begin);
    slabs_copy<D, ROWS, THREADS>(dy, g.dy, row, column, p.tq - begin);
    copy_keys(0, 0);
    if (AHEAD > 1) copy_keys(ROWS, 1);
    two_rows r = rows_of(t, kept, p, a);
    group_matrix left_q = slabs_at<D, false>(q, 0, ROWS), left_dy = slabs_at<D, false>(dy, 0, ROWS);
    float dq[D / 8][4] = {};
    for (int from = 0, stage = 0; from < seen; from += ROWS, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_keys(from + AHEAD * ROWS, stage == 0 ? STAGES - 1 : stage - 1);
        const bf16 *k = kv + stage * 2 * ROWS * D, *v = k + ROWS * D;
        bool whole = from + ROWS <= p.tk && (!t.causal || from + ROWS - 1 <= begin + p.shift);
        float s[8][4], ds[8][4];
        uint32_t slopes[4][4];
        group_scores<D>(s, left_q, ROWS, slabs_at<D, false>(k, 0, ROWS), ROWS);
        group_scores<D>(ds, left_dy, ROWS, slabs_at<D, false>(v, 0, ROWS), ROWS);
        group_wait<1>(s);
        if (!whole) group_hide(t, p, s, a, from);
        query_weights(t, s, r);
        group_wait<0>(ds);
        query_slopes<DROPS>(t, p, s, ds, from, r);
        group_left(slopes, ds);
        group_add<D>(dq, slopes, slabs_at<D, true>(k, 0, ROWS));
        group_wait<0>(dq);
    }
    copy_wait<0>();
    int real = p.tq - begin - own;
    if (real <= 0) return;
    put_rows<D>((bf16 *)g.dq.p + (row + own) * g.dq.stride + column, g.dq.stride, real, dq, t.scale, t.scale,
                !g.fresh_q);
}

template <int D, bool DROPS>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    size_t room = (2 + stages_on(c) * 2) * ROWS * D * sizeof(bf16);
    unsigned items = (unsigned)t->items, heads = (unsigned)t->heads, kv_heads = heads / (unsigned)t->group;
    cudaFuncSetAttribute(long_keys<D, DROPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    cudaFuncSetAttribute(long_queries<D, DROPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_keys<D, DROPS>
        <<<hd_blocks((size_t)t->longest_k, ROWS) * items * kv_heads, THREADS, room, c->stream>>>(*t, *g,
                                                                                                 kept);
    long_queries<D, DROPS>
        <<<hd_blocks((size_t)t->longest_q, ROWS) * items * heads, THREADS, room, c->stream>>>(*t, *g, kept);
}

hd_status hd_attend_long_back(hd_cuda *c, const attend_of *t, const attend_grads *g)
{
    size_t rows = (size_t)t->q.rows, keys = (rows * sizeof(uint64_t) + 255) / 256 * 256;
    char *room = (char *)hd_cuda_scratch(c, keys + rows * t->heads * sizeof(float2));
    if (!room) return HD_ENOMEM;
    saved kept = {(float2 *)(room + keys), (uint64_t *)room};
    deltas<<<hd_blocks((size_t)t->items * t->longest_q, WARPS), WARPS * 32, 0, c->stream>>>(*t, *g, kept);
    if (t->d == 32)
        t->drops ? launch<32, true>(c, t, g, kept) : launch<32, false>(c, t, g, kept);
    else if (t->d == 64)
        t->drops ? launch<64, true>(c, t, g, kept) : launch<64, false>(c, t, g, kept);
    else
        t->drops ? launch<128, true>(c, t, g, kept) : launch<128, false>(c, t, g, kept);
    return hd_cuda_done(c, "attend_back");
}
