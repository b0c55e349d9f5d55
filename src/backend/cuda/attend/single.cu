/* Attention of one query an item, with any score: a step of a recurrent decoder. A block takes one head of
   one item; warps share out the keys, lanes the columns. Easy to get wrong: dk and dv may be one tensor, so a
   number of both has one thread that writes it, first the one and then the other. */
#include "backend/cuda/attend/back.h"

enum { WARPS = 8, THREADS = 32 * WARPS, MOST_ROOM = 48 * 1024 };

static size_t room_of(const attend_of *t)
{
    return ((size_t)2 * t->d + t->dv + 2 * (size_t)t->longest_k + 32) * sizeof(float);
}

bool hd_attend_single_fits(const attend_of *t)
{
    return t->longest_q == 1 && t->group == 1 && !t->table.p && !t->center.p && !t->ragged.p && !t->gate.p &&
           !hd_attend_far(t) && !hd_attend_bent(t) && room_of(t) <= MOST_ROOM;
}

typedef struct single {                     /* shared memory */
    float *q, *weight, *dy, *w, *ds, *room; /* [d], [d], [dv], [keys], [keys], [32] */
} single;

DEVICE single single_at(const attend_of &t)
{
    extern __shared__ __align__(128) char attend_room[];
    single s;
    s.q = (float *)attend_room, s.weight = s.q + t.d, s.dy = s.weight + t.d, s.w = s.dy + t.dv;
    s.ds = s.w + t.longest_k, s.room = s.ds + t.longest_k;
    return s;
}

DEVICE void fetch(const attend_of &t, const place &p, const single &s)
{
    for (int c = threadIdx.x; c < t.d; c += THREADS) {
        s.q[c] = mat_get(t.q, p.qrow, (size_t)p.head * t.d + c);
        s.weight[c] = t.additive ? mat_get(t.weight, 0, (size_t)p.head * t.d + c) : 0;
    }
}

/* The score of key j, for the whole warp. */
DEVICE float score_of(const attend_of &t, const place &p, const single &s, int j)
{
    float sum = 0;
    for (int c = threadIdx.x % 32; c < t.d; c += 32) {
        float k = mat_get(t.k, key_row(p, j), (size_t)p.head * t.d + c);
        sum = t.additive ? fmaf(s.weight[c], tanhf(s.q[c] + k), sum) : fmaf(s.q[c], k, sum);
    }
    return warp_sum(sum) * t.scale;
}

static __global__ void single_forward(const __grid_constant__ attend_of t, const mat y, const mat lse)
{
    place p = place_at(t, (int)(blockIdx.x / t.heads), (int)(blockIdx.x % t.heads));
    single s = single_at(t);
    int me = threadIdx.x;
    if (p.tq < 1) return;
    fetch(t, p, s);
    __syncthreads();
    for (int j = me / 32; j < p.tk; j += WARPS) {
        float score = score_of(t, p, s, j);
        if (me % 32 == 0) s.w[j] = score;
    }
    __syncthreads();
    float most = -INFINITY, sum = 0;
    for (int j = me; j < p.tk; j += THREADS) most = fmaxf(most, s.w[j]);
    most = block_max(most, s.room);
    uint64_t key = t.drops ? draw_key(t.draw, (uint32_t)p.qrow) : 0;
    for (int j = me; j < p.tk; j += THREADS) {
        float w = most == -INFINITY ? 0 : expf(s.w[j] - most);
        sum += w;
        s.w[j] = t.drops ? w * draw_mask(t.draw, key, draw_column(p.head, j)) : w;
    }
    sum = block_sum(sum, s.room);
    if (!me && lse.p) mat_put(lse, p.qrow, p.head, sum == 0 ? INFINITY : most + logf(sum));
    float factor = sum == 0 ? 0 : 1 / sum;
    for (int c = me; c < t.dv; c += THREADS) {
        float out = 0;
        for (int j = 0; j < p.tk; j++)
            out = fmaf(s.w[j], mat_get(t.v, key_row(p, j), (size_t)p.head * t.dv + c), out);
        mat_put(y, p.qrow, (size_t)p.head * t.dv + c, out * factor);
    }
}

/* Weights after dropout in s.w, gradients of scores in s.ds; zeros where the item has no query. */
DEVICE void slopes(const attend_of &t, const back_of &g, const place &p, const single &s)
{
    int me = threadIdx.x, lane = me % 32;
    bool asks = p.tq > 0;
    float lse = asks ? mat_get(g.lse, p.qrow, p.head) : INFINITY, delta = 0;
    uint64_t key = asks && t.drops ? draw_key(t.draw, (uint32_t)p.qrow) : 0;
    for (int j = me / 32; j < p.tk; j += WARPS) {
        float w = asks ? expf(score_of(t, p, s, j) - lse) : 0, dw = 0;
        for (int c = lane; c < t.dv; c += 32)
            dw = fmaf(s.dy[c], mat_get(t.v, p.krow + j, (size_t)p.head * t.dv + c), dw);
        float mask = t.drops ? draw_mask(t.draw, key, draw_column(p.head, j)) : 1;
        dw = warp_sum(dw) * mask;
        if (!lane) s.w[j] = w, s.ds[j] = dw;
    }
    __syncthreads();
    for (int j = me; j < p.tk; j += THREADS) delta = fmaf(s.w[j], s.ds[j], delta);
    delta = block_sum(delta, s.room);
    for (int j = me; j < p.tk; j += THREADS) {
        float w = s.w[j];
        s.ds[j] = w * (s.ds[j] - delta);
        s.w[j] = t.drops ? w * draw_mask(t.draw, key, draw_column(p.head, j)) : w;
    }
    __syncthreads();
}

static __global__ void single_back(const __grid_constant__ attend_of t, const __grid_constant__ back_of g)
{
    place p = place_at(t, (int)(blockIdx.x / t.heads), (int)(blockIdx.x % t.heads));
    single s = single_at(t);
    int me = threadIdx.x;
    bool asks = p.tq > 0;
    if (asks) fetch(t, p, s);
    for (int c = me; c < t.dv; c += THREADS)
        s.dy[c] = asks ? mat_get(g.dy, p.qrow, (size_t)p.head * t.dv + c) : 0;
    __syncthreads();
    slopes(t, g, p, s);
    for (int c = me; g.dv.p && c < t.dv; c += THREADS)
        for (int j = 0; j < p.tk; j++)
            mat_put_or_add(g.dv, p.krow + j, (size_t)p.head * t.dv + c, s.w[j] * s.dy[c], !g.fresh_v);
    __syncthreads();
    for (int c = me; c < t.d; c += THREADS) {
        float dq = 0, share = 0, q = asks ? s.q[c] : 0, weight = asks ? s.weight[c] : 0;
        size_t column = (size_t)p.head * t.d + c;
        for (int j = 0; j < p.tk; j++) {
            float k = mat_get(t.k, p.krow + j, column), ds = s.ds[j] * t.scale,
                  x = t.additive ? tanhf(q + k) : 0;
            float slope = t.additive ? ds * weight * (1 - x * x) : ds;
            dq = fmaf(slope, t.additive ? 1 : k, dq), share = fmaf(ds, x, share);
            if (g.dk.p) mat_put_or_add(g.dk, p.krow + j, column, t.additive ? slope : slope * q, !g.fresh_k);
        }
        if (g.dq.p && asks) mat_put_or_add(g.dq, p.qrow, column, dq, !g.fresh_q);
        if (g.part) g.part[(size_t)blockIdx.x * t.d + c] = share;
    }
}

void hd_attend_single(hd_cuda *c, const attend_of *t, const mat &y, const mat &lse)
{
    single_forward<<<(unsigned)(t->items * t->heads), THREADS, room_of(t), c->stream>>>(*t, y, lse);
}

void hd_attend_single_back(hd_cuda *c, const attend_of *t, const back_of *g, mat dweight)
{
    single_back<<<(unsigned)(t->items * t->heads), THREADS, room_of(t), c->stream>>>(*t, *g);
    back_plan plan = {1, 0, t->d, 0};
    if (dweight.p) hd_attend_add_shares(c, t, g->part, &plan, mat_of(NULL), dweight);
}
