/* Attention with vectors of distances: their copy in bf16, and their gradient where any score may be beside
   them. A warp takes one vector of one head and the queries of some tiles, for which it has one key each, and
   leaves its share in scratch; the shares are added in a fixed order. Easy to get wrong: the first vector
   serves all keys that are farther, so its warp walks over those. */
#include "backend/cuda/attend/back.h"

enum { WARPS = 4, WIDE = 8, TILE = 32, PARTS = 8, THREADS = 256 }; /* WIDE: columns to a lane */

static __global__ void narrow(bf16 *to, const mat from)
{
    for (size_t r = blockIdx.x; r < (size_t)from.rows; r += gridDim.x)
        for (int c = (int)threadIdx.x; c < from.cols; c += (int)blockDim.x)
            to[r * (size_t)from.cols + c] = __float2bfloat16(mat_get(from, r, (size_t)c));
}

/* Whether the kernels can read what is there: bf16, each row at a boundary of eight numbers. */
static const void *near_of(const hd_tensor *t)
{
    const void *p = t->dtype == HD_BF16 ? t->data : t->prepared;
    return p && t->stride % 8 == 0 && (uintptr_t)p % 16 == 0 ? p : NULL;
}

size_t hd_attend_near_bytes(const hd_attention *at)
{
    const hd_tensor *t = at->distance;
    return !t || near_of(t) ? 0 : (hd_count_of(t) * sizeof(bf16) + 255) / 256 * 256;
}

void hd_attend_narrow(hd_cuda *c, attend_of *t, const hd_attention *at, void *room)
{
    if (!at->distance) return;
    const void *near = near_of(at->distance);
    if (!near) {
        unsigned blocks = min((unsigned)t->distance.rows, 4096u);
        narrow<<<blocks, THREADS, 0, c->stream>>>((bf16 *)room, t->distance);
        t->distance.stride = (size_t)t->distance.cols;
    }
    t->distance.p = near ? (void *)near : room, t->distance.small = true;
}

/* Vectors that occur, the last ones of a head, and parts of the queries. */
static int rows_of(const attend_of *t)
{
    return t->longest_k < t->span ? t->longest_k : t->span;
}
static int parts_of(const attend_of *t)
{
    int tiles = t->items * ((t->longest_q + TILE - 1) / TILE);
    return tiles < PARTS ? tiles : PARTS;
}

size_t hd_attend_distance_bytes(const attend_of *t)
{
    return (size_t)parts_of(t) * t->heads * rows_of(t) * t->d * sizeof(float);
}

/* The gradient of the score of query a and key j. */
static __device__ float slope(const attend_of &t, const attend_edges &e, const back_of &g, const place &p,
                              int a, int j)
{
    size_t row = p.qrow + a, q = (size_t)p.head * t.d, k = (size_t)p.group * t.d;
    float raw = distance_score(t, p, a, j, NULL), dw = 0;
    for (int c = 0; c < t.d; c++) raw = fmaf(mat_get(t.q, row, q + c), mat_get(t.k, p.krow + j, k + c), raw);
    for (int c = 0; c < t.dv; c++)
        dw = fmaf(mat_get(g.dy, row, (size_t)p.head * t.dv + c),
                  mat_get(t.v, p.krow + j, (size_t)p.group * t.dv + c), dw);
    if (t.drops) dw *= draw_mask(t.draw, g.key[row], draw_column(p.head, j));
    float w = expf(biased_score(t, e, p, a, j, raw) - mat_get(g.lse, row, p.head));
    return w * (dw - g.delta[row * t.heads + p.head]) * (t.gate.p ? mat_get(t.gate, 0, p.head) : 1);
}

/* part [parts, H, rows, D] */
static __global__ void distance_shares(const __grid_constant__ attend_of t,
                                       const __grid_constant__ attend_edges e,
                                       const __grid_constant__ back_of g, float *part, int rows, int parts)
{
    int lane = threadIdx.x % 32, tiles = (t.longest_q + TILE - 1) / TILE;
    size_t unit = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (unit >= (size_t)parts * t.heads * rows) return;
    int row = (int)(unit % rows), head = (int)(unit / rows % t.heads), which = (int)(unit / rows / t.heads);
    int far = rows - 1 - row; /* the distance */
    bool last = far == t.span - 1;
    for (int from = 0; from < t.d; from += 32 * WIDE) { /* once, unless heads are very wide */
        float acc[WIDE] = {};
        for (int tile = which; tile < t.items * tiles; tile += parts) {
            place p = place_at(t, tile / tiles, head);
            int first = tile % tiles * TILE, a = first + lane, n = min((int)TILE, p.tq - first);
            float ds = 0;
            if (lane < n) {
                reach sees = sees_of(t, p, a);
                int near = a + p.shift - far, lo = last ? sees.lo : max(near, sees.lo);
                for (int j = lo; j <= near && j < sees.hi; j++) ds += slope(t, e, g, p, a, j);
            }
            if (!__any_sync(FULL_WARP, ds != 0)) continue;
            for (int i = 0; i < n; i++) {
                float di = __shfl_sync(FULL_WARP, ds, i);
#pragma unroll
                for (int x = 0; x < WIDE; x++) {
                    int c = from + lane + 32 * x;
                    if (c < t.d)
                        acc[x] = fmaf(di, mat_get(t.q, p.qrow + first + i, (size_t)head * t.d + c), acc[x]);
                }
            }
        }
#pragma unroll
        for (int x = 0; x < WIDE; x++) {
            int c = from + lane + 32 * x;
            if (c < t.d) part[unit * t.d + c] = acc[x] * t.scale;
        }
    }
}

static __global__ void add_distances(const float *part, int parts, int rows, int heads, int span, mat to)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, all = (size_t)heads * rows * to.cols;
    if (i >= all) return;
    double sum = 0;
    for (int p = 0; p < parts; p++) sum += part[p * all + i];
    size_t row = i / to.cols, head = row / rows;
    mat_put_or_add(to, head * span + (span - rows) + row % rows, i % to.cols, (float)sum, true);
}

void hd_attend_back_distance(hd_cuda *c, const attend_of *t, const attend_edges *e, const back_of *g,
                             float *part, mat ddistance)
{
    int rows = rows_of(t), parts = parts_of(t);
    size_t units = (size_t)parts * t->heads * rows;
    if (!units) return;
    distance_shares<<<hd_blocks(units, WARPS), WARPS * 32, 0, c->stream>>>(*t, *e, *g, part, rows, parts);
    add_distances<<<hd_blocks((size_t)t->heads * rows * t->d, THREADS), THREADS, 0, c->stream>>>(
        part, parts, rows, t->heads, t->span, ddistance);
}
