/* Attention of long items, forward: a block takes 128 queries of one head and walks over the keys in tiles of
   64, the next tile on its way while one is used; the softmax is kept as running maximum and sum. Easy to get
   wrong: a warp that sees nothing of a tile must still meet the others at the barriers. */
#include "backend/cuda/attend_tile.h"

enum { WARPS = 8, QUERIES = 16 * WARPS, KEYS = 64, TILES = KEYS / 16 };

/* s [16, KEYS] = held queries times keys. */
template <int D>
DEVICE void multiply_held(float s[2 * TILES][4], const uint32_t held[D / 16][4], const bf16 *k)
{
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0;
#pragma unroll
    for (int i = 0; i < D / 16; i++)
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            uint32_t fb[4];
            get_b<D>(fb, k, 16 * n, 16 * i);
            multiply(s[2 * n], held[i], fb[0], fb[1]);
            multiply(s[2 * n + 1], held[i], fb[2], fb[3]);
        }
}

/* A lane's two rows of queries: running maximum, in powers of two, and sum; keys of the dropout draws. */
typedef struct running {
    float top[2], sum[2];
    uint64_t key[2];
} running;

/* Scores that a row does not see. */
DEVICE void hide(const attend_of &t, const place &p, float s[2 * TILES][4], int a, int from)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int last = t.causal ? min(p.tk - 1, a + half * 8 + p.shift) : p.tk - 1;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (from + n * 8 + lane % 4 * 2 + i > last) s[n][half * 2 + i] = -INFINITY;
    }
}

/* Turns a tile's scores into weights, as pairs for the next product; `out` shrinks where a maximum grew. */
template <int D, bool DROPS>
DEVICE void soften(const attend_of &t, const place &p, float s[2 * TILES][4], uint32_t w[2 * TILES][2],
                   float out[D / 8][4], running &r, int from)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int x = half * 2;
        float most = -INFINITY;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++) most = fmaxf(most, fmaxf(s[n][x], s[n][x + 1]));
        most = fmaxf(r.top[half], quad_max(most) * c);
        float less = most == -INFINITY ? 0 : most, shrink = power_of_two(r.top[half] - less);
        r.top[half] = most, r.sum[half] *= shrink;
#pragma unroll
        for (int n = 0; n < D / 8; n++) out[n][x] *= shrink, out[n][x + 1] *= shrink;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++) {
            float even = power_of_two(fmaf(s[n][x], c, -less)),
                  odd = power_of_two(fmaf(s[n][x + 1], c, -less));
            r.sum[half] += even, r.sum[half] += odd;
            if (DROPS) {
                int j = from + n * 8 + threadIdx.x % 4 * 2;
                uint32_t kept = kept_pair(t.draw, r.key[half], draw_column(p.head, j));
                even = kept & 1 ? even : 0, odd = kept & 2 ? odd : 0;
            }
            w[n][half] = pack2(even, odd);
        }
    }
}

template <int D, bool DROPS>
static __global__ void __launch_bounds__(WARPS * 32, D <= 64 ? 2 : 1)
    long_forward(const __grid_constant__ attend_of t, const mat y, const mat lse)
{
    extern __shared__ __align__(128) char attend_room[];
    int heads = t.heads, tiles = (t.longest_q + QUERIES - 1) / QUERIES, me = threadIdx.x, lane = me % 32;
    int tile = tiles - 1 - (int)(blockIdx.x / (heads * t.items)); /* under a causal mask the last see most */
    place p = place_at(t, (int)(blockIdx.x / heads % t.items), (int)(blockIdx.x % heads));
    int begin = tile * QUERIES, first = begin + me / 32 * 16, a = first + lane / 4;
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *k = q + QUERIES * D, *v = k + 2 * KEYS * D;
    int end = min(p.tq, begin + QUERIES), seen = t.causal ? max(0, min(p.tk, end + p.shift)) : p.tk;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D;
    const bf16 *from_k = (const bf16 *)t.k.p + p.krow * t.k.stride + kv_column;
    const bf16 *from_v = (const bf16 *)t.v.p + p.krow * t.v.stride + kv_column;
    tile_copy<D>(q, (const bf16 *)t.q.p + (p.qrow + begin) * t.q.stride + column, t.q.stride, p.tq - begin,
                 QUERIES, me, WARPS * 32);
    if (seen) {
        tile_copy<D>(k, from_k, t.k.stride, p.tk, KEYS, me, WARPS * 32);
        tile_copy<D>(v, from_v, t.v.stride, p.tk, KEYS, me, WARPS * 32);
    }
    copy_commit();
    running r = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
    if (DROPS) draw_keys(t.draw, p.qrow + first, p.tq - first, &r.key[0], &r.key[1]);
    constexpr bool HOLDS = D > 64; /* queries stay in registers: one block fits anyway */
    uint32_t held[D / 16][4] = {};
    float out[D / 8][4] = {};
    for (int from = 0, stage = 0; from < seen; from += KEYS, stage ^= 1) {
        int next = from + KEYS;
        if (next < seen) {
            tile_copy<D>(k + (stage ^ 1) * KEYS * D, from_k + next * t.k.stride, t.k.stride, p.tk - next,
                         KEYS, me, WARPS * 32);
            tile_copy<D>(v + (stage ^ 1) * KEYS * D, from_v + next * t.v.stride, t.v.stride, p.tk - next,
                         KEYS, me, WARPS * 32);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        if (HOLDS && !from)
#pragma unroll
            for (int i = 0; i < D / 16; i++) get_a<D>(held[i], q, first - begin, 16 * i);
        const bf16 *kt = k + stage * KEYS * D, *vt = v + stage * KEYS * D;
        if (first < p.tq && !(t.causal && from > first + 15 + p.shift)) {
            float s[2 * TILES][4];
            uint32_t w[2 * TILES][2];
            if (HOLDS)
                multiply_held<D>(s, held, kt);
            else
                multiply_rows<D, TILES>(s, q, first - begin, kt, TILES);
            if (from + KEYS > p.tk || (t.causal && from + KEYS - 1 > first + p.shift)) hide(t, p, s, a, from);
            soften<D, DROPS>(t, p, s, w, out, r, from);
#pragma unroll
            for (int n = 0; n < TILES; n++) {
                const uint32_t fa[4] = {w[2 * n][0], w[2 * n][1], w[2 * n + 1][0], w[2 * n + 1][1]};
                multiply_add<D>(out, fa, vt, 16 * n);
            }
        }
        __syncthreads();
    }
    copy_wait<0>();
    if (first >= p.tq) return;
    float more = DROPS ? t.draw.scale : 1, low = quad_sum(r.sum[0]), high = quad_sum(r.sum[1]);
    put_rows<D>((bf16 *)y.p + (p.qrow + first) * y.stride + column, y.stride, p.tq - first, out,
                low == 0 ? 0 : more / low, high == 0 ? 0 : more / high, false);
    if (lse.p) put_logarithms(lse, p, a, r.top[0], low, r.top[1], high);
}

template <int D, bool DROPS> static void launch(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    size_t room = (size_t)(QUERIES + 4 * KEYS) * D * sizeof(bf16);
    unsigned blocks = hd_blocks((size_t)t->longest_q, QUERIES) * (unsigned)(t->items * t->heads);
    cudaFuncSetAttribute(long_forward<D, DROPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_forward<D, DROPS><<<blocks, WARPS * 32, room, c->stream>>>(*t, y, lse);
}

void hd_attend_long(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    if (t->d == 32)
        t->drops ? launch<32, true>(c, t, y, lse) : launch<32, false>(c, t, y, lse);
    else if (t->d == 64)
        t->drops ? launch<64, true>(c, t, y, lse) : launch<64, false>(c, t, y, lse);
    else
        t->drops ? launch<128, true>(c, t, y, lse) : launch<128, false>(c, t, y, lse);
}
