/* Attention of long items, backward, without a score matrix: delta = sum of dy * y for every query and head
   first; then a block that owns 64 keys walks over the queries for dk and dv, and one that owns 64 queries
   walks over the keys for dq. Scores are made twice so that no number has two writers. */
#include "backend/cuda/attend_tile.h"

enum { WARPS = 4, THREADS = 32 * WARPS, ROWS = 64, PART = 32 }; /* PART: of a tile, in registers at a time */

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
 */
DEVICE void key_slopes(const attend_of &t, const place &p, float s[PART / 8][4], float ds[PART / 8][4], int j,
                       int a, const beside *b, int at)
{
    int lane = threadIdx.x % 32;
    float c = t.scale * LOG2_E, more = t.drops ? t.draw.scale : 1;
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
                float w = key <= last ? power_of_two(s[n][x] * c - lse) : 0, mask = more;
                if (t.drops) mask = draw_mask(t.draw, b->key[at + of], draw_column(p.head, key));
                ds[n][x] = w * (ds[n][x] * mask - delta);
                s[n][x] = w * mask;
            }
        }
}

/* Fragment of columns 16 m .. of sums as the left side of the next product. */
DEVICE void as_left(uint32_t a[4], const float s[][4], int m)
{
    a[0] = pack2(s[2 * m][0], s[2 * m][1]), a[1] = pack2(s[2 * m][2], s[2 * m][3]);
    a[2] = pack2(s[2 * m + 1][0], s[2 * m + 1][1]), a[3] = pack2(s[2 * m + 1][2], s[2 * m + 1][3]);
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

template <int D>
static __global__ void __launch_bounds__(THREADS)
    long_keys(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g, const saved kept)
{
    extern __shared__ __align__(128) char attend_room[];
    __shared__ beside rows[2];
    int kv_heads = t.heads / t.group, me = threadIdx.x, lane = me % 32, mine = me / 32 * 16;
    int group = (int)(blockIdx.x % kv_heads), begin = (int)(blockIdx.x / kv_heads / t.items) * ROWS;
    place p = place_at(t, (int)(blockIdx.x / kv_heads % t.items), group * t.group);
    if (begin >= p.tk) return;
    bf16 *k = (bf16 *)attend_room, *v = k + ROWS * D, *q = v + ROWS * D, *dy = q + 2 * ROWS * D;
    size_t column = (size_t)group * D, row = p.krow + begin;
    tile_copy<D>(k, (const bf16 *)t.k.p + row * t.k.stride + column, t.k.stride, p.tk - begin, ROWS, me,
                 THREADS);
    tile_copy<D>(v, (const bf16 *)t.v.p + row * t.v.stride + column, t.v.stride, p.tk - begin, ROWS, me,
                 THREADS);
    int low = t.causal ? max(0, begin - p.shift) / ROWS : 0; /* first tile with a query that sees a key */
    int tiles = max(0, (p.tq + ROWS - 1) / ROWS - low), all = tiles * t.group;
    if (all) copy_queries<D>(t, g, kept, p, p.head, low * ROWS, q, dy, &rows[0]);
    copy_commit();
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    for (int i = 0; i < all; i++) {
        int stage = i & 1, other = stage ^ 1, next = i + 1;
        if (next < all)
            copy_queries<D>(t, g, kept, p, group * t.group + next / tiles, (low + next % tiles) * ROWS,
                            q + other * ROWS * D, dy + other * ROWS * D, &rows[other]);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        p.head = group * t.group + i / tiles;
        for (int at = 0; at < ROWS; at += PART) {
            int a = (low + i % tiles) * ROWS + at;
            if (a >= p.tq || (t.causal && begin + mine > a + PART - 1 + p.shift)) continue;
            const bf16 *qt = q + (stage * ROWS + at) * D, *dyt = dy + (stage * ROWS + at) * D;
            float s[PART / 8][4], ds[PART / 8][4];
            multiply_rows<D, PART / 16>(s, k, mine, qt, PART / 16);
            multiply_rows<D, PART / 16>(ds, v, mine, dyt, PART / 16);
            key_slopes(t, p, s, ds, begin + mine + lane / 4, a, &rows[stage], at);
#pragma unroll
            for (int m = 0; m < PART / 16; m++) {
                uint32_t w[4];
                as_left(w, s, m);
                multiply_add<D>(dv, w, dyt, 16 * m);
                as_left(w, ds, m);
                multiply_add<D>(dk, w, qt, 16 * m);
            }
        }
        __syncthreads();
    }
    copy_wait<0>();
    if (begin + mine >= p.tk) return;
    int real = p.tk - begin - mine;
    row += mine;
    put_rows<D>((bf16 *)g.dv.p + row * g.dv.stride + column, g.dv.stride, real, dv, 1, 1, !g.fresh_v);
    put_rows<D>((bf16 *)g.dk.p + row * g.dk.stride + column, g.dk.stride, real, dk, t.scale, t.scale,
                !g.fresh_k);
}

/* The two rows of queries that a lane holds. */
typedef struct two_rows {
    float lse[2], delta[2];
    uint64_t key[2];
} two_rows;

/* ds [16 queries, PART keys] from scores and dy v^T; `from` is the first key. */
DEVICE void query_slopes(const attend_of &t, const place &p, float s[PART / 8][4], float ds[PART / 8][4],
                         int a, int from, const two_rows &r)
{
    int lane = threadIdx.x % 32;
    float c = t.scale * LOG2_E, more = t.drops ? t.draw.scale : 1;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int query = a + half * 8, last = t.causal ? min(p.tk - 1, query + p.shift) : p.tk - 1;
#pragma unroll
        for (int n = 0; n < PART / 8; n++) {
            int j = from + n * 8 + lane % 4 * 2;
            uint32_t kept = t.drops ? kept_pair(t.draw, r.key[half], draw_column(p.head, j)) : 3;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int x = half * 2 + i;
                float w = j + i <= last ? power_of_two(s[n][x] * c - r.lse[half]) : 0;
                ds[n][x] = w * ((kept >> i & 1 ? ds[n][x] * more : 0) - r.delta[half]);
            }
        }
    }
}

template <int D>
static __global__ void __launch_bounds__(THREADS)
    long_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                 const saved kept)
{
    extern __shared__ __align__(128) char attend_room[];
    int heads = t.heads, tiles = (t.longest_q + ROWS - 1) / ROWS, me = threadIdx.x, lane = me % 32;
    int tile = tiles - 1 - (int)(blockIdx.x / (heads * t.items)); /* under a causal mask the last see most */
    place p = place_at(t, (int)(blockIdx.x / heads % t.items), (int)(blockIdx.x % heads));
    int begin = tile * ROWS, mine = me / 32 * 16, a = begin + mine + lane / 4;
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *dy = q + ROWS * D, *k = dy + ROWS * D, *v = k + 2 * ROWS * D;
    int end = min(p.tq, begin + ROWS), seen = t.causal ? max(0, min(p.tk, end + p.shift)) : p.tk;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D, row = p.qrow + begin;
    const bf16 *from_k = (const bf16 *)t.k.p + p.krow * t.k.stride + kv_column;
    const bf16 *from_v = (const bf16 *)t.v.p + p.krow * t.v.stride + kv_column;
    tile_copy<D>(q, (const bf16 *)t.q.p + row * t.q.stride + column, t.q.stride, p.tq - begin, ROWS, me,
                 THREADS);
    tile_copy<D>(dy, (const bf16 *)g.dy.p + row * g.dy.stride + column, g.dy.stride, p.tq - begin, ROWS, me,
                 THREADS);
    if (seen) {
        tile_copy<D>(k, from_k, t.k.stride, p.tk, ROWS, me, THREADS);
        tile_copy<D>(v, from_v, t.v.stride, p.tk, ROWS, me, THREADS);
    }
    copy_commit();
    two_rows r = {{INFINITY, INFINITY}, {0, 0}, {0, 0}};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        size_t at = p.qrow + a + half * 8;
        if (a + half * 8 >= p.tq) continue; /* INFINITY: it has no weights */
        r.lse[half] = ((const float *)g.lse.p)[at * g.lse.stride + p.head] * LOG2_E;
        r.delta[half] = kept.delta[at * heads + p.head];
        if (t.drops) r.key[half] = kept.key[at];
    }
    float dq[D / 8][4] = {};
    for (int from = 0, stage = 0; from < seen; from += ROWS, stage ^= 1) {
        int next = from + ROWS, other = (stage ^ 1) * ROWS * D;
        if (next < seen) {
            tile_copy<D>(k + other, from_k + next * t.k.stride, t.k.stride, p.tk - next, ROWS, me, THREADS);
            tile_copy<D>(v + other, from_v + next * t.v.stride, t.v.stride, p.tk - next, ROWS, me, THREADS);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        for (int at = 0; at < ROWS; at += PART) {
            if (begin + mine >= p.tq || from + at >= p.tk ||
                (t.causal && from + at > begin + mine + 15 + p.shift))
                continue;
            const bf16 *kt = k + (stage * ROWS + at) * D, *vt = v + (stage * ROWS + at) * D;
            float s[PART / 8][4], ds[PART / 8][4];
            multiply_rows<D, PART / 16>(s, q, mine, kt, PART / 16);
            multiply_rows<D, PART / 16>(ds, dy, mine, vt, PART / 16);
            query_slopes(t, p, s, ds, a, from + at, r);
#pragma unroll
            for (int m = 0; m < PART / 16; m++) {
                uint32_t w[4];
                as_left(w, ds, m);
                multiply_add<D>(dq, w, kt, 16 * m);
            }
        }
        __syncthreads();
    }
    copy_wait<0>();
    if (begin + mine >= p.tq) return;
    put_rows<D>((bf16 *)g.dq.p + (row + mine) * g.dq.stride + column, g.dq.stride, p.tq - begin - mine, dq,
                t.scale, t.scale, !g.fresh_q);
}

template <int D> static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    size_t room = (size_t)6 * ROWS * D * sizeof(bf16);
    unsigned items = (unsigned)t->items, kv_heads = (unsigned)(t->heads / t->group);
    cudaFuncSetAttribute(long_keys<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    cudaFuncSetAttribute(long_queries<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_keys<D><<<hd_blocks((size_t)t->longest_k, ROWS) * items * kv_heads, THREADS, room, c->stream>>>(
        *t, *g, kept);
    long_queries<D>
        <<<hd_blocks((size_t)t->longest_q, ROWS) * items *(unsigned)t->heads, THREADS, room, c->stream>>>(
            *t, *g, kept);
}

hd_status hd_attend_long_back(hd_cuda *c, const attend_of *t, const attend_grads *g)
{
    size_t rows = (size_t)t->q.rows, keys = (rows * sizeof(uint64_t) + 255) / 256 * 256;
    char *room = (char *)hd_cuda_scratch(c, keys + rows * t->heads * sizeof(float));
    if (!room) return HD_ENOMEM;
    saved kept = {(float *)(room + keys), (uint64_t *)room};
    deltas<<<hd_blocks((size_t)t->items * t->longest_q, WARPS), THREADS, 0, c->stream>>>(*t, *g, kept);
    if (t->d == 32)
        launch<32>(c, t, g, kept);
    else if (t->d == 64)
        launch<64>(c, t, g, kept);
    else
        launch<128>(c, t, g, kept);
    return hd_cuda_done(c, "attend_back");
}
