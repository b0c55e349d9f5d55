/* Attention of long items, backward, queries: a block that owns 64 of them walks over the keys for dq.
   Vectors of distances have a way of their own (long_slopes.cu). Easy to get wrong: where several products
   are under way, registers and shared memory of all of them are taken. */
#include "backend/cuda/attend/long_back.h"

/* The two rows of queries that a lane holds. */
typedef struct two_rows {
    float2 pair[2];
    uint64_t key[2];
} two_rows;

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

/* s: in scores, out weights. */
DEVICE void query_weights(const attend_of &t, float s[8][4], const two_rows &r)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int x = 0; x < 4; x++) s[n][x] = power_of_two(fmaf(s[n][x], c, -r.pair[x / 2].x));
}

/* ds: in dy v^T, out slopes. */
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

template <int D, bool DROPS, bool LOCAL>
static __global__ void __launch_bounds__(THREADS, 3)
    long_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                 const saved kept)
{
    constexpr int STAGES = GROUP_STAGES, AHEAD = STAGES - 1;
    extern __shared__ __align__(1024) char attend_room[];
    int tiles = (t.longest_q + ROWS - 1) / ROWS, me = threadIdx.x;
    int tile = tiles - 1 - (int)(blockIdx.x % tiles), which = (int)(blockIdx.x / tiles); /* long ones first */
    place p = place_at(t, which / t.heads, which % t.heads);
    int begin = tile * ROWS, own = me / 32 * 16, a = begin + own + me % 32 / 4; /* the lane's first query */
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *dy = q + ROWS * D, *kv = dy + ROWS * D;
    int low = LOCAL ? block_begin(t, begin + p.shift) / ROWS * ROWS : 0;
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
    copy_keys(low, 0);
    if (AHEAD > 1) copy_keys(low + ROWS, 1);
    two_rows r = rows_of(t, kept, p, a);
    float dq[D / 8][4] = {};
    for (int from = low, stage = 0; from < seen; from += ROWS, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_keys(from + AHEAD * ROWS, stage == 0 ? STAGES - 1 : stage - 1);
        const bf16 *k = kv + stage * 2 * ROWS * D, *v = k + ROWS * D;
        bool whole = from + ROWS <= p.tk && (!t.causal || from + ROWS - 1 <= begin + p.shift);
        float s[8][4], ds[8][4];
        uint32_t slopes[4][4];
        group_scores<D>(s, slabs_at<D, false>(q, 0, ROWS), ROWS, slabs_at<D, false>(k, 0, ROWS), ROWS);
        group_scores<D>(ds, slabs_at<D, false>(dy, 0, ROWS), ROWS, slabs_at<D, false>(v, 0, ROWS), ROWS);
        group_wait<1>(s);
        if (!whole) group_hide(t, p, s, a, from);
        if (LOCAL && from < block_begin(t, begin + ROWS - 1 + p.shift)) hide_before(t, p, s, a, from);
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

template <int D, bool DROPS, bool LOCAL>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    size_t room = (2 + stages_on(c) * 2) * ROWS * D * sizeof(bf16);
    unsigned blocks = hd_blocks((size_t)t->longest_q, ROWS) * (unsigned)(t->items * t->heads);
    cudaFuncSetAttribute(long_queries<D, DROPS, LOCAL>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)room);
    long_queries<D, DROPS, LOCAL><<<blocks, THREADS, room, c->stream>>>(*t, *g, kept);
}

template <int D>
static void launch_heads(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if (t->block > 0)
        t->drops ? launch<D, true, true>(c, t, g, kept) : launch<D, false, true>(c, t, g, kept);
    else
        t->drops ? launch<D, true, false>(c, t, g, kept) : launch<D, false, false>(c, t, g, kept);
}

void hd_attend_long_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    if (t->d == 32)
        launch_heads<32>(c, t, g, kept);
    else if (t->d == 64)
        launch_heads<64>(c, t, g, kept);
    else
        launch_heads<128>(c, t, g, kept);
}
