/* Attention of items that are one tile long (up to 64 queries and keys): a block takes one head of one item,
   reads everything once and keeps it. Bound by memory. Easy to get wrong: rows past an item's end are zeros
   in the tiles, and blocks of empty items still write what is fresh. */
#include "backend/cuda/attend/tile.h"

enum { MOST = SHORT_ROWS / 16 };

typedef struct forward_of {
    mat y, lse;
    int rows; /* of queries in shared memory */
    int key_rows;
} forward_of;

/* The lane's view of a tile of scores: which of its numbers count. */
typedef struct view {
    int a, last_low, last_high; /* row; last keys that rows a and a + 8 see */
} view;

DEVICE view view_of(const attend_of &t, const place &p, int first)
{
    int a = first + threadIdx.x % 32 / 4, last = p.tk - 1;
    view v = {a, last, last};
    if (t.causal) v.last_low = min(last, a + p.shift), v.last_high = min(last, a + 8 + p.shift);
    return v;
}

template <int D, int TILES>
static __global__ void short_forward(const __grid_constant__ attend_of t,
                                     const __grid_constant__ forward_of f)
{
    extern __shared__ __align__(128) char attend_room[];
    place p = place_at(t, (int)(blockIdx.x / t.heads), (int)(blockIdx.x % t.heads));
    if (!p.tq) return;
    bf16 *q = (bf16 *)attend_room, *k = q + f.rows * D, *v = k + f.key_rows * D;
    int nq = (p.tq + 15) / 16, nk = (p.tk + 15) / 16, lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D;
    tile_copy<D>(q, (const bf16 *)t.q.p + p.qrow * t.q.stride + column, t.q.stride, p.tq, nq * 16,
                 threadIdx.x, blockDim.x);
    tile_copy<D>(k, (const bf16 *)t.k.p + p.krow * t.k.stride + kv_column, t.k.stride, p.tk, nk * 16,
                 threadIdx.x, blockDim.x);
    copy_commit();
    tile_copy<D>(v, (const bf16 *)t.v.p + p.krow * t.v.stride + kv_column, t.v.stride, p.tk, nk * 16,
                 threadIdx.x, blockDim.x);
    copy_commit();
    bool works = first < p.tq;
    uint64_t key_low = 0, key_high = 0;
    if (t.drops && works) draw_keys(t.draw, p.qrow + first, p.tq - first, &key_low, &key_high);
    copy_wait<1>();
    __syncthreads();
    float s[2 * TILES][4];
    float top_low = -INFINITY, top_high = -INFINITY, sum_low = 0, sum_high = 0;
    uint32_t w[2 * TILES][2];
    if (works) {
        multiply_rows<D, TILES>(s, q, first, k, nk);
        view see = view_of(t, p, first);
        float c = t.scale * LOG2_E;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int j = n * 8 + lane % 4 * 2 + i;
                s[n][i] = j <= see.last_low ? s[n][i] * c : -INFINITY;
                s[n][2 + i] = j <= see.last_high ? s[n][2 + i] * c : -INFINITY;
                top_low = fmaxf(top_low, s[n][i]), top_high = fmaxf(top_high, s[n][2 + i]);
            }
        top_low = quad_max(top_low), top_high = quad_max(top_high);
        float less_low = top_low == -INFINITY ? 0 : top_low, less_high = top_high == -INFINITY ? 0 : top_high;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                s[n][i] = power_of_two(s[n][i] - less_low), sum_low += s[n][i];
                s[n][2 + i] = power_of_two(s[n][2 + i] - less_high), sum_high += s[n][2 + i];
            }
            if (t.drops && n < 2 * nk) {
                uint32_t at = draw_column(p.head, n * 8 + lane % 4 * 2);
                uint32_t low = kept_pair(t.draw, key_low, at), high = kept_pair(t.draw, key_high, at);
                s[n][0] = low & 1 ? s[n][0] : 0, s[n][1] = low & 2 ? s[n][1] : 0;
                s[n][2] = high & 1 ? s[n][2] : 0, s[n][3] = high & 2 ? s[n][3] : 0;
            }
            w[n][0] = pack2(s[n][0], s[n][1]), w[n][1] = pack2(s[n][2], s[n][3]);
        }
        sum_low = quad_sum(sum_low), sum_high = quad_sum(sum_high);
    }
    copy_wait<0>();
    __syncthreads();
    if (!works) return;
    float out[D / 8][4] = {};
#pragma unroll
    for (int n = 0; n < TILES; n++) {
        if (n >= nk) continue;
        const uint32_t a[4] = {w[2 * n][0], w[2 * n][1], w[2 * n + 1][0], w[2 * n + 1][1]};
        multiply_add<D>(out, a, v, 16 * n);
    }
    float more = t.drops ? t.draw.scale : 1;
    put_rows<D>((bf16 *)f.y.p + (p.qrow + first) * f.y.stride + column, f.y.stride, p.tq - first, out,
                sum_low == 0 ? 0 : more / sum_low, sum_high == 0 ? 0 : more / sum_high, false);
    if (f.lse.p) put_logarithms(f.lse, p, first + lane / 4, top_low, sum_low, top_high, sum_high);
}

template <int D, int TILES> static void launch_forward(hd_cuda *c, const attend_of *t, const forward_of *f)
{
    size_t room = (size_t)(f->rows + 2 * f->key_rows) * D * sizeof(bf16);
    cudaFuncSetAttribute(short_forward<D, TILES>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    short_forward<D, TILES><<<(unsigned)(t->items * t->heads), f->rows * 2, room, c->stream>>>(*t, *f);
}

void hd_attend_short(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    forward_of f = {y, lse, up16(t->longest_q), up16(t->longest_k)};
    if (t->d == 32)
        launch_forward<32, MOST>(c, t, &f);
    else if (t->d == 128)
        launch_forward<128, MOST>(c, t, &f);
    else if (t->longest_k <= 32)
        launch_forward<64, 2>(c, t, &f);
    else if (t->longest_k <= 48)
        launch_forward<64, 3>(c, t, &f);
    else
        launch_forward<64, MOST>(c, t, &f);
}
