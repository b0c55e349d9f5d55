/* Attention forward: chooses the kernel, and the one that can do everything: a warp per query and head that
   walks over the keys once, one key per lane. Easy to get wrong: a query that sees nothing has weights 0 and
   the logarithm INFINITY. */
#include "backend/cuda/attend/attend.h"

enum { WARPS = 4, WIDE = 8 }; /* queries to a block; columns to a lane */
enum { FARTHEST = 1 << 29 };  /* as good as no bound, and twice of it is a number */

static int one_side(const hd_attention *at)
{
    int buckets = (int)hd_rows_of(at->table);
    return at->table_both_ways ? buckets / 2 : buckets;
}

/* Bucket of distance d to the past. */
static int bucket_back(const hd_attention *at, int d)
{
    return hd_relative_bucket(-d, (int)hd_rows_of(at->table), at->table_both_ways, at->table_reach);
}

/* The first distance of every bucket beyond the exact ones: asked of the one function that defines buckets,
   so that no rounding of a device's logarithm matters. */
static bool find_edges(attend_of *t, attend_edges *e, const hd_attention *at)
{
    int side = one_side(at);
    t->exact = side / 2, t->edges = side - 1 - t->exact;
    if (t->edges > ATTEND_EDGES) return false;
    for (int b = 0; b < t->edges; b++) {
        int want = t->exact + 1 + b;
        double share = (double)(1 + b) / (side - t->exact);
        int d = (int)(t->exact * pow((double)at->table_reach / t->exact, share));
        if (d < t->exact) d = t->exact;
        while (bucket_back(at, d) < want) d++;
        while (d > t->exact && bucket_back(at, d - 1) >= want) d--;
        e->first[b] = d;
    }
    return true;
}

bool hd_attend_describe(attend_of *t, attend_edges *e, const hd_attention *at, const hd_tensor *q,
                        const hd_tensor *k, const hd_tensor *v)
{
    *t = (attend_of){};
    t->heads = at->heads, t->group = at->heads / at->kv_heads;
    t->d = (int)(hd_cols_of(q) / (size_t)at->heads), t->dv = (int)(hd_cols_of(v) / (size_t)at->kv_heads);
    t->scale = at->scale, t->sigma = at->sigma, t->cap = at->cap;
    t->causal = at->mask == HD_CAUSAL, t->additive = at->score == HD_ADDITIVE;
    t->both_ways = at->table_both_ways, t->drops = at->draw.p > 0;
    t->window = at->window < FARTHEST ? at->window : FARTHEST;
    t->q = mat_of(q), t->k = mat_of(k), t->v = mat_of(v), t->weight = mat_of(at->additive);
    t->table = mat_of(at->table), t->center = mat_of(at->center), t->ragged = mat_of(at->ragged);
    t->distance = mat_of(at->distance), t->block = at->block < FARTHEST ? at->block : FARTHEST;
    if (at->distance) t->span = (int)(hd_rows_of(at->distance) / (size_t)at->heads);
    t->gate = mat_of(at->gate), t->ragged_begin = at->ragged_begin;
    t->qbegin = at->qseg->begin, t->qlen = at->qseg->len;
    t->kbegin = at->kseg->begin, t->klen = at->kseg->len;
    t->page = at->kseg->page, t->pages = (int)at->kseg->pages;
    t->items = (int)at->qseg->items;
    t->longest_q = (int)at->qseg->longest, t->longest_k = (int)at->kseg->longest;
    if (t->drops) t->draw = draw_make(&at->draw);
    return !at->table || find_edges(t, e, at);
}

bool hd_attend_dotted(const attend_of *t)
{
    return !t->additive && !t->table.p && !t->center.p && !t->ragged.p && !t->gate.p;
}

attend_size hd_attend_size(const attend_of *t)
{
    static const attend_size all[] = {
#define X(d, dv) {d, dv},
        ATTEND_SIZES(X)
#undef X
    };
    for (const attend_size &size : all)
        if (t->d <= size.d && t->dv <= size.dv) return size;
    return (attend_size){};
}

bool hd_attend_more(const attend_of *t)
{
    attend_size size = hd_attend_size(t);
    return hd_attend_bent(t) || t->d != size.d || t->dv != size.dv ||
           (t->drops && !ATTEND_WHOLE(t->d, t->dv));
}

bool hd_attend_is_short(const attend_of *t)
{
    return t->longest_q <= SHORT_ROWS && t->longest_k <= SHORT_ROWS && ATTEND_WHOLE(t->d, t->dv) &&
           !hd_attend_far(t) && !hd_attend_bent(t);
}

bool hd_attend_is_fast(const attend_of *t, const hd_tensor *const *all, int count, const hd_tensor *lse)
{
    if (!(t->scale > 0) || !hd_attend_dotted(t) || t->page || t->d % 8 || t->dv % 8 || !hd_attend_size(t).d)
        return false;
    if (hd_attend_far(t) && (t->window > 0 || t->cap > 0 || !t->causal || !ATTEND_WHOLE(t->d, t->dv)))
        return false;
    if (lse && lse->dtype != HD_F32) return false;
    for (int i = 0; i < count; i++)
        if (all[i] && (all[i]->dtype != HD_BF16 || !by_eights(all[i]))) return false;
    return true;
}

typedef struct shown {
    mat raw, scaled, masked, weights;
    const int32_t *begin;
} shown;

/* What the probes get of one query; recomputed, for it is asked rarely. */
static __device__ void show(const attend_of &t, const attend_edges &e, const shown &out, const place &p,
                            int a, const float *q, float max, float sum)
{
    reach sees = sees_of(t, p, a);
    for (int j = threadIdx.x % 32; j < p.tk; j += 32) {
        bool seen = j >= sees.lo && j < sees.hi;
        float raw =
                  raw_score(t, t.k, key_row(p, j), p.group * t.d, q, p.head) + distance_score(t, p, a, j, q),
              s = biased_score(t, e, p, a, j, raw);
        size_t row = (size_t)out.begin[p.item] + (size_t)a * p.tk + j;
        if (out.raw.p) mat_put(out.raw, row, p.head, raw);
        if (out.scaled.p) mat_put(out.scaled, row, p.head, s);
        if (out.masked.p) mat_put(out.masked, row, p.head, seen ? s : -INFINITY);
        if (out.weights.p) mat_put(out.weights, row, p.head, seen && sum != 0 ? expf(s - max) / sum : 0);
    }
}

static __global__ void attend_any(const __grid_constant__ attend_of t, const __grid_constant__ attend_edges e,
                                  const __grid_constant__ shown out, const mat y, const mat lse)
{
    extern __shared__ __align__(128) char attend_room[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t unit = (size_t)blockIdx.x * WARPS + warp, each = (size_t)t.longest_q * t.heads;
    if (unit >= each * t.items) return;
    int a = (int)(unit % t.longest_q);
    place p = place_at(t, (int)(unit / each), (int)(unit % each / t.longest_q));
    if (a >= p.tq) return;
    float *q = (float *)attend_room + (size_t)warp * t.d;
    for (int c = lane; c < t.d; c += 32) q[c] = mat_get(t.q, p.qrow + a, (size_t)p.head * t.d + c);
    __syncwarp();
    reach sees = sees_of(t, p, a);
    uint64_t key = t.drops ? draw_key(t.draw, (uint32_t)(p.qrow + a)) : 0;
    float gate = t.gate.p ? mat_get(t.gate, 0, p.head) : 1, max = -INFINITY, sum = 0;
    for (int from = 0; from < t.dv; from += 32 * WIDE) { /* once, unless heads are very wide */
        float acc[WIDE] = {};
        max = -INFINITY, sum = 0;
        for (int first = sees.lo; first < sees.hi; first += 32) {
            int j = first + lane, n = min(32, sees.hi - first);
            float s = -INFINITY;
            if (lane < n)
                s = biased_score(t, e, p, a, j,
                                 raw_score(t, t.k, key_row(p, j), p.group * t.d, q, p.head) +
                                     distance_score(t, p, a, j, q));
            float top = fmaxf(max, warp_max(s));
            if (top == -INFINITY && !__any_sync(FULL_WARP, s != s)) continue;
            float shrink = max == -INFINITY ? 0 : expf(max - top), w = lane < n ? expf(s - top) : 0;
            sum = sum * shrink + warp_sum(w), max = top;
            if (t.drops) w *= draw_mask(t.draw, key, draw_column(p.head, j));
#pragma unroll
            for (int x = 0; x < WIDE; x++) acc[x] *= shrink;
            for (int i = 0; i < n; i++) {
                float wi = __shfl_sync(FULL_WARP, w, i);
#pragma unroll
                for (int x = 0; x < WIDE; x++) {
                    int c = from + lane + 32 * x;
                    if (c < t.dv)
                        acc[x] =
                            fmaf(wi, mat_get(t.v, key_row(p, first + i), (size_t)p.group * t.dv + c), acc[x]);
                }
            }
        }
        float factor = sum == 0 ? 0 : gate / sum;
#pragma unroll
        for (int x = 0; x < WIDE; x++) {
            int c = from + lane + 32 * x;
            if (c < t.dv) mat_put(y, p.qrow + a, (size_t)p.head * t.dv + c, acc[x] * factor);
        }
    }
    if (lse.p && !lane) mat_put(lse, p.qrow + a, p.head, sum > 0 ? max + logf(sum) : INFINITY);
    if (out.begin) show(t, e, out, p, a, q, max, sum);
}

extern "C" hd_status hd_cuda_attend(hd_backend *b, const hd_attend_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    attend_of t;
    attend_edges e = {};
    if (!hd_attend_describe(&t, &e, a->at, a->q, a->k, a->v))
        return hd_cuda_fail(c, "attend", "the relative table has too many buckets");
    if (!t.items || !t.longest_q || !t.heads) return HD_OK;
    bool probed = a->raw || a->scaled || a->masked || a->weights;
    const hd_tensor *const all[] = {a->y, a->q, a->k, a->v};
    mat y = mat_of(a->y), lse = mat_of(a->lse);
    if (!probed && t.longest_q == 1 && hd_attend_dotted(&t) &&
        (hd_attend_latent(c, &t, a) || hd_attend_decode(c, &t, a)))
        return hd_cuda_done(c, "attend");
    if (!probed && hd_attend_single_fits(&t)) {
        hd_attend_single(c, &t, y, lse);
        return hd_cuda_done(c, "attend");
    }
    if (!probed && hd_attend_is_fast(&t, all, 4, a->lse)) {
        size_t bytes = hd_attend_near_bytes(a->at);
        void *room = bytes ? hd_cuda_scratch(c, bytes) : NULL;
        if (bytes && !room) return HD_ENOMEM;
        bool small = hd_attend_is_short(&t);
        if (small || hd_attend_long_fits(c, &t)) {
            hd_attend_narrow(c, &t, a->at, room);
            small ? hd_attend_short(c, &t, y, lse) : hd_attend_long(c, &t, y, lse);
            return hd_cuda_done(c, "attend");
        }
    }
    shown out = {mat_of(a->raw), mat_of(a->scaled), mat_of(a->masked), mat_of(a->weights),
                 probed ? a->out_begin : NULL};
    size_t units = (size_t)t.items * t.heads * t.longest_q, room = (size_t)WARPS * t.d * sizeof(float);
    if (room > 48 * 1024) return hd_cuda_fail(c, "attend", "heads are too wide");
    attend_any<<<hd_blocks(units, WARPS), WARPS * 32, room, c->stream>>>(t, e, out, y, lse);
    return hd_cuda_done(c, "attend");
}
