/* Backward of attention in items that are one tile long: a block takes one kv head of one item. A warp owns
   16 queries while scores are made and dq is summed, then 16 keys for dk and dv; weights and their gradients
   cross over in shared memory. Easy to get wrong: blocks of items without queries still write fresh dk and
   dv. */
#include "backend/cuda/attend/tile.h"

enum { MOST = SHORT_ROWS / 16 };

typedef struct backward_of {
    attend_grads g;
    int rows, key_rows; /* in shared memory */
} backward_of;

/* Weights after dropout and gradients of the scores of 16 queries, as pairs of bf16; the lane's two rows. */
template <int TILES>
DEVICE void slopes(const attend_of &t, const place &p, int first, int tiles, float lse_low, float lse_high,
                   float s[2 * TILES][4], float ds[2 * TILES][4])
{
    int lane = threadIdx.x % 32, a = first + lane / 4, last_low = p.tk - 1, last_high = p.tk - 1;
    if (t.causal) last_low = min(last_low, a + p.shift), last_high = min(last_high, a + 8 + p.shift);
    float c = t.scale * LOG2_E, delta_low = 0, delta_high = 0;
    uint64_t key_low = 0, key_high = 0;
    if (t.drops) draw_keys(t.draw, p.qrow + first, p.tq - first, &key_low, &key_high);
    uint32_t low[2 * TILES], high[2 * TILES];
#pragma unroll
    for (int n = 0; n < 2 * TILES; n++) {
        int j = n * 8 + lane % 4 * 2;
        low[n] = high[n] = 3;
        if (t.drops && n < 2 * tiles) {
            low[n] = kept_pair(t.draw, key_low, draw_column(p.head, j));
            high[n] = kept_pair(t.draw, key_high, draw_column(p.head, j));
        }
        float more = t.drops ? t.draw.scale : 1;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            s[n][i] = j + i <= last_low ? power_of_two(s[n][i] * c - lse_low) : 0;
            s[n][2 + i] = j + i <= last_high ? power_of_two(s[n][2 + i] * c - lse_high) : 0;
            ds[n][i] = low[n] >> i & 1 ? ds[n][i] * more : 0;
            ds[n][2 + i] = high[n] >> i & 1 ? ds[n][2 + i] * more : 0;
            delta_low = fmaf(s[n][i], ds[n][i], delta_low);
            delta_high = fmaf(s[n][2 + i], ds[n][2 + i], delta_high);
        }
    }
    delta_low = quad_sum(delta_low), delta_high = quad_sum(delta_high);
#pragma unroll
    for (int n = 0; n < 2 * TILES; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float more = t.drops ? t.draw.scale : 1;
            ds[n][i] = s[n][i] * (ds[n][i] - delta_low);
            ds[n][2 + i] = s[n][2 + i] * (ds[n][2 + i] - delta_high);
            s[n][i] = low[n] >> i & 1 ? s[n][i] * more : 0;
            s[n][2 + i] = high[n] >> i & 1 ? s[n][2 + i] * more : 0;
        }
}

/* sum [16 keys, D] += (w of all queries)^T x, for the warp's keys. */
template <int D, int W>
DEVICE void over_queries(float sum[D / 8][4], const bf16 *w, const bf16 *x, int first, int nq)
{
    for (int n = 0; n < nq; n++) {
        uint32_t a[4];
        get_a_turned<W>(a, w, first, 16 * n);
        multiply_add<D>(sum, a, x, 16 * n);
    }
}

template <int D>
DEVICE void put_keys(const mat &to, const place &p, int first, size_t column, const float sum[D / 8][4],
                     float factor, bool add)
{
    put_rows<D>((bf16 *)to.p + (p.krow + first) * to.stride + column, to.stride, p.tk - first, sum, factor,
                factor, add);
}

/* Sums of a kv head are kept while its heads go by; one head alone writes them as they are made. */
template <int D, int TILES, bool GROUPED>
static __global__ void short_back(const __grid_constant__ attend_of t, const __grid_constant__ backward_of f)
{
    extern __shared__ __align__(128) char attend_room[];
    constexpr int W = TILES <= 2 ? 32 : 64;
    const attend_grads &g = f.g;
    int kv_heads = t.heads / t.group, item = (int)(blockIdx.x / kv_heads),
        group = (int)(blockIdx.x % kv_heads);
    int me = threadIdx.x, threads = blockDim.x, lane = me % 32, first = me / 32 * 16;
    bf16 *q = (bf16 *)attend_room, *dy = q + f.rows * D, *k = dy + f.rows * D, *v = k + f.key_rows * D;
    bf16 *weights = v + f.key_rows * D, *scores = weights + f.rows * W; /* after dropout; gradients */
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};                         /* not there unless GROUPED */
    place p = place_at(t, item, group * t.group);
    int nq = (p.tq + 15) / 16, nk = (p.tk + 15) / 16;
    size_t kv_column = (size_t)group * D;
    for (int e = 0; e < t.group; e++) {
        p.head = group * t.group + e;
        size_t column = (size_t)p.head * D;
        if (e) __syncthreads();
        tile_copy<D>(q, (const bf16 *)t.q.p + p.qrow * t.q.stride + column, t.q.stride, p.tq, nq * 16, me,
                     threads);
        if (!e)
            tile_copy<D>(k, (const bf16 *)t.k.p + p.krow * t.k.stride + kv_column, t.k.stride, p.tk, nk * 16,
                         me, threads);
        copy_commit();
        tile_copy<D>(dy, (const bf16 *)g.dy.p + p.qrow * g.dy.stride + column, g.dy.stride, p.tq, nq * 16, me,
                     threads);
        if (!e)
            tile_copy<D>(v, (const bf16 *)t.v.p + p.krow * t.v.stride + kv_column, t.v.stride, p.tk, nk * 16,
                         me, threads);
        copy_commit();
        bool works = first < p.tq;
        int a = first + lane / 4;
        const float *at = (const float *)g.lse.p + (p.qrow + a) * g.lse.stride + p.head;
        float lse_low = a < p.tq ? *at * LOG2_E : INFINITY;
        float lse_high = a + 8 < p.tq ? at[8 * g.lse.stride] * LOG2_E : INFINITY;
        float s[2 * TILES][4], ds[2 * TILES][4];
        copy_wait<1>();
        __syncthreads();
        if (works) multiply_rows<D, TILES>(s, q, first, k, nk);
        copy_wait<0>();
        __syncthreads();
        if (works) {
            multiply_rows<D, TILES>(ds, dy, first, v, nk);
            slopes<TILES>(t, p, first, nk, lse_low, lse_high, s, ds);
            float dq[D / 8][4] = {};
#pragma unroll
            for (int n = 0; n < TILES; n++) {
                if (n >= nk) continue;
                uint32_t w[4] = {pack2(ds[2 * n][0], ds[2 * n][1]), pack2(ds[2 * n][2], ds[2 * n][3]),
                                 pack2(ds[2 * n + 1][0], ds[2 * n + 1][1]),
                                 pack2(ds[2 * n + 1][2], ds[2 * n + 1][3])};
                multiply_add<D>(dq, w, k, 16 * n);
#pragma unroll
                for (int i = 0; i < 4; i++) { /* as in w: row a or a + 8, columns of tile 2n or 2n + 1 */
                    int spot = tile_at<W>(a + (i & 1) * 8, 2 * n + (i >> 1)) + lane % 4 * 2;
                    *(uint32_t *)(scores + spot) = w[i];
                    *(uint32_t *)(weights + spot) =
                        pack2(s[2 * n + (i >> 1)][(i & 1) * 2], s[2 * n + (i >> 1)][(i & 1) * 2 + 1]);
                }
            }
            put_rows<D>((bf16 *)g.dq.p + (p.qrow + first) * g.dq.stride + column, g.dq.stride, p.tq - first,
                        dq, t.scale, t.scale, !g.fresh_q);
        }
        __syncthreads();
        if (first >= p.tk) continue;
        if (GROUPED) {
            over_queries<D, W>(dv, weights, dy, first, nq);
            over_queries<D, W>(dk, scores, q, first, nq);
        } else {
            float sum[D / 8][4] = {}, other[D / 8][4] = {};
            over_queries<D, W>(sum, weights, dy, first, nq);
            put_keys<D>(g.dv, p, first, kv_column, sum, 1, !g.fresh_v);
            over_queries<D, W>(other, scores, q, first, nq);
            put_keys<D>(g.dk, p, first, kv_column, other, t.scale, !g.fresh_k);
        }
    }
    if (!GROUPED || first >= p.tk) return;
    put_keys<D>(g.dv, p, first, kv_column, dv, 1, !g.fresh_v);
    put_keys<D>(g.dk, p, first, kv_column, dk, t.scale, !g.fresh_k);
}

template <int D, int TILES, bool GROUPED>
static void launch(hd_cuda *c, const attend_of *t, const backward_of *f)
{
    int w = TILES <= 2 ? 32 : 64, threads = 2 * (f->rows > f->key_rows ? f->rows : f->key_rows);
    size_t room = (size_t)(2 * (f->rows + f->key_rows) * D + 2 * f->rows * w) * sizeof(bf16);
    cudaFuncSetAttribute(short_back<D, TILES, GROUPED>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)room);
    short_back<D, TILES, GROUPED>
        <<<(unsigned)(t->items * (t->heads / t->group)), threads, room, c->stream>>>(*t, *f);
}

void hd_attend_short_back(hd_cuda *c, const attend_of *t, const attend_grads *g)
{
    backward_of f = {*g, up16(t->longest_q), up16(t->longest_k)};
    bool grouped = t->group > 1;
    if (t->d == 32)
        grouped ? launch<32, MOST, true>(c, t, &f) : launch<32, MOST, false>(c, t, &f);
    else if (t->d == 128)
        launch<128, MOST, false>(c, t, &f);
    else if (grouped)
        launch<64, MOST, true>(c, t, &f);
    else if (t->longest_k <= 32)
        launch<64, 2, false>(c, t, &f);
    else if (t->longest_k <= 48)
        launch<64, 3, false>(c, t, &f);
    else
        launch<64, MOST, false>(c, t, &f);
}
