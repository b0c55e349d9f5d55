/* Attention backward, gradients that all items share: relative table, additive weight, gates, a center with
   one column. A block takes some queries of one head of one item and leaves its share in scratch; the shares
   are added in a fixed order. Easy to get wrong: blocks beyond an item's end must still leave zeros. */
#include "backend/cuda/attend/back.h"

enum { TILE = 32, THREADS = 256, LANES = 32, SUMMERS = 8 };

back_plan hd_attend_back_plan(const attend_of *t, const hd_attend_back_args *a)
{
    back_plan p = {};
    p.tiles = (t->longest_q + TILE - 1) / TILE;
    p.buckets = a->dtable ? t->table.rows : 0;
    p.columns = a->dadditive ? t->d : 0;
    p.bytes = (size_t)t->items * t->heads * p.tiles * (p.buckets + p.columns) * sizeof(float);
    return p;
}

static __global__ void shares(const __grid_constant__ attend_of t, const __grid_constant__ attend_edges e,
                              const __grid_constant__ back_of g, const back_plan plan)
{
    extern __shared__ __align__(128) char attend_room[];
    float *ds = (float *)attend_room, *q = ds + THREADS, *dy = q + t.d;
    int *bucket = (int *)(dy + t.dv);
    size_t unit = blockIdx.x, width = (size_t)plan.buckets + plan.columns;
    int tile = (int)(unit % plan.tiles), head = (int)(unit / plan.tiles % t.heads), me = threadIdx.x;
    float *mine = g.part + unit * width; /* number i belongs to thread i % THREADS from here to the end */
    for (size_t i = me; i < width; i += THREADS) mine[i] = 0;
    place p = place_at(t, (int)(unit / plan.tiles / t.heads), head);
    int end = min(p.tq, (tile + 1) * TILE);
    for (int a = tile * TILE; a < end; a++) {
        size_t row = p.qrow + a;
        __syncthreads();
        for (int c = me; c < t.d; c += THREADS) q[c] = mat_get(t.q, row, (size_t)head * t.d + c);
        for (int c = me; c < t.dv; c += THREADS) dy[c] = mat_get(g.dy, row, (size_t)head * t.dv + c);
        __syncthreads();
        reach sees = sees_of(t, p, a);
        one_query o = {t.drops ? g.key[row] : 0, mat_get(g.lse, row, head),
                       t.gate.p ? mat_get(t.gate, 0, head) : 1, g.delta[row * t.heads + head]};
        for (int first = sees.lo; first < sees.hi; first += THREADS) {
            int n = min((int)THREADS, sees.hi - first), j = first + me;
            if (me < n) {
                float dw, slope, w = pair_weight(t, e, p, a, j, o, q, dy, &dw, &slope);
                ds[me] = w * (dw - o.delta) * o.gate;
                bucket[me] = plan.buckets ? bucket_of(t, e, j - a - p.shift) : 0;
            }
            __syncthreads();
            for (int i = me; i < (int)width; i += THREADS) {
                float sum = 0;
                int c = i - plan.buckets;
                for (int x = 0; c < 0 && x < n; x++) sum += bucket[x] == i ? ds[x] : 0;
                for (int x = 0; c >= 0 && x < n; x++) {
                    float k = mat_get(t.k, p.krow + first + x, (size_t)p.group * t.d + c);
                    sum = fmaf(ds[x] * t.scale, tanhf(q[c] + k), sum);
                }
                mine[i] += sum;
            }
            __syncthreads();
        }
    }
}

/* One block adds up LANES numbers of one head over all its units, in double, in a fixed order. */
static __global__ void add_shares(const float *part, const back_plan plan, int items, int heads, mat dtable,
                                  mat dweight)
{
    __shared__ double room[SUMMERS][LANES];
    int width = plan.buckets + plan.columns, across = (width + LANES - 1) / LANES;
    int head = blockIdx.x / across, i = blockIdx.x % across * LANES + threadIdx.x % LANES;
    int turn = threadIdx.x / LANES, lane = threadIdx.x % LANES, units = items * plan.tiles;
    double sum = 0;
    for (int u = turn; i < width && u < units; u += SUMMERS) {
        size_t unit = ((size_t)(u / plan.tiles) * heads + head) * plan.tiles + u % plan.tiles;
        sum += part[unit * width + i];
    }
    room[turn][lane] = sum;
    __syncthreads();
    if (turn || i >= width) return;
    for (int x = 1; x < SUMMERS; x++) sum += room[x][lane];
    if (i < plan.buckets)
        mat_put_or_add(dtable, i, head, (float)sum, true);
    else
        mat_put_or_add(dweight, 0, (size_t)head * plan.columns + (i - plan.buckets), (float)sum, true);
}

/* dgate of one head: the sum of delta over all queries. */
static __global__ void gate_back(const __grid_constant__ attend_of t, const float *delta, mat dgate)
{
    __shared__ double room[THREADS];
    int head = blockIdx.x, me = threadIdx.x;
    double sum = 0;
    for (int item = 0; item < t.items; item++)
        for (int a = me; a < t.qlen[item]; a += THREADS)
            sum += delta[((size_t)t.qbegin[item] + a) * t.heads + head];
    room[me] = sum;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (me < half) room[me] += room[me + half];
    }
    if (!me) mat_put_or_add(dgate, 0, head, (float)room[0], true);
}

/* A center that all heads share. */
static __global__ void center_back(const __grid_constant__ attend_of t, const float *pull, mat dcenter)
{
    size_t unit = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (unit >= (size_t)t.items * t.longest_q) return;
    int item = (int)(unit / t.longest_q), a = (int)(unit % t.longest_q);
    if (a >= t.qlen[item]) return;
    size_t row = (size_t)t.qbegin[item] + a;
    float sum = 0;
    for (int h = 0; h < t.heads; h++) sum += pull[row * t.heads + h];
    mat_put_or_add(dcenter, row, 0, sum, true);
}

void hd_attend_add_shares(hd_cuda *c, const attend_of *t, const float *part, const back_plan *plan,
                          mat dtable, mat dweight)
{
    int across = (plan->buckets + plan->columns + LANES - 1) / LANES;
    add_shares<<<(unsigned)(t->heads * across), SUMMERS * LANES, 0, c->stream>>>(part, *plan, t->items,
                                                                                 t->heads, dtable, dweight);
}

void hd_attend_back_shared(hd_cuda *c, const attend_of *t, const attend_edges *e, const back_of *g,
                           const back_plan *plan, const hd_attend_back_args *a)
{
    if (!t->longest_q) return;
    if (a->dtable || a->dadditive) {
        size_t room = (THREADS * 2 + (size_t)t->d + t->dv) * sizeof(float);
        shares<<<(unsigned)((size_t)t->items * t->heads * plan->tiles), THREADS, room, c->stream>>>(
            *t, *e, *g, *plan);
        hd_attend_add_shares(c, t, g->part, plan, mat_of(a->dtable), mat_of(a->dadditive));
    }
    if (a->dgate) gate_back<<<(unsigned)t->heads, THREADS, 0, c->stream>>>(*t, g->delta, mat_of(a->dgate));
    if (a->dcenter && t->center.cols == 1)
        center_back<<<hd_blocks((size_t)t->items * t->longest_q, THREADS), THREADS, 0, c->stream>>>(
            *t, g->pull, mat_of(a->dcenter));
}
