/* Attention of long items, forward: a block takes 128 queries of one head and walks over the keys in tiles of
   64, the next tile on its way while one is used; the softmax is kept as running maximum and sum. Easy to get
   wrong: a warp that sees nothing of a tile must still meet the others at the barriers. */
#include "backend/cuda/attend_tile.h"

enum { WARPS = 8, QUERIES = 16 * WARPS, KEYS = 64, TILES = KEYS / 16 };

template <int D>
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
    tile_copy<D>(q, (const bf16 *)t.q.p + (p.qrow + begin) * t.q.stride + column, t.q.stride, p.tq - begin, QUERIES,
                 me, WARPS * 32);
    if (seen) {
        tile_copy<D>(k, from_k, t.k.stride, p.tk, KEYS, me, WARPS * 32);
        tile_copy<D>(v, from_v, t.v.stride, p.tk, KEYS, me, WARPS * 32);
    }
    copy_commit();
    uint64_t key_low = 0, key_high = 0;
    if (t.drops) draw_keys(t.draw, p.qrow + first, p.tq - first, &key_low, &key_high);
    float out[D / 8][4] = {}, c = t.scale * LOG2_E;
    float top_low = -INFINITY, top_high = -INFINITY, sum_low = 0, sum_high = 0;
    for (int from = 0, stage = 0; from < seen; from += KEYS, stage ^= 1) {
        int next = from + KEYS;
        if (next < seen) {
            tile_copy<D>(k + (stage ^ 1) * KEYS * D, from_k + next * t.k.stride, t.k.stride, p.tk - next, KEYS, me,
                         WARPS * 32);
            tile_copy<D>(v + (stage ^ 1) * KEYS * D, from_v + next * t.v.stride, t.v.stride, p.tk - next, KEYS, me,
                         WARPS * 32);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        const bf16 *kt = k + stage * KEYS * D, *vt = v + stage * KEYS * D;
        if (first < p.tq && !(t.causal && from > first + 15 + p.shift)) {
            float s[2 * TILES][4];
            uint32_t w[2 * TILES][2];
            multiply_rows<D, TILES>(s, q, first - begin, kt, TILES);
            int last_low = p.tk - 1 - from, last_high = last_low; /* last keys of the tile that the rows see */
            if (t.causal) last_low = min(last_low, a + p.shift - from), last_high = min(last_high, a + 8 + p.shift - from);
            float most_low = top_low, most_high = top_high;
#pragma unroll
            for (int n = 0; n < 2 * TILES; n++)
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    int j = n * 8 + lane % 4 * 2 + i;
                    s[n][i] = j <= last_low ? s[n][i] * c : -INFINITY;
                    s[n][2 + i] = j <= last_high ? s[n][2 + i] * c : -INFINITY;
                    most_low = fmaxf(most_low, s[n][i]), most_high = fmaxf(most_high, s[n][2 + i]);
                }
            most_low = quad_max(most_low), most_high = quad_max(most_high);
            float less_low = most_low == -INFINITY ? 0 : most_low, less_high = most_high == -INFINITY ? 0 : most_high;
            float shrink_low = power_of_two(top_low - less_low), shrink_high = power_of_two(top_high - less_high);
            top_low = most_low, top_high = most_high, sum_low *= shrink_low, sum_high *= shrink_high;
#pragma unroll
            for (int n = 0; n < D / 8; n++)
                out[n][0] *= shrink_low, out[n][1] *= shrink_low, out[n][2] *= shrink_high, out[n][3] *= shrink_high;
#pragma unroll
            for (int n = 0; n < 2 * TILES; n++) {
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    s[n][i] = power_of_two(s[n][i] - less_low), sum_low += s[n][i];
                    s[n][2 + i] = power_of_two(s[n][2 + i] - less_high), sum_high += s[n][2 + i];
                }
                if (t.drops) {
                    uint32_t at = draw_column(p.head, from + n * 8 + lane % 4 * 2);
                    uint32_t low = kept_pair(t.draw, key_low, at), high = kept_pair(t.draw, key_high, at);
                    s[n][0] = low & 1 ? s[n][0] : 0, s[n][1] = low & 2 ? s[n][1] : 0;
                    s[n][2] = high & 1 ? s[n][2] : 0, s[n][3] = high & 2 ? s[n][3] : 0;
                }
                w[n][0] = pack2(s[n][0], s[n][1]), w[n][1] = pack2(s[n][2], s[n][3]);
            }
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
    sum_low = quad_sum(sum_low), sum_high = quad_sum(sum_high);
    float more = t.drops ? t.draw.scale : 1;
    put_rows<D>((bf16 *)y.p + (p.qrow + first) * y.stride + column, y.stride, p.tq - first, out,
                sum_low == 0 ? 0 : more / sum_low, sum_high == 0 ? 0 : more / sum_high, false);
    if (!lse.p || lane % 4) return;
    float *to = (float *)lse.p + (p.qrow + a) * lse.stride + p.head;
    if (a < p.tq) *to = sum_low > 0 ? (top_low + log2f(sum_low)) * LN_2 : INFINITY;
    if (a + 8 < p.tq) to[8 * lse.stride] = sum_high > 0 ? (top_high + log2f(sum_high)) * LN_2 : INFINITY;
}

template <int D> static void launch(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    size_t room = (size_t)(QUERIES + 4 * KEYS) * D * sizeof(bf16);
    unsigned blocks = hd_blocks((size_t)t->longest_q, QUERIES) * (unsigned)(t->items * t->heads);
    cudaFuncSetAttribute(long_forward<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_forward<D><<<blocks, WARPS * 32, room, c->stream>>>(*t, y, lse);
}

void hd_attend_long(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    if (t->d == 32)
        launch<32>(c, t, y, lse);
    else if (t->d == 64)
        launch<64>(c, t, y, lse);
    else
        launch<128>(c, t, y, lse);
}
