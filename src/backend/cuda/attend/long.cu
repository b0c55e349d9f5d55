/* Attention of long items, forward: a block takes 64 queries of one head for each of its two warpgroups and
   walks over the keys in tiles of 64, the next ones on their way while one is used; the softmax is kept as
   running maximum and sum. With vectors of distances each group keeps a band (band.h); the second group is
   one block of vectors behind the first. Easy to get wrong: a group that sees nothing of a tile must still
   meet the others at the barrier, and all threads of a group must take the same way to a product. */
#include "backend/cuda/attend/band.h"

enum { GROUPS = 2, THREADS = GROUPS * GROUP, QUERIES = GROUPS * GROUP_ROWS };
enum { KEYS = GROUP_ROWS, TILES = KEYS / 16 };

/* A maximum is only renewed when scores pass it by this many powers of two: that is rare, and sums bear it.
 */
static const float SLACK = 8;

/* A lane's two rows of queries: a score not far below the largest so far, in powers of two, and the sum; keys
   of the dropout draws. */
typedef struct running {
    float top[2], sum[2];
    uint64_t key[2];
} running;

/* Turns a tile's scores into weights, as the left side of the next product; `out` shrinks where a maximum
 * grew. */
template <int D, bool DROPS>
DEVICE void soften(const attend_of &t, const place &p, float s[2 * TILES][4], uint32_t w[TILES][4],
                   float out[D / 8][4], running &r, int from)
{
    float c = t.scale * LOG2_E;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int x = half * 2;
        float most = -INFINITY;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++) most = fmaxf(most, fmaxf(s[n][x], s[n][x + 1]));
        most = quad_max(most) * c;
        if (__any_sync(FULL_WARP, most > r.top[half] + SLACK)) {
            most = fmaxf(r.top[half], most);
            float shrink = most == -INFINITY ? 0 : power_of_two(r.top[half] - most);
            r.top[half] = most, r.sum[half] *= shrink;
#pragma unroll
            for (int n = 0; n < D / 8; n++) out[n][x] *= shrink, out[n][x + 1] *= shrink;
        }
        float less = r.top[half] == -INFINITY ? 0 : r.top[half];
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
            w[n / 2][n % 2 * 2 + half] = pack2(even, odd);
        }
    }
}

/* FAR: with vectors of distances or local blocks. */
template <int D, bool DROPS, bool FAR>
static __global__ void __launch_bounds__(THREADS, D <= 64 ? 2 : 1)
    long_forward(const __grid_constant__ attend_of t, const mat y, const mat lse)
{
    constexpr int STAGES = FAR ? (int)FAR_STAGES : (int)GROUP_STAGES, AHEAD = STAGES - 1;
    extern __shared__ __align__(1024) char attend_room[];
    int heads = t.heads, tiles = (t.longest_q + QUERIES - 1) / QUERIES, me = threadIdx.x;
    int tile = tiles - 1 - (int)(blockIdx.x % tiles), which = (int)(blockIdx.x / tiles); /* long ones first */
    place p = place_at(t, which / heads, which % heads);
    int begin = tile * QUERIES, mine = me / GROUP * GROUP_ROWS, first = begin + mine; /* of the group */
    int row = first + me % GROUP / 32 * 16, a = row + me % 32 / 4;                    /* warp's, lane's */
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *kv = q + QUERIES * D, *vectors = kv + STAGES * 2 * KEYS * D;
    int group = me / GROUP, lowest = FAR ? block_begin(t, begin + p.shift) / KEYS * KEYS : 0;
    uint16_t *band = (uint16_t *)(vectors + FAR_BLOCKS * KEYS * D) + group * BAND_CELLS;
    bool distances = FAR && t.distance.p; /* block b of vectors is the right one of tile b - 2 + group */
    int vector = t.span - (begin + p.shift) + lowest - 2 * KEYS;
    int end = min(p.tq, begin + QUERIES), seen = t.causal ? max(0, min(p.tk, end + p.shift)) : p.tk;
    size_t column = (size_t)p.head * D, kv_column = (size_t)p.group * D;
    auto copy_vectors = [&](int b, int slot) {
        vectors_copy<D, THREADS>(vectors + slot * KEYS * D, t, p.head, vector + b * KEYS);
    };
    auto copy_keys = [&](int from, int stage) {
        bf16 *k = kv + stage * 2 * KEYS * D;
        if (from < seen) {
            slabs_copy<D, KEYS, THREADS>(k, t.k, p.krow + from, kv_column, p.tk - from);
            slabs_copy<D, KEYS, THREADS>(k + KEYS * D, t.v, p.krow + from, kv_column, p.tk - from);
        }
        copy_commit();
    };
    slabs_copy<D, QUERIES, THREADS>(q, t.q, p.qrow + begin, column, p.tq - begin);
    if (distances) {
        copy_vectors(0, 0), copy_vectors(1, 1);
        copy_commit();
        copy_vectors(2, 2);
    }
    copy_keys(lowest, 0);
    if (AHEAD > 1) copy_keys(lowest + KEYS, 1);
    running r = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
    if (DROPS) draw_keys(t.draw, p.qrow + row, p.tq - row, &r.key[0], &r.key[1]);
    group_matrix left = slabs_at<D, false>(q, mine, QUERIES);
    float out[D / 8][4] = {};
    constexpr bool HOLDS = FAR && D <= 64 && !DROPS; /* else registers would be too few */
    uint32_t held[HOLDS ? D / 16 : 1][4];
    auto score = [&](float to[8][4], const bf16 *right, bool more) {
        if constexpr (HOLDS)
            group_scores<D>(to, held, slabs_at<D, false>(right, 0, KEYS), KEYS, more);
        else
            group_scores<D>(to, left, QUERIES, slabs_at<D, false>(right, 0, KEYS), KEYS, more);
    };
    if (distances) { /* the left side of the first tile */
        float m[8][4];
        copy_wait<AHEAD>();
        copies_shown();
        __syncthreads();
        if constexpr (HOLDS) group_hold<D>(held, q + mine * D);
        score(m, vectors + (1 - group) * KEYS * D, false);
        group_wait<0>(m);
        band_put(band, 1 - group, m);
    }
    for (int from = lowest, stage = 0, tile_at_hand = 0; from < seen;
         from += KEYS, stage = stage == STAGES - 1 ? 0 : stage + 1, tile_at_hand++) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        if (distances && from + KEYS < seen) copy_vectors(tile_at_hand + 3, tile_at_hand % 3);
        copy_keys(from + AHEAD * KEYS, stage == 0 ? STAGES - 1 : stage - 1);
        if (first >= p.tq || (t.causal && from > first + GROUP_ROWS - 1 + p.shift)) continue;
        const bf16 *k = kv + stage * 2 * KEYS * D, *v = k + KEYS * D;
        float s[2 * TILES][4];
        uint32_t w[TILES][4];
        int b = tile_at_hand + 2 - group; /* the right block */
        if (distances) { /* one product after the other: registers for both would be too many */
            score(s, vectors + b % 3 * KEYS * D, false);
            group_wait<0>(s);
            band_put(band, b & 1, s);
            __syncwarp();
            band_get(s, band_at(band, b & 1)); /* scores are added to it */
            score(s, k, true);
        } else
            group_scores<D>(s, left, QUERIES, slabs_at<D, false>(k, 0, KEYS), KEYS);
        group_wait<0>(s);
        if (FAR && from < block_begin(t, first + GROUP_ROWS - 1 + p.shift)) hide_before(t, p, s, a, from);
        if (from + KEYS > p.tk || (t.causal && from + KEYS - 1 > row + p.shift)) group_hide(t, p, s, a, from);
        soften<D, DROPS>(t, p, s, w, out, r, from);
        group_add<D>(out, w, slabs_at<D, true>(v, 0, KEYS));
        group_wait<0>(out);
    }
    copy_wait<0>();
    if (row >= p.tq) return;
    float more = DROPS ? t.draw.scale : 1, low = quad_sum(r.sum[0]), high = quad_sum(r.sum[1]);
    put_rows<D>((bf16 *)y.p + (p.qrow + row) * y.stride + column, y.stride, p.tq - row, out,
                low == 0 ? 0 : more / low, high == 0 ? 0 : more / high, false);
    if (lse.p) put_logarithms(lse, p, a, r.top[0], low, r.top[1], high);
}

static size_t room_of(const hd_cuda *c, const attend_of *t)
{
    size_t stages = hd_attend_far(t) ? (size_t)FAR_STAGES : stages_on(c);
    size_t tiles = (QUERIES + stages * 2 * KEYS) * (size_t)t->d * sizeof(bf16);
    return tiles + (hd_attend_far(t) ? band_room(t->d, GROUPS) : 0);
}

bool hd_attend_far_fits(const hd_cuda *c, const attend_of *t)
{
    int most = 0;
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, c->device);
    return t->causal && room_of(c, t) <= (size_t)most;
}

template <int D, bool DROPS, bool FAR>
static void launch(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    size_t room = room_of(c, t);
    unsigned blocks = hd_blocks((size_t)t->longest_q, QUERIES) * (unsigned)(t->items * t->heads);
    cudaFuncSetAttribute(long_forward<D, DROPS, FAR>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_forward<D, DROPS, FAR><<<blocks, THREADS, room, c->stream>>>(*t, y, lse);
}

template <int D> static void launch_heads(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    if (hd_attend_far(t))
        t->drops ? launch<D, true, true>(c, t, y, lse) : launch<D, false, true>(c, t, y, lse);
    else
        t->drops ? launch<D, true, false>(c, t, y, lse) : launch<D, false, false>(c, t, y, lse);
}

void hd_attend_long(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    if (t->d == 32)
        launch_heads<32>(c, t, y, lse);
    else if (t->d == 64)
        launch_heads<64>(c, t, y, lse);
    else
        launch_heads<128>(c, t, y, lse);
}
