/* Single queries of absorbed latent attention: all heads ask the same rows, whose first columns are the value
   as well. A block takes sixteen heads and a part of the keys (parts.cu), 64 rows at a time, which are read
   once: scores by warps of eight keys each, then values by warps of 64 columns each, both from shared memory.
   Easy to get wrong: rows have no fixed number of columns; there are zeros up to a multiple of 64. */
#include "backend/cuda/attend/tile.h"

enum { WARPS = 8, THREADS = WARPS * 32, HEADS = 16, KEYS = 64, COLUMNS = 64, STAGES = 2 };
enum { MOST_COLUMNS = 576, MOST_VALUES = WARPS * COLUMNS, SCORE_STRIDE = KEYS + 4 };

typedef struct rows_of { /* [16 or 64, wide], the pieces of eight of a row swapped as tile_at has it */
    bf16 *p;
    int wide;
} rows_of;

DEVICE bf16 *piece_at(const rows_of &x, int row, int piece)
{
    return x.p + row * x.wide + (piece ^ (row & 7)) * 8;
}

/* Starts the copy of `rows` rows of d columns; row_at says where row i begins, NULL: zeros. */
template <typename F> DEVICE void copy_rows(const rows_of &to, int rows, int d, const bf16 *any, F row_at)
{
    int pieces = to.wide / 8;
    for (int i = threadIdx.x; i < rows * pieces; i += THREADS) {
        int row = i / pieces, piece = i % pieces;
        const bf16 *from = piece * 8 < d ? row_at(row) : NULL;
        copy16(piece_at(to, row, piece), from ? from + piece * 8 : any, from != NULL);
    }
}

/* s = the warp's scores [16 heads, 8 keys]. */
DEVICE void multiply_scores(float s[4], const rows_of &q, const rows_of &k, int key)
{
    int lane = threadIdx.x % 32, which = lane / 8, row = lane % 8;
    s[0] = s[1] = s[2] = s[3] = 0;
#pragma unroll 3
    for (int c = 0; c < k.wide / 8; c += 4) { /* pieces: 32 columns at a time */
        uint32_t a[4], more[4], b[4];
        load_matrices(b, piece_at(k, key + row, c + which));
        load_matrices(a, piece_at(q, row + (which & 1) * 8, c + (which >> 1)));
        load_matrices(more, piece_at(q, row + (which & 1) * 8, c + 2 + (which >> 1)));
        multiply(s, a, b[0], b[1]);
        multiply(s, more, b[2], b[3]);
    }
}

/* The lane's two rows of heads. */
typedef struct running {
    float top[2], sum[2];
} running;

/* Weights [16 heads, 64 keys] from scores in powers of two, as the left side of products; `out` shrinks where
   a maximum grew. */
DEVICE void soften(uint32_t w[4][4], const float *scores, running &r, float out[COLUMNS / 8][4])
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float *row = scores + (lane / 4 + half * 8) * SCORE_STRIDE + lane % 4 * 2;
        float2 s[KEYS / 8];
        float most = r.top[half];
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++) {
            s[n] = *(const float2 *)(row + n * 8);
            most = fmaxf(most, fmaxf(s[n].x, s[n].y));
        }
        most = quad_max(most);
        float less = most == -INFINITY ? 0 : most, shrink = power_of_two(r.top[half] - less);
        r.top[half] = most, r.sum[half] *= shrink;
#pragma unroll
        for (int n = 0; n < COLUMNS / 8; n++) out[n][half * 2] *= shrink, out[n][half * 2 + 1] *= shrink;
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++) {
            float even = power_of_two(s[n].x - less), odd = power_of_two(s[n].y - less);
            r.sum[half] += even + odd;
            w[n / 2][n % 2 * 2 + half] = pack2(even, odd);
        }
    }
}

static __global__ void __launch_bounds__(THREADS, 1)
    latent(const __grid_constant__ attend_of t, const attend_parts parts, int wide)
{
    extern __shared__ __align__(128) char attend_room[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32,
        heads = min(HEADS, t.heads - (int)blockIdx.y * HEADS);
    place p = place_at(t, (int)blockIdx.z, (int)blockIdx.y * HEADS);
    int low = first_key(t, p.tk - 1), lowest = low / KEYS * KEYS;
    int keys = part_keys(parts, max(0, p.tk - lowest)), begin = lowest + (int)blockIdx.x * keys;
    int end = min(p.tk, begin + keys);
    if (!p.tq || begin >= end) return;
    rows_of q = {(bf16 *)attend_room, wide}, tiles = {q.p + HEADS * wide, wide};
    float *scores = (float *)(tiles.p + STAGES * KEYS * wide);
    const bf16 *asks = (const bf16 *)t.q.p + p.qrow * t.q.stride + (size_t)p.head * t.d;
    const bf16 *asked = (const bf16 *)t.k.p;
    auto copy_tile = [&](int from, int stage) {
        rows_of to = {tiles.p + stage * KEYS * wide, wide};
        if (from < end)
            copy_rows(to, KEYS, t.d, asked, [&](int i) -> const bf16 * {
                return from + i < end ? asked + key_row(p, from + i) * t.k.stride : NULL;
            });
        copy_commit();
    };
    copy_rows(q, HEADS, t.d, asks, [&](int i) -> const bf16 * { return i < heads ? asks + i * t.d : NULL; });
    copy_tile(begin, 0);
    float out[COLUMNS / 8][4] = {};
    running r = {{-INFINITY, -INFINITY}, {0, 0}};
    for (int from = begin, stage = 0; from < end; from += KEYS, stage ^= 1) {
        copy_wait<0>();
        __syncthreads(); /* also: nobody reads the tile before this one or its scores any more */
        copy_tile(from + KEYS, stage ^ 1);
        rows_of k = {tiles.p + stage * KEYS * wide, wide};
        float s[4];
        multiply_scores(s, q, k, warp * 8);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int j = from + warp * 8 + lane % 4 * 2;
            float2 x;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float z = s[half * 2 + i] * t.scale;
                if (t.cap > 0) z = t.cap * tanhf(z / t.cap);
                (i ? x.y : x.x) = j + i < end && j + i >= low ? z * LOG2_E : -INFINITY;
            }
            *(float2 *)(scores + (lane / 4 + half * 8) * SCORE_STRIDE + warp * 8 + lane % 4 * 2) = x;
        }
        __syncthreads();
        uint32_t w[KEYS / 16][4];
        soften(w, scores, r, out);
        if (warp * COLUMNS >= t.dv) continue;
#pragma unroll
        for (int i = 0; i < KEYS / 16; i++)
#pragma unroll
            for (int n = 0; n < COLUMNS; n += 16) {
                uint32_t b[4];
                load_matrices_turned(b, piece_at(k, i * 16 + lane % 8 + (lane / 8 & 1) * 8,
                                                 (warp * COLUMNS + n) / 8 + lane / 16));
                multiply(out[n / 8], w[i], b[0], b[1]);
                multiply(out[n / 8 + 1], w[i], b[2], b[3]);
            }
    }
    copy_wait<0>();
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int head = lane / 4 + half * 8;
        float sum = quad_sum(r.sum[half]);
        if (head >= heads) continue;
        p.head = (int)blockIdx.y * HEADS + head;
        float *to = part_at(t, parts, p, (int)blockIdx.x);
        if (!warp && lane % 4 == 0) to[t.dv] = r.top[half] * LN_2, to[t.dv + 1] = sum;
#pragma unroll
        for (int n = 0; n < COLUMNS / 8; n++) {
            int column = warp * COLUMNS + n * 8 + lane % 4 * 2;
            if (column < t.dv) *(float2 *)(to + column) = make_float2(out[n][half * 2], out[n][half * 2 + 1]);
        }
    }
}

bool hd_attend_latent(hd_cuda *c, const attend_of *t, const hd_attend_args *a)
{
    const hd_tensor *const all[] = {a->q, a->k, a->v};
    if (t->group != t->heads || t->heads < 2 || t->v.p != t->k.p || t->v.stride != t->k.stride || t->drops ||
        hd_attend_far(t) || t->d % 8 || t->dv % 8 || t->dv > t->d || t->d > MOST_COLUMNS ||
        t->dv > MOST_VALUES)
        return false;
    for (int i = 0; i < 3; i++)
        if (all[i]->dtype != HD_BF16 || !by_eights(all[i])) return false;
    int tiles = (t->heads + HEADS - 1) / HEADS, wide = (t->d + 63) / 64 * 64, most = 0;
    size_t room =
        (size_t)(HEADS + STAGES * KEYS) * wide * sizeof(bf16) + (size_t)HEADS * SCORE_STRIDE * sizeof(float);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, c->device);
    if (room > (size_t)most) return false;
    attend_parts parts = hd_attend_parts(c, t, 4 * t->items * tiles, MOST_PARTS, KEYS);
    parts.to = (float *)hd_cuda_scratch(c, hd_attend_parts_bytes(t, &parts));
    if (!parts.to) return false;
    cudaFuncSetAttribute(latent, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
    dim3 blocks((unsigned)parts.count, (unsigned)tiles, (unsigned)t->items);
    latent<<<blocks, THREADS, room, c->stream>>>(*t, parts, wide);
    hd_attend_join(c, t, &parts, mat_of(a->y), mat_of(a->lse));
    return true;
}
