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
template <int WITH>
DEVICE void query_slopes(const attend_of &t, const place &p, const float s[8][4], float ds[8][4], int from,
                         const two_rows &r)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < 8; n++) {
            int j = from + n * 8 + threadIdx.x % 4 * 2;
            uint32_t kept = WITH & DROPS ? kept_pair(t.draw, r.key[half], draw_column(p.head, j)) : 3;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float d = ds[n][half * 2 + i];
                if (WITH & DROPS) d = kept >> i & 1 ? d * t.draw.scale : 0;
                ds[n][half * 2 + i] = s[n][half * 2 + i] * (d - r.pair[half].y);
            }
        }
}

template <int D, int DV, int WITH>
static __global__ void __launch_bounds__(GROUP *BACK_GROUPS<D>, BACK_BLOCKS<D>)
    long_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                 const saved kept)
{
    constexpr int GROUPS = BACK_GROUPS<D>, THREADS = GROUPS * GROUP, QUERIES = GROUPS * ROWS;
    constexpr int MOST = BACK_MOST<D>, STAGES = MOST < (int)GROUP_STAGES ? MOST : (int)GROUP_STAGES;
    constexpr int AHEAD = STAGES - 1, PAIR = ROWS * (D + DV);
    constexpr bool BENDS = WITH & MORE;
    extern __shared__ __align__(1024) char attend_room[];
    int tiles = (t.longest_q + QUERIES - 1) / QUERIES, me = threadIdx.x;
    int tile = tiles - 1 - (int)(blockIdx.x % tiles), which = (int)(blockIdx.x / tiles); /* long ones first */
    place p = place_at(t, which / t.heads, which % t.heads);
    int begin = tile * QUERIES, mine = GROUPS > 1 ? me / GROUP * ROWS : 0,
        first = begin + mine;                                      /* of the group */
    int own = first + me % GROUP / 32 * 16, a = own + me % 32 / 4; /* warp's, lane's */
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *dy = q + QUERIES * D, *kv = dy + QUERIES * DV;
    int d = BENDS ? t.d : D, dv = BENDS ? t.dv : DV;
    reach see = keys_of<WITH>(t, p, begin + p.shift, min(p.tq, begin + QUERIES) - 1 + p.shift);
    int low = see.lo / ROWS * ROWS, seen = see.hi;
    size_t column = (size_t)p.head * d, row = p.qrow + begin;
    auto copy_keys = [&](int from, int stage) {
        bf16 *k = kv + stage * PAIR;
        if (from < seen) {
            slabs_copy<D, ROWS, THREADS>(k, t.k, p.krow + from, (size_t)p.group * d, p.tk - from, d);
            slabs_copy<DV, ROWS, THREADS>(k + ROWS * D, t.v, p.krow + from, (size_t)p.group * dv, p.tk - from,
                                          dv);
        }
        copy_commit();
    };
    slabs_copy<D, QUERIES, THREADS>(q, t.q, row, column, p.tq - begin, d);
    slabs_copy<DV, QUERIES, THREADS>(dy, g.dy, row, (size_t)p.head * dv, p.tq - begin, dv);
    copy_keys(low, 0);
    if (AHEAD > 1) copy_keys(low + ROWS, 1);
    two_rows r = rows_of(t, kept, p, a);
    group_matrix left_q = slabs_at<D, false>(q, mine, QUERIES),
                 left_dy = slabs_at<DV, false>(dy, mine, QUERIES);
    float dq[D / 8][4] = {};
    reach all = keys_of<WITH>(t, p, first + ROWS - 1 + p.shift, first + p.shift); /* that all see */
    for (int from = low, stage = 0; from < seen; from += ROWS, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_keys(from + AHEAD * ROWS, stage == 0 ? STAGES - 1 : stage - 1);
        if (GROUPS > 1 && (first >= p.tq || (t.causal && from > first + ROWS - 1 + p.shift))) continue;
        const bf16 *k = kv + stage * PAIR, *v = k + ROWS * D;
        float s[8][4], ds[8][4];
        uint32_t slopes[4][4], bends[BENDS ? 8 : 1][2];
        group_scores<D>(s, left_q, QUERIES, slabs_at<D, false>(k, 0, ROWS), ROWS);
        group_scores<DV>(ds, left_dy, QUERIES, slabs_at<DV, false>(v, 0, ROWS), ROWS);
        group_wait<1>(s);
        if constexpr (BENDS)
            if (t.cap > 0) group_cap(t, s, bends);
        bool whole = from + ROWS <= p.tk && (!t.causal || from + ROWS - 1 <= first + p.shift);
        if (BENDS) whole = from >= all.lo && from + ROWS <= all.hi;
        if (!whole) group_hide<WITH>(t, p, s, a, from);
        query_weights(t, s, r);
        group_wait<0>(ds);
        query_slopes<WITH>(t, p, s, ds, from, r);
        if constexpr (BENDS)
            if (t.cap > 0) group_uncap(ds, bends);
        group_left(slopes, ds);
        group_add<D>(dq, slopes, slabs_at<D, true>(k, 0, ROWS));
        group_wait<0>(dq);
    }
    copy_wait<0>();
    if (own >= p.tq) return;
    put_rows<D>((bf16 *)g.dq.p + (p.qrow + own) * g.dq.stride + column, g.dq.stride, p.tq - own, dq, t.scale,
                t.scale, !g.fresh_q, d);
}

template <int D, int DV, int WITH>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    constexpr int GROUPS = BACK_GROUPS<D>;
    size_t room = back_room<D, DV>(c);
    unsigned blocks = hd_blocks((size_t)t->longest_q, ROWS * GROUPS) * (unsigned)(t->items * t->heads);
    cudaFuncSetAttribute(long_queries<D, DV, WITH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_queries<D, DV, WITH><<<blocks, GROUP * GROUPS, room, c->stream>>>(*t, *g, kept);
}

template <int D, int DV>
static void launch_size(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept)
{
    if constexpr (ATTEND_WHOLE(D, DV))
        if (t->drops && !hd_attend_more(t)) return launch<D, DV, DROPS>(c, t, g, kept);
    if (!hd_attend_more(t)) return launch<D, DV, PLAIN>(c, t, g, kept);
    t->drops ? launch<D, DV, MORE | DROPS>(c, t, g, kept) : launch<D, DV, MORE>(c, t, g, kept);
}

void hd_attend_long_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept)
{
    attend_size size = hd_attend_size(t);
#define X(D, DV) \
    if (size.d == D && size.dv == DV) return launch_size<D, DV>(c, t, g, kept);
    ATTEND_SIZES(X)
#undef X
}
