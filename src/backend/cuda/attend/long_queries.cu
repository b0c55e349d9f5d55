/* Attention of long items, backward, queries: a block that owns 64 of them walks over the keys for dq. With
   vectors of distances it keeps a band (band.h) from tile to tile; its gradients are multiplied with the
   vectors, and left, slice by slice, for long_distance.cu. Easy to get wrong: where several products are
   under way, registers and shared memory of all of them are taken. */
#include "backend/cuda/attend/long_back.h"

/* Heads of items whose tiles begin together, the long ones first: few threads are busy alone at the end. */
enum { TOGETHER = 32 };

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

template <int D, bool DROPS, bool FAR>
static __global__ void __launch_bounds__(THREADS, !FAR     ? 3
                                                  : D > 64 ? 1
                                                           : 2)
    long_queries(const __grid_constant__ attend_of t, const __grid_constant__ attend_grads g,
                 const saved kept, const slice part)
{
    constexpr int STAGES = FAR ? (int)FAR_STAGES : (int)GROUP_STAGES, AHEAD = STAGES - 1;
    extern __shared__ __align__(1024) char attend_room[];
    constexpr int BESIDE = FAR ? (int)TOGETHER : 1;
    int me = threadIdx.x, all = BESIDE * part.tiles, at = (int)blockIdx.x % all;
    int which = (int)blockIdx.x / all * BESIDE + at % BESIDE, tile = part.tile + part.tiles - 1 - at / BESIDE;
    if (which >= part.items * part.heads) return;
    place p = place_at(t, part.item + which / part.heads, part.head + which % part.heads);
    int begin = tile * ROWS, own = me / 32 * 16, a = begin + own + me % 32 / 4; /* the lane's first query */
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *dy = q + ROWS * D, *kv = dy + ROWS * D;
    bf16 *vectors = kv + STAGES * 2 * ROWS * D; /* block b is the left one of tile b, the right one before */
    uint16_t *band = (uint16_t *)(vectors + FAR_BLOCKS * ROWS * D);
    bool distances = FAR && t.distance.p;
    int low = FAR ? block_begin(t, begin + p.shift) / ROWS * ROWS : 0;
    int vector = t.span - begin + low - ROWS; /* the first row of block 0 */
    int end = min(p.tq, begin + ROWS), seen = t.causal ? max(0, min(p.tk, end + p.shift)) : p.tk;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D, row = p.qrow + begin;
    auto copy_vectors = [&](int b) {
        vectors_copy<D, THREADS>(vectors + b % 3 * ROWS * D, t, p.head, vector + b * ROWS);
    };
    auto copy_keys = [&](int from, int stage) {
        bf16 *k = kv + stage * 2 * ROWS * D;
        if (from < seen) {
            if (distances) copy_vectors((from - low) / ROWS + 1);
            slabs_copy<D, ROWS, THREADS>(k, t.k, p.krow + from, kv_column, p.tk - from);
            slabs_copy<D, ROWS, THREADS>(k + ROWS * D, t.v, p.krow + from, kv_column, p.tk - from);
        }
        copy_commit();
    };
    slabs_copy<D, ROWS, THREADS>(q, t.q, row, column, p.tq - begin);
    slabs_copy<D, ROWS, THREADS>(dy, g.dy, row, column, p.tq - begin);
    if (FAR) {
        if (distances) copy_vectors(0);
        copy_commit();
    }
    copy_keys(low, 0);
    if (AHEAD > 1) copy_keys(low + ROWS, 1);
    two_rows r = rows_of(t, kept, p, a);
    constexpr bool HOLDS = FAR && D <= 64; /* else registers would be too few */
    uint32_t held_q[HOLDS ? D / 16 : 1][4], held_dy[HOLDS ? D / 16 : 1][4];
    auto score_q = [&](float to[8][4], const bf16 *right) {
        if constexpr (HOLDS)
            group_scores<D>(to, held_q, slabs_at<D, false>(right, 0, ROWS), ROWS);
        else
            group_scores<D>(to, slabs_at<D, false>(q, 0, ROWS), ROWS, slabs_at<D, false>(right, 0, ROWS),
                            ROWS);
    };
    auto score_dy = [&](float to[8][4], const bf16 *right) {
        if constexpr (HOLDS)
            group_scores<D>(to, held_dy, slabs_at<D, false>(right, 0, ROWS), ROWS);
        else
            group_scores<D>(to, slabs_at<D, false>(dy, 0, ROWS), ROWS, slabs_at<D, false>(right, 0, ROWS),
                            ROWS);
    };
    float dq[D / 8][4] = {};
    bf16 *save = FAR && part.bands
                     ? slice_bands(part, p.item, p.head, tile) + (size_t)(begin - low) / ROWS * ROWS * ROWS
                     : NULL;
    if (HOLDS || distances) {
        copy_wait<AHEAD>();
        copies_shown();
        __syncthreads();
    }
    if constexpr (HOLDS) group_hold<D>(held_q, q), group_hold<D>(held_dy, dy);
    if (distances) { /* the left side of the first tile */
        float m[8][4];
        score_q(m, vectors);
        group_wait<0>(m);
        band_clear(m);
        band_put(band, 0, m);
    }
    int b = 0; /* the left block */
    for (int from = low, stage = 0; from < seen; from += ROWS, stage = stage == STAGES - 1 ? 0 : stage + 1) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        copy_keys(from + AHEAD * ROWS, stage == 0 ? STAGES - 1 : stage - 1);
        const bf16 *k = kv + stage * 2 * ROWS * D, *v = k + ROWS * D;
        bool whole = from + ROWS <= p.tk && (!t.causal || from + ROWS - 1 <= begin + p.shift);
        float s[8][4], ds[8][4];
        uint32_t slopes[4][4];
        auto score = [&] {
            score_q(s, k);
            score_dy(ds, v);
        };
        if (distances) {
            float m[8][4];
            score_q(m, vectors + (b + 1) % 3 * ROWS * D);
            if (D <= 64) score(); /* registers for all three */
            group_wait<(D <= 64 ? 2 : 0)>(m);
            band_put(band, ~b & 1, m);
            __syncwarp();
        }
        if (D > 64 || !distances) score();
        group_wait<1>(s);
        band_view cells = {};
        if (distances) {
            cells = band_at(band, ~b & 1);
            band_add(s, cells);
        }
        if (!whole) group_hide(t, p, s, a, from);
        if (FAR && from < block_begin(t, begin + ROWS - 1 + p.shift)) hide_before(t, p, s, a, from);
        query_weights(t, s, r);
        group_wait<0>(ds);
        query_slopes<DROPS>(t, p, s, ds, from, r);
        group_left(slopes, ds);
        group_add<D>(dq, slopes, slabs_at<D, true>(k, 0, ROWS));
        if (distances) { /* the left block has all its gradients now */
            uint32_t more[4][4];
            band_slopes(ds, cells);
            __syncwarp();
            band_left(more, band, b & 1);
            if (save) band_save(save, band, b & 1), save -= ROWS * ROWS;
            group_add<D>(dq, more, slabs_at<D, true>(vectors + b % 3 * ROWS * D, 0, ROWS));
            b++;
        }
        group_wait<0>(dq);
    }
    copy_wait<0>();
    int real = p.tq - begin - own;
    if (real <= 0) return;
    put_rows<D>((bf16 *)g.dq.p + (row + own) * g.dq.stride + column, g.dq.stride, real, dq, t.scale, t.scale,
                !g.fresh_q);
}

template <int D, bool DROPS, bool FAR>
static void launch(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, void *bands)
{
    size_t stages = FAR ? (size_t)FAR_STAGES : stages_on(c);
    size_t room = (2 + stages * 2) * ROWS * D * sizeof(bf16) + (FAR ? band_room(D, 1) : 0);
    cudaFuncSetAttribute(long_queries<D, DROPS, FAR>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    slice s = {0, t->items, 0, t->heads, 0, (int)hd_blocks((size_t)t->longest_q, ROWS), 0, NULL};
    auto queries = [&] {
        unsigned units = (unsigned)(s.items * s.heads);
        if (FAR) units = (units + TOGETHER - 1) / TOGETHER * TOGETHER;
        long_queries<D, DROPS, FAR><<<units *(unsigned)s.tiles, THREADS, room, c->stream>>>(*t, *g, kept, s);
    };
    if (!bands) {
        queries();
        return;
    }
    s = {};
    while (hd_attend_bands_next(t, bands, &s)) {
        queries();
        hd_attend_bands_sum(c, t, g, bands, &s);
    }
}

template <int D>
static void launch_heads(hd_cuda *c, const attend_of *t, const attend_grads *g, const saved &kept,
                         void *bands)
{
    if (hd_attend_far(t))
        t->drops ? launch<D, true, true>(c, t, g, kept, bands) : launch<D, false, true>(c, t, g, kept, bands);
    else
        t->drops ? launch<D, true, false>(c, t, g, kept, NULL) : launch<D, false, false>(c, t, g, kept, NULL);
}

void hd_attend_long_queries(hd_cuda *c, const attend_of *t, const attend_grads *g, saved kept, void *bands)
{
    if (t->d == 32)
        launch_heads<32>(c, t, g, kept, bands);
    else if (t->d == 64)
        launch_heads<64>(c, t, g, kept, bands);
    else
        launch_heads<128>(c, t, g, kept, bands);
}
