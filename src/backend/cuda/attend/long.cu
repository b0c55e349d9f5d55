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
template <int DV, int WITH>
DEVICE void soften(const attend_of &t, const place &p, float s[2 * TILES][4], uint32_t w[TILES][4],
                   float out[DV / 8][4], running &r, int from)
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
            for (int n = 0; n < DV / 8; n++) out[n][x] *= shrink, out[n][x + 1] *= shrink;
        }
        float less = r.top[half] == -INFINITY ? 0 : r.top[half];
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++) {
            float even = power_of_two(fmaf(s[n][x], c, -less)),
                  odd = power_of_two(fmaf(s[n][x + 1], c, -less));
            r.sum[half] += even, r.sum[half] += odd;
            if (WITH & DROPS) {
                int j = from + n * 8 + threadIdx.x % 4 * 2;
                uint32_t kept = kept_pair(t.draw, r.key[half], draw_column(p.head, j));
                even = kept & 1 ? even : 0, odd = kept & 2 ? odd : 0;
            }
            w[n / 2][n % 2 * 2 + half] = pack2(even, odd);
        }
    }
}

/* Tiles of keys and values at a time: what 227 KiB have room for. */
template <int D, int WITH> constexpr int MOST_STAGES = WITH &FAR ? (int)FAR_STAGES : D > 192 ? 2 : 3;

template <int D, int DV, int WITH>
static __global__ void __launch_bounds__(THREADS, D <= 64 ? 2 : 1)
    long_forward(const __grid_constant__ attend_of t, const mat y, const mat lse)
{
    constexpr int MOST = MOST_STAGES<D, WITH>, STAGES = MOST < (int)GROUP_STAGES ? MOST : (int)GROUP_STAGES;
    constexpr int AHEAD = STAGES - 1, PAIR = KEYS * (D + DV);
    constexpr bool DISTANCES = WITH & FAR, BENDS = WITH & MORE;
    extern __shared__ __align__(1024) char attend_room[];
    int heads = t.heads, tiles = (t.longest_q + QUERIES - 1) / QUERIES, me = threadIdx.x;
    int tile = tiles - 1 - (int)(blockIdx.x % tiles), which = (int)(blockIdx.x / tiles); /* long ones first */
    place p = place_at(t, which / heads, which % heads);
    int begin = tile * QUERIES, mine = me / GROUP * GROUP_ROWS, first = begin + mine; /* of the group */
    int row = first + me % GROUP / 32 * 16, a = row + me % 32 / 4;                    /* warp's, lane's */
    if (begin >= p.tq) return;
    bf16 *q = (bf16 *)attend_room, *kv = q + QUERIES * D, *vectors = kv + STAGES * PAIR;
    int end = min(p.tq, begin + QUERIES), d = BENDS ? t.d : D, dv = BENDS ? t.dv : DV;
    reach see = keys_of<WITH>(t, p, begin + p.shift, end - 1 + p.shift);
    int group = me / GROUP, lowest = see.lo / KEYS * KEYS, seen = see.hi;
    uint16_t *band = (uint16_t *)(vectors + FAR_BLOCKS * KEYS * D) + group * BAND_CELLS;
    int vector = t.span - (begin + p.shift) + lowest - 2 * KEYS; /* block b is the right one of tile b - 2 +
                                                                    group */
    size_t column = (size_t)p.head * d, k_column = (size_t)p.group * d, v_column = (size_t)p.group * dv;
    auto copy_vectors = [&](int b, int slot) {
        if constexpr (DISTANCES)
            vectors_copy<D, THREADS>(vectors + slot * KEYS * D, t, p.head, vector + b * KEYS);
    };
    auto copy_keys = [&](int from, int stage) {
        bf16 *k = kv + stage * PAIR;
        if (from < seen) {
            slabs_copy<D, KEYS, THREADS>(k, t.k, p.krow + from, k_column, p.tk - from, d);
            slabs_copy<DV, KEYS, THREADS>(k + KEYS * D, t.v, p.krow + from, v_column, p.tk - from, dv);
        }
        copy_commit();
    };
    slabs_copy<D, QUERIES, THREADS>(q, t.q, p.qrow + begin, column, p.tq - begin, d);
    if (DISTANCES) {
        copy_vectors(0, 0), copy_vectors(1, 1);
        copy_commit();
        copy_vectors(2, 2);
    }
    copy_keys(lowest, 0);
    if (AHEAD > 1) copy_keys(lowest + KEYS, 1);
    running r = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
    if (WITH & DROPS) draw_keys(t.draw, p.qrow + row, p.tq - row, &r.key[0], &r.key[1]);
    group_matrix left = slabs_at<D, false>(q, mine, QUERIES);
    float out[DV / 8][4] = {};
    constexpr bool HOLDS = DISTANCES && D <= 64 && !(WITH & DROPS); /* else registers would be too few */
    uint32_t held[HOLDS ? D / 16 : 1][4];
    auto score = [&](float to[8][4], const bf16 *right, bool more) {
        if constexpr (HOLDS)
            group_scores<D>(to, held, slabs_at<D, false>(right, 0, KEYS), KEYS, more);
        else
            group_scores<D>(to, left, QUERIES, slabs_at<D, false>(right, 0, KEYS), KEYS, more);
    };
    if (DISTANCES) { /* the left side of the first tile */
        float m[8][4];
        copy_wait<AHEAD>();
        copies_shown();
        __syncthreads();
        if constexpr (HOLDS) group_hold<D>(held, q + mine * D);
        score(m, vectors + (1 - group) * KEYS * D, false);
        group_wait<0>(m);
        band_put(band, 1 - group, m);
    }
    /* before the loop, where they would be made again and again: keys that all queries of a warp see, and the
       first that one of the group does */
    reach all = keys_of<WITH>(t, p, first + GROUP_ROWS - 1 + p.shift, row + p.shift);
    int some = BENDS ? first_key(t, first + p.shift) : 0;
    for (int from = lowest, stage = 0, tile_at_hand = 0; from < seen;
         from += KEYS, stage = stage == STAGES - 1 ? 0 : stage + 1, tile_at_hand++) {
        copy_wait<AHEAD - 1>();
        copies_shown();
        __syncthreads(); /* also: nobody reads the tile before this one any more */
        if (DISTANCES && from + KEYS < seen) copy_vectors(tile_at_hand + 3, tile_at_hand % 3);
        copy_keys(from + AHEAD * KEYS, stage == 0 ? STAGES - 1 : stage - 1);
        if (first >= p.tq || (t.causal && from > first + GROUP_ROWS - 1 + p.shift)) continue;
        if (BENDS && from + KEYS <= some) continue;
        const bf16 *k = kv + stage * PAIR, *v = k + KEYS * D;
        float s[2 * TILES][4];
        uint32_t w[TILES][4];
        int b = tile_at_hand + 2 - group; /* the right block */
        if (DISTANCES) { /* one product after the other: registers for both would be too many */
            score(s, vectors + b % 3 * KEYS * D, false);
            group_wait<0>(s);
            band_put(band, b & 1, s);
            __syncwarp();
            band_get(s, band_at(band, b & 1)); /* scores are added to it */
            score(s, k, true);
        } else
            group_scores<D>(s, left, QUERIES, slabs_at<D, false>(k, 0, KEYS), KEYS);
        group_wait<0>(s);
        if (BENDS && t.cap > 0) group_cap(t, s);
        bool whole = from + KEYS <= p.tk && (!t.causal || from + KEYS - 1 <= row + p.shift);
        if (DISTANCES && from < block_begin(t, first + GROUP_ROWS - 1 + p.shift)) whole = false;
        if (BENDS) whole = from >= all.lo && from + KEYS <= all.hi;
        if (!whole) group_hide<WITH>(t, p, s, a, from);
        soften<DV, WITH>(t, p, s, w, out, r, from);
        group_add<DV>(out, w, slabs_at<DV, true>(v, 0, KEYS));
        group_wait<0>(out);
    }
    copy_wait<0>();
    if (row >= p.tq) return;
    float more = WITH & DROPS ? t.draw.scale : 1, low = quad_sum(r.sum[0]), high = quad_sum(r.sum[1]);
    put_rows<DV>((bf16 *)y.p + (p.qrow + row) * y.stride + (size_t)p.head * dv, y.stride, p.tq - row, out,
                 low == 0 ? 0 : more / low, high == 0 ? 0 : more / high, false, dv);
    if (lse.p) put_logarithms(lse, p, a, r.top[0], low, r.top[1], high);
}

static size_t room_of(const hd_cuda *c, const attend_of *t)
{
    attend_size size = hd_attend_size(t);
    bool far = hd_attend_far(t);
    size_t stages = stages_on(c, far ? (int)FAR_STAGES : size.d > 192 ? 2 : 3);
    size_t numbers = QUERIES * (size_t)size.d + stages * KEYS * (size_t)(size.d + size.dv);
    return numbers * sizeof(bf16) + (far ? band_room(size.d, GROUPS) : 0);
}

bool hd_attend_long_fits(const hd_cuda *c, const attend_of *t)
{
    int most = 0;
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, c->device);
    return room_of(c, t) <= (size_t)most && hd_attend_long_back_room(c, t) <= (size_t)most;
}

template <int D, int DV, int WITH>
static void launch(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    size_t room = room_of(c, t);
    unsigned blocks = hd_blocks((size_t)t->longest_q, QUERIES) * (unsigned)(t->items * t->heads);
    cudaFuncSetAttribute(long_forward<D, DV, WITH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    long_forward<D, DV, WITH><<<blocks, THREADS, room, c->stream>>>(*t, y, lse);
}

template <int D, int DV> static void launch_size(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    if constexpr (ATTEND_WHOLE(D, DV)) {
        if (hd_attend_far(t))
            return t->drops ? launch<D, DV, FAR | DROPS>(c, t, y, lse) : launch<D, DV, FAR>(c, t, y, lse);
        if (t->drops && !hd_attend_more(t)) return launch<D, DV, DROPS>(c, t, y, lse);
    }
    if (!hd_attend_more(t)) return launch<D, DV, PLAIN>(c, t, y, lse);
    t->drops ? launch<D, DV, MORE | DROPS>(c, t, y, lse) : launch<D, DV, MORE>(c, t, y, lse);
}

void hd_attend_long(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    attend_size size = hd_attend_size(t);
#define X(D, DV) \
    if (size.d == D && size.dv == DV) return launch_size<D, DV>(c, t, y, lse);
    ATTEND_SIZES(X)
#undef X
}
