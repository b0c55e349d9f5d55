/* What the general backward kernels of attention share: a pair's weight and the gradient of it. */
#ifndef HD_BACKEND_CUDA_ATTEND_BACK_H
#define HD_BACKEND_CUDA_ATTEND_BACK_H

#include "backend/cuda/attend/attend.h"

typedef struct back_of {
    mat dq, dk, dv, dy, lse, dcenter, dragged;
    bool fresh_q, fresh_k, fresh_v;
    float *delta, *pull; /* scratch [Rq,H]: sum of weight * its gradient; gradient of a shared center */
    uint64_t *key;       /* scratch [Rq]: of the dropout draws */
    float *part;         /* scratch [units, buckets + D]: shares of dtable and dadditive */
} back_of;

typedef struct back_plan {
    int tiles, buckets,
        columns; /* tiles of queries to an item; buckets and columns are 0 where not asked for */
    size_t bytes;
} back_plan;

/* Gradients that all items share: table, additive weight, gate, a center with one column. */
back_plan hd_attend_back_plan(const attend_of *t, const hd_attend_back_args *a);
void hd_attend_back_shared(hd_cuda *c, const attend_of *t, const attend_edges *e, const back_of *g,
                           const back_plan *plan, const hd_attend_back_args *a);

/* Adds the shares that units (tiles of heads of items) left in `part`, in a fixed order. */
void hd_attend_add_shares(hd_cuda *c, const attend_of *t, const float *part, const back_plan *plan,
                          mat dtable, mat dweight);

/* Gradients of the vectors of distances: shares of fixed parts of the queries, added in a fixed order. Needs
   delta and keys of draws. part: scratch of so many bytes. */
size_t hd_attend_distance_bytes(const attend_of *t);
void hd_attend_back_distance(hd_cuda *c, const attend_of *t, const attend_edges *e, const back_of *g,
                             float *part, mat ddistance);

/* One query an item, where items share no keys and hd_attend_single_fits; g.part has room for [items * heads,
   d] where the additive weight is asked for. */
void hd_attend_single_back(hd_cuda *c, const attend_of *t, const back_of *g, mat dweight);

typedef struct one_query {
    uint64_t key;
    float lse, gate, delta;
} one_query;

/* How much a score that was capped to s changes with what it was before. */
DEVICE float cap_slope(const attend_of &t, float s)
{
    return t.cap > 0 ? 1 - s / t.cap * (s / t.cap) : 1;
}

/* The weight of query a for key j before dropout; *dw its gradient before the gate; *slope that of the cap. q
   and dy are the query's. */
DEVICE float pair_weight(const attend_of &t, const attend_edges &e, const place &p, int a, int j,
                         const one_query &o, const float *q, const float *dy, float *dw, float *slope)
{
    float raw = raw_score(t, t.k, p.krow + j, p.group * t.d, q, p.head) + distance_score(t, p, a, j, q);
    *dw = dot_row(t.v, (p.krow + j) * t.v.stride + (size_t)p.group * t.dv, dy, t.dv);
    if (t.drops) *dw *= draw_mask(t.draw, o.key, draw_column(p.head, j));
    float s = biased_score(t, e, p, a, j, raw);
    *slope = cap_slope(t, s);
    return expf(s - o.lse);
}

/* From the key's side, k and v are the key's: what dy (`values`) or q has to be multiplied with. */
DEVICE float pair_of_key(const attend_of &t, const attend_edges &e, const place &p, int a, int j,
                         const one_query &o, const float *k, const float *v, const mat &dy, bool values)
{
    float raw = raw_score(t, t.q, p.qrow + a, p.head * t.d, k, p.head) + distance_score(t, p, a, j, NULL);
    float s = biased_score(t, e, p, a, j, raw), w = expf(s - o.lse);
    float mask = t.drops ? draw_mask(t.draw, o.key, draw_column(p.head, j)) : 1;
    if (values) return w * mask * o.gate;
    float dw = dot_row(dy, (p.qrow + a) * dy.stride + (size_t)p.head * t.dv, v, t.dv) * mask;
    return w * (dw - o.delta) * o.gate * cap_slope(t, s);
}

/* Slope of weight * tanh(x) at column c. */
DEVICE float additive_slope(const attend_of &t, int head, int c, float x)
{
    float y = tanhf(x);
    return mat_get(t.weight, 0, (size_t)head * t.d + c) * (1 - y * y);
}

#endif
