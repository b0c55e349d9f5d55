/* Attention backward: chooses the kernels, and those that can do everything: weights are recomputed from the
   scores and the saved logarithm; every number has one owner that sums in a fixed order. Easy to get wrong:
   dq, dk and dv may be one tensor, so each is a kernel of its own. */
#include "backend/cuda/attend/back.h"

enum { WARPS = 4, WIDE = 8 }; /* rows to a block; columns to a lane */

/* What one warp works on: a row's q and dy (or k and v) as floats. */
DEVICE float *warp_room(const attend_of &t)
{
    extern __shared__ __align__(128) char attend_room[];
    return (float *)attend_room + (size_t)(threadIdx.x / 32) * (t.d + t.dv);
}

DEVICE void fetch_row(float *to, const mat &m, size_t row, size_t column, int n)
{
    for (int c = threadIdx.x % 32; c < n; c += 32) to[c] = mat_get(m, row, column + c);
    __syncwarp();
}

/* A query's gradient: first delta = sum of weight * gradient of the weight, kept for the keys' turn; then
   what the query owns: dq, its rows of dragged and dcenter. */
static __global__ void query_back(const __grid_constant__ attend_of t, const __grid_constant__ attend_edges e,
                                  const __grid_constant__ back_of g)
{
    int lane = threadIdx.x % 32;
    size_t unit = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, each = (size_t)t.longest_q * t.heads;
    if (unit >= each * t.items) return;
    int a = (int)(unit % t.longest_q);
    place p = place_at(t, (int)(unit / each), (int)(unit % each / t.longest_q));
    if (a >= p.tq) return;
    size_t row = p.qrow + a, at = row * t.heads + p.head;
    float *q = warp_room(t), *dy = q + t.d;
    fetch_row(q, t.q, row, (size_t)p.head * t.d, t.d);
    fetch_row(dy, g.dy, row, (size_t)p.head * t.dv, t.dv);
    reach sees = sees_of(t, p, a);
    one_query o = {};
    o.key = t.drops ? draw_key(t.draw, (uint32_t)row) : 0;
    o.lse = mat_get(g.lse, row, p.head), o.gate = t.gate.p ? mat_get(t.gate, 0, p.head) : 1;
    float sum = 0;
    for (int j = sees.lo + lane; j < sees.hi; j += 32) {
        float dw, slope, w = pair_weight(t, e, p, a, j, o, q, dy, &dw, &slope);
        sum = fmaf(w, dw, sum);
    }
    o.delta = warp_sum(sum);
    if (!lane) {
        g.delta[at] = o.delta;
        if (t.drops && !p.head) g.key[row] = o.key;
    }
    if (!g.dq.p && !g.dcenter.p && !g.dragged.p) return;
    float center = g.dcenter.p ? center_of(t, p, a) : 0, pull = 0;
    for (int from = 0; from < t.d; from += 32 * WIDE) {
        float acc[WIDE] = {};
        for (int first = sees.lo; first < sees.hi; first += 32) {
            int j = first + lane, n = min(32, sees.hi - first);
            float ds = 0;
            if (lane < n) {
                float dw, slope, w = pair_weight(t, e, p, a, j, o, q, dy, &dw, &slope);
                ds = w * (dw - o.delta) * o.gate * slope;
                if (!from) {
                    pull = fmaf(ds, (float)j - center, pull);
                    if (g.dragged.p)
                        mat_put_or_add(g.dragged, (size_t)t.ragged_begin[p.item] + (size_t)a * p.tk + j,
                                       p.head, ds, true);
                }
            }
            for (int i = 0; g.dq.p && i < n; i++) {
                float di = __shfl_sync(FULL_WARP, ds, i);
#pragma unroll
                for (int x = 0; x < WIDE; x++) {
                    int c = from + lane + 32 * x;
                    if (c >= t.d) continue;
                    float k = mat_get(t.k, p.krow + first + i, (size_t)p.group * t.d + c);
                    if (t.distance.p) k += mat_get(t.distance, 0, distance_at(t, p, a, first + i) + c);
                    acc[x] = fmaf(di, t.additive ? additive_slope(t, p.head, c, q[c] + k) : k, acc[x]);
                }
            }
        }
#pragma unroll
        for (int x = 0; x < WIDE; x++) {
            int c = from + lane + 32 * x;
            if (g.dq.p && c < t.d)
                mat_put_or_add(g.dq, row, (size_t)p.head * t.d + c, acc[x] * t.scale, !g.fresh_q);
        }
    }
    if (!g.dcenter.p) return;
    pull = t.sigma > 0 ? warp_sum(pull) / (t.sigma * t.sigma) : 0;
    if (lane) return;
    if (t.center.cols > 1)
        mat_put_or_add(g.dcenter, row, p.head, pull, true);
    else
        g.pull[at] = pull;
}

/* Adds what item `item` gives to the columns from .. of key row `row` of kv head `group`. */
static __device__ void add_item(const attend_of &t, const attend_edges &e, const back_of &g, int item,
                                int group, size_t row, bool values, const float *k, const float *v, int from,
                                float acc[WIDE])
{
    int lane = threadIdx.x % 32, columns = values ? t.dv : t.d;
    for (int head = group * t.group; head < (group + 1) * t.group; head++) {
        place p = place_at(t, item, head);
        int j = (int)(row - p.krow);
        float gate = t.gate.p ? mat_get(t.gate, 0, head) : 1;
        for (int first = 0; first < p.tq; first += 32) {
            int a = first + lane, n = min(32, p.tq - first);
            float w = 0;
            if (lane < n) {
                reach sees = sees_of(t, p, a);
                if (j >= sees.lo && j < sees.hi) {
                    size_t at = (p.qrow + a) * t.heads + head;
                    one_query o = {t.drops ? g.key[p.qrow + a] : 0, mat_get(g.lse, p.qrow + a, head), gate,
                                   g.delta[at]};
                    w = pair_of_key(t, e, p, a, j, o, k, v, g.dy, values);
                }
            }
            if (!__any_sync(FULL_WARP, w != 0)) continue;
            const mat &of = values ? g.dy : t.q;
            for (int i = 0; i < n; i++) {
                float wi = __shfl_sync(FULL_WARP, w, i);
#pragma unroll
                for (int x = 0; x < WIDE; x++) {
                    int c = from + lane + 32 * x;
                    if (c >= columns) continue;
                    float z = mat_get(of, p.qrow + first + i, (size_t)head * columns + c);
                    if (!values && t.additive) z = additive_slope(t, head, c, z + k[c]);
                    acc[x] = fmaf(wi, z, acc[x]);
                }
            }
        }
    }
}

/* dk or dv: a warp owns a key row of a kv head. Where items share rows it asks every item in order. */
static __global__ void key_back(const __grid_constant__ attend_of t, const __grid_constant__ attend_edges e,
                                const __grid_constant__ back_of g, bool values, bool shared)
{
    int lane = threadIdx.x % 32, kv_heads = t.heads / t.group, columns = values ? t.dv : t.d;
    size_t unit = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, each = shared ? t.k.rows : t.longest_k;
    if (unit >= each * kv_heads * (shared ? 1 : t.items)) return;
    int group = (int)(unit / each % kv_heads), item = (int)(unit / each / kv_heads);
    size_t row = unit % each;
    bool mine = shared;
    if (!shared) {
        if ((int)row >= t.klen[item]) return;
        row += (size_t)t.kbegin[item];
    } else {
        bool any = false;
        for (int i = lane; i < t.items; i += 32)
            any |= row >= (size_t)t.kbegin[i] && row < (size_t)t.kbegin[i] + t.klen[i];
        if (!__any_sync(FULL_WARP, any)) return;
    }
    float *k = warp_room(t), *v = k + t.d;
    fetch_row(k, t.k, row, (size_t)group * t.d, t.d);
    fetch_row(v, t.v, row, (size_t)group * t.dv, t.dv);
    const mat &to = values ? g.dv : g.dk;
    bool fresh = values ? g.fresh_v : g.fresh_k;
    for (int from = 0; from < columns; from += 32 * WIDE) {
        float acc[WIDE] = {};
        if (!mine) add_item(t, e, g, item, group, row, values, k, v, from, acc);
        for (int i = 0; mine && i < t.items; i++)
            if (row >= (size_t)t.kbegin[i] && row < (size_t)t.kbegin[i] + t.klen[i])
                add_item(t, e, g, i, group, row, values, k, v, from, acc);
#pragma unroll
        for (int x = 0; x < WIDE; x++) {
            int c = from + lane + 32 * x;
            if (c < columns)
                mat_put_or_add(to, row, (size_t)group * columns + c, acc[x] * (values ? 1 : t.scale), !fresh);
        }
    }
}

static size_t span_of(const hd_tensor *t)
{
    return hd_rows_of(t) ? ((hd_rows_of(t) - 1) * t->stride + hd_cols_of(t)) * hd_dtype_bytes(t->dtype) : 0;
}

/* Whether some number lies in both: then one kernel may not write them side by side. */
static bool may_share(const hd_tensor *a, const hd_tensor *b)
{
    if (!a || !b) return false;
    uintptr_t pa = (uintptr_t)a->data, pb = (uintptr_t)b->data;
    if (pa + span_of(a) <= pb || pb + span_of(b) <= pa) return false;
    if (a->stride != b->stride || a->dtype != b->dtype) return true;
    size_t bytes = hd_dtype_bytes(a->dtype), row = a->stride * bytes;
    size_t off =
        pb >= pa ? (pb - pa) % row : (row - (pa - pb) % row) % row; /* b's first column in a's rows */
    return off < hd_cols_of(a) * bytes || off + hd_cols_of(b) * bytes > row;
}

static hd_status back_any(hd_cuda *c, const attend_of *t, const attend_edges *e, const hd_attend_back_args *a)
{
    size_t rows = hd_rows_of(a->q), numbers = rows * t->heads;
    back_of g = {};
    back_plan plan = hd_attend_back_plan(t, a);
    size_t floats = (numbers * sizeof(float) + 255) / 256 * 256, keys = (rows * 8 + 255) / 256 * 256;
    size_t far = a->ddistance ? hd_attend_distance_bytes(t) : 0, shares = (plan.bytes + 255) / 256 * 256;
    char *room = (char *)hd_cuda_scratch(c, 2 * floats + keys + shares + far);
    if (!room) return HD_ENOMEM;
    g.delta = (float *)room, g.pull = (float *)(room + floats), g.key = (uint64_t *)(room + 2 * floats);
    g.part = (float *)(room + 2 * floats + keys);
    g.dq = mat_of(a->dq), g.dk = mat_of(a->dk), g.dv = mat_of(a->dv), g.dy = mat_of(a->dy);
    g.lse = mat_of(a->lse), g.dcenter = mat_of(a->dcenter), g.dragged = mat_of(a->dragged);
    g.fresh_q = a->fresh_q, g.fresh_k = a->fresh_k, g.fresh_v = a->fresh_v;
    size_t shared = (size_t)WARPS * (t->d + t->dv) * sizeof(float);
    if (shared > 48 * 1024) return hd_cuda_fail(c, "attend_back", "heads are too wide");
    if (hd_attend_single_fits(t) && !a->at->kseg->overlap) {
        if (!a->dadditive) g.part = NULL;
        hd_attend_single_back(c, t, &g, mat_of(a->dadditive));
        return hd_cuda_done(c, "attend_back");
    }
    size_t queries = (size_t)t->items * t->heads * t->longest_q;
    if (queries) query_back<<<hd_blocks(queries, WARPS), WARPS * 32, shared, c->stream>>>(*t, *e, g);
    bool overlap = a->at->kseg->overlap;
    size_t kv_heads = t->heads / t->group;
    size_t units = overlap ? hd_rows_of(a->k) * kv_heads : (size_t)t->items * t->longest_k * kv_heads;
    if (units && a->dk)
        key_back<<<hd_blocks(units, WARPS), WARPS * 32, shared, c->stream>>>(*t, *e, g, false, overlap);
    if (units && a->dv)
        key_back<<<hd_blocks(units, WARPS), WARPS * 32, shared, c->stream>>>(*t, *e, g, true, overlap);
    hd_attend_back_shared(c, t, e, &g, &plan, a);
    if (a->ddistance && queries)
        hd_attend_back_distance(c, t, e, &g, (float *)(room + 2 * floats + keys + shares),
                                mat_of(a->ddistance));
    return hd_cuda_done(c, "attend_back");
}

extern "C" hd_status hd_cuda_attend_back(hd_backend *b, const hd_attend_back_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    attend_of t;
    attend_edges e = {};
    if (!hd_attend_describe(&t, &e, a->at, a->q, a->k, a->v))
        return hd_cuda_fail(c, "attend_back", "the relative table has too many buckets");
    if (!t.items || !t.heads || (!t.longest_q && !t.longest_k)) return HD_OK;
    const hd_tensor *const all[] = {a->dy, a->q, a->k, a->v, a->dq, a->dk, a->dv, a->y};
    bool fast = a->dq && a->dk && a->dv && !a->at->kseg->overlap && !may_share(a->dq, a->dk) &&
                !may_share(a->dk, a->dv) && !may_share(a->dq, a->dv) && t.longest_q && t.longest_k &&
                hd_attend_is_fast(&t, all, 8, a->lse);
    bool far = hd_attend_far(&t);
    bool small = hd_attend_is_short(&t);
    /* tiles of queries have the same distances in all items, and a head its own vectors */
    if (far && (a->at->qseg != a->at->kseg || t.group > 1)) fast = false;
    if (t.d == 128 && t.group > 1) small = false; /* its sums would not fit in registers */
    if (fast && !small && !hd_attend_long_fits(c, &t)) fast = false;
    /* tiles of queries would be empty but for one: boxes that look at many cells each */
    bool single = !small && hd_attend_single_fits(&t) && !a->at->kseg->overlap;
    if (!fast || single || (!small && !a->y)) return back_any(c, &t, &e, a);
    attend_grads g = {mat_of(a->dq),  mat_of(a->dk),        mat_of(a->dv), mat_of(a->dy), mat_of(a->y),
                      mat_of(a->lse), mat_of(a->ddistance), a->fresh_q,    a->fresh_k,    a->fresh_v};
    if (!small) return hd_attend_long_back(c, &t, &g, a->at);
    hd_attend_short_back(c, &t, &g);
    return hd_cuda_done(c, "attend_back");
}
