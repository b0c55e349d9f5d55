/* Attention of long items, backward, without a score matrix: delta = sum of dy * y for every query and head
   first; then a block that owns keys walks over the queries for dk and dv, and one that owns queries walks
   over the keys for dq. Scores are made twice so that no number has two writers. */
#include "backend/cuda/attend_tile.h"

/* PART: queries or keys of a tile in registers at a time. */
enum { WARPS = 4, THREADS = 32 * WARPS, ROWS = 64, PART = 32 };

/* Strips of 16 rows that a warp owns: what is read of the other side serves all of them. Of wide heads one:
   two would not fit in registers. */
template <int D> constexpr int strips = D <= 64 ? 2 : 1;
template <int D> constexpr int owned = WARPS * 16 * strips<D>; /* rows of a block */

typedef struct saved { /* scratch */
    float *delta;      /* [Rq,H] */
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
        if (i < pieces && i % each == 0) to.delta[row * t.heads + i / each] = sum;
    }
}

/* What the keys' kernel copies of a tile of queries beside the rows. */
typedef struct beside {
    float lse[ROWS], delta[ROWS];
    uint64_t key[ROWS];
} beside;

/* s and ds [16 keys, PART queries]: in scores and dy v^T, out weights after dropout and gradients of scores.
   j is the lane's first key, `whole`: every query sees every key. */
template <bool DROPS>
DEVICE void key_slopes(const attend_of &t, const place &p, float s[PART / 8][4], float ds[PART / 8][4], int j,
                       int a, const beside *b, int at, bool whole)
{
    int lane = threadIdx.x % 32;
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < PART / 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int of = n * 8 + lane % 4 * 2 + i, query = a + of;
            int last = query >= p.tq ? -1 : t.causal ? min(p.tk - 1, query + p.shift) : p.tk - 1;
            float lse = b->lse[at + of] * LOG2_E, delta = b->delta[at + of];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int key = j + half * 8, x = half * 2 + i;
                float w = power_of_two(fmaf(s[n][x], c, -lse));
                if (!whole && key > last) w = 0;
                if (DROPS) {
                    float mask = draw_mask(t.draw, b->key[at + of], draw_column(p.head, key));
                    ds[n][x] = w * fmaf(ds[n][x], mask, -delta);
                    s[n][x] = w * mask;
                } else {
                    ds[n][x] = w * (ds[n][x] - delta);
                    s[n][x] = w;
                }
            }
        }
}

/* Fragments of columns 16 n .. of sums as the left side of the next product. */
template <int M> DEVICE void as_left(uint32_t a[M][4], const float s[M][PART / 8][4], int n)
{
#pragma unroll
    for (int m = 0; m < M; m++) {
        const float(*x)[4] = s[m] + 2 * n;
        a[m][0] = pack2(x[0][0], x[0][1]), a[m][1] = pack2(x[0][2], x[0][3]);
        a[m][2] = pack2(x[1][0], x[1][1]), a[m][3] = pack2(x[1][2], x[1][3]);
    }
}

template <int D>
DEVICE void copy_queries(const attend_of &t, const attend_grads &g, const saved &kept, const place &p,
                         int head, int a, bf16 *q, bf16 *dy, beside *b)
{
    int me = threadIdx.x, real = p.tq - a;
    size_t row = p.qrow + a, column = (size_t)head * D;
    tile_copy<D>(q, (const bf16 *)t.q.p + row * t.q.stride + column, t.q.stride, real, ROWS, me, THREADS);
    tile_copy<D>(dy, (const bf16 *)g.dy.p + row * g.dy.stride + column, g.dy.stride, real, ROWS, me, THREADS);
    if (me >= ROWS) return;
    bool is = me < real;
    size_t mine = row + (is ? me : 0);
    copy_few<4>(&b->lse[me], (const float *)g.lse.p + mine * g.lse.stride + head, is);
    copy_few<4>(&b->delta[me], kept.delta + mine * t.heads + head, is);
    if (t.drops) copy_few<8>(&b->key[me], kept.key + mine, is);
}

template <int D, bool DROPS>
static __global__ void __launch_bounds__(THREADS, 2)
    long_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept)
{
    extern __shared__ __align__(128) char attend_room[];
    __shared__ beside rows[2];
    constexpr int M = strips<D>, OWN = owned<D>;
    int kv_heads = t.heads / t.group, me = threadIdx.x, lane = me % 32, mine = me / 32 * 16 * M;
    int group = (int)(blockIdx.x % kv_heads), begin = (int)(blockIdx.x / kv_heads / t.items) * OWN;
    place p = place_at(t, (int)(blockIdx.x / kv_heads % t.items), group * t.group);
    if (begin >= p.tk) return;
    bf16 *k = (bf16 *)attend_room, *v = k + OWN * D, *q = v + OWN * D, *dy = q + 2 * ROWS * D;
    size_t column = (size_t)group * D, row = p.krow + begin;
    tile_copy<D>(k, (const bf16 *)t.k.p + row * t.k.stride + column, t.k.stride, p.tk - begin, OWN, me,
                 THREADS);
    tile_copy<D>(v, (const bf16 *)t.v.p + row * t.v.stride + column, t.v.stride, p.tk - begin, OWN, me,
                 THREADS);
    int low = t.causal ? max(0, begin - p.shift) / ROWS : 0; /* first tile with a query that sees a key */
    int tiles = max(0, (p.tq + ROWS - 1) / ROWS - low), all = tiles * t.group;
    if (all) copy_queries<D>(t, g, kept, p, p.head, low * ROWS, q, dy, &rows[0]);
    copy_commit();
    float dk[M][D / 8][4] = {}, dv[M][D / 8][4] = {};
    for (int i = 0; i < all; i++) {
        int stage = i & 1, other = stage ^ 1, next = i + 1;
        if (next < all)
            copy_queries<D>(t, g, kept, p, group * t.group + next / tiles, (low + next % tiles) * ROWS,
                            q + other * ROWS * D, dy + other * ROWS * D, &rows[other]);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        p.head = group * t.group + i / tiles;
#pragma unroll 1
        for (int at = 0; at < ROWS; at += PART) {
            int a = (low + i % tiles) * ROWS + at, end = begin + mine + 16 * M;
            if (a >= p.tq || (t.causal && begin + mine > a + PART - 1 + p.shift)) continue;
            bool whole = a + PART <= p.tq && end <= p.tk && (!t.causal || end - 1 <= a + p.shift);
            const bf16 *qt = q + (stage * ROWS + at) * D, *dyt = dy + (stage * ROWS + at) * D;
            float s[M][PART / 8][4], ds[M][PART / 8][4];
            multiply_strips<D, PART / 16, M>(s, k, mine, qt);
            multiply_strips<D, PART / 16, M>(ds, v, mine, dyt);
#pragma unroll
            for (int m = 0; m < M; m++)
                key_slopes<DROPS>(t, p, s[m], ds[m], begin + mine + 16 * m + lane / 4, a, &rows[stage], at,
                                  whole);
#pragma unroll
            for (int n = 0; n < PART / 16; n++) {
                uint32_t w[M][4];
                as_left<M>(w, s, n);
                multiply_add_strips<D, M>(dv, w, dyt, 16 * n);
                as_left<M>(w, ds, n);
                multiply_add_strips<D, M>(dk, w, qt, 16 * n);
            }
        }
        __syncthreads();
    }
    copy_wait<0>();
#pragma unroll
    for (int m = 0; m < M; m++) {
        int first = mine + 16 * m, real = p.tk - begin - first;
        if (real <= 0) return;
        put_rows<D>((bf16 *)g.dv.p + (row + first) * g.dv.stride + column, g.dv.stride, real, dv[m], 1, 1,
                    !g.fresh_v);
        put_rows<D>((bf16 *)g.dk.p + (row + first) * g.dk.stride + column, g.dk.stride, real, dk[m], t.scale,
                    t.scale, !g.fresh_k);
    }
}

/* The two rows of queries that a lane holds. */
typedef struct two_rows {
    float lse[2], delta[2];
    uint64_t key[2];
} two_rows;

/* ds [16 queries, PART keys] from scores and dy v^T; `from` is the first key, `whole`: every query sees every
   key. */
template <bool DROPS>
DEVICE void query_slopes(const attend_of &t, const place &p, float s[PART / 8][4], float ds[PART / 8][4],
                         int a, int from, const two_rows &r, bool whole)
{
    int lane = threadIdx.x % 32;
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int query = a + half * 8, last = t.causal ? min(p.tk - 1, query + p.shift) : p.tk - 1;
#pragma unroll
        for (int n = 0; n < PART / 8; n++) {
            int j = from + n * 8 + lane % 4 * 2;
            uint32_t kept = DROPS ? kept_pair(t.draw, r.key[half], draw_column(p.head, j)) : 3;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int x = half * 2 + i;
                float w = power_of_two(fmaf(s[n][x], c, -r.lse[half])), d = ds[n][x];
                if (!whole && j + i > last) w = 0;
                if (DROPS) d = kept >> i & 1 ? d * t.draw.scale : 0;
                ds[n][x] = w * (d - r.delta[half]);
            }
        }
    }
}

DEVICE two_rows rows_of(const attend_of &t, const attend_grads &g, const saved &kept, const place &p, int a)
{
    two_rows r = {{INFINITY, INFINITY}, {0, 0}, {0, 0}};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        size_t at = p.qrow + a + half * 8;
        if (a + half * 8 >= p.tq) continue; /* INFINITY: it has no weights */
        r.lse[half] = ((const float *)g.lse.p)[at * g.lse.stride + p.head] * LOG2_E;
        r.delta[half] = kept.delta[at * t.heads + p.head];
        if (t.drops) r.key[half] = kept.key[at];
    }
    return r;
}

template <int D, bool DROPS>
static __global__ void __launch_bounds__(THREADS, 2)
    long_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                 const saved kept)
{
    extern __shared__ __align__(128) char attend_room[];
    constexpr int M = strips<D>, OWN = owned<D>;
    int heads = t.heads, tiles = (t.longest_q + OWN - 1) / OWN, me = threadIdx.x, lane = me % 32;
    int tile = tiles - 1 - (int)(blockIdx.x / (heads * t.items)); /* under a causal mask the last see most */
    place p = place_at(t, (int)(blockIdx.x / heads % t.items), (int)(blockIdx.x % heads));
    int begin = tile * OWN, mine = me / 32 * 16 * M, a = begin + mine + lane / 4;
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *dy = q + OWN * D, *k = dy + OWN * D, *v = k + 2 * ROWS * D;
    int end = min(p.tq, begin + OWN), seen = t.causal ? max(0, min(p.tk, end + p.shift)) : p.tk;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D, row = p.qrow + begin;
    const bf16 *from_k = (const bf16 *)t.k.p + p.krow * t.k.stride + kv_column;
    const bf16 *from_v = (const bf16 *)t.v.p + p.krow * t.v.stride + kv_column;
    tile_copy<D>(q, (const bf16 *)t.q.p + row * t.q.stride + column, t.q.stride, p.tq - begin, OWN, me,
                 THREADS);
    tile_copy<D>(dy, (const bf16 *)g.dy.p + row * g.dy.stride + column, g.dy.stride, p.tq - begin, OWN, me,
                 THREADS);
    if (seen) {
        tile_copy<D>(k, from_k, t.k.stride, p.tk, ROWS, me, THREADS);
        tile_copy<D>(v, from_v, t.v.stride, p.tk, ROWS, me, THREADS);
    }
    copy_commit();
    two_rows r[M];
#pragma unroll
    for (int m = 0; m < M; m++) r[m] = rows_of(t, g, kept, p, a + 16 * m);
    float dq[M][D / 8][4] = {};
    for (int from = 0, stage = 0; from < seen; from += ROWS, stage ^= 1) {
        int next = from + ROWS, other = (stage ^ 1) * ROWS * D;
        if (next < seen) {
            tile_copy<D>(k + other, from_k + next * t.k.stride, t.k.stride, p.tk - next, ROWS, me, THREADS);
            tile_copy<D>(v + other, from_v + next * t.v.stride, t.v.stride, p.tk - next, ROWS, me, THREADS);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads();
#pragma unroll 1
        for (int at = 0; at < ROWS; at += PART) {
            int first = begin + mine + p.shift, till = from + at + PART;
            if (begin + mine >= p.tq || from + at >= p.tk || (t.causal && from + at > first + 16 * M - 1))
                continue;
            bool whole = till <= p.tk && (!t.causal || till - 1 <= first);
            const bf16 *kt = k + (stage * ROWS + at) * D, *vt = v + (stage * ROWS + at) * D;
            float s[M][PART / 8][4], ds[M][PART / 8][4];
            multiply_strips<D, PART / 16, M>(s, q, mine, kt);
            multiply_strips<D, PART / 16, M>(ds, dy, mine, vt);
#pragma unroll
            for (int m = 0; m < M; m++)
                query_slopes<DROPS>(t, p, s[m], ds[m], a + 16 * m, from + at, r[m], whole);
#pragma unroll
            for (int n = 0; n < PART / 16; n++) {
                uint32_t w[M][4];
                as_left<M>(w, ds, n);
                multiply_add_strips<D, M>(dq, w, kt, 16 * n);
            }
        }
        __syncthreads();
    }
    copy_wait<0>();
#pragma unroll
    for (int m = 0; m < M; m++) {
        int first_row = mine + 16 * m, real = p.tq - begin - first_row;
        if (real <= 0) return;
        put_rows<D>((bf16 *)g.dq.p + (row + first_row) * g.dq.stride + column, g.dq.stride, real, dq[m],
                    t.scale, t.scale, !g.fresh_q);
    }
}

template <int D, bool DROPS>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    size_t room = (size_t)(2 * owned<D> + 4 * ROWS) * D * sizeof(bf16);
    unsigned items = (unsigned)t->items, heads = (unsigned)t->heads, kv_heads = heads / (unsigned)t->group;
    cudaFuncSetAttribute(long_keys<D, DROPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    cudaFuncSetAttribute(long_queries<D, DROPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_keys<D, DROPS>
        <<<hd_blocks((size_t)t->longest_k, owned<D>) * items * kv_heads, THREADS, room, c->stream>>>(*t, *g,
                                                                                                     kept);
    long_queries<D, DROPS>
        <<<hd_blocks((size_t)t->longest_q, owned<D>) * items * heads, THREADS, room, c->stream>>>(*t, *g,
                                                                                                  kept);
}

hd_status hd_attend_long_back(hd_cuda *c, const attend_of *t, const attend_grads *g)
{
    size_t rows = (size_t)t->q.rows, keys = (rows * sizeof(uint64_t) + 255) / 256 * 256;
    char *room = (char *)hd_cuda_scratch(c, keys + rows * t->heads * sizeof(float));
    if (!room) return HD_ENOMEM;
    saved kept = {(float *)(room + keys), (uint64_t *)room};
    deltas<<<hd_blocks((size_t)t->items * t->longest_q, WARPS), THREADS, 0, c->stream>>>(*t, *g, kept);
    if (t->d == 32)
        t->drops ? launch<32, true>(c, t, g, kept) : launch<32, false>(c, t, g, kept);
    else if (t->d == 64)
        t->drops ? launch<64, true>(c, t, g, kept) : launch<64, false>(c, t, g, kept);
    else
        t->drops ? launch<128, true>(c, t, g, kept) : launch<128, false>(c, t, g, kept);
    return hd_cuda_done(c, "attend_back");
}
