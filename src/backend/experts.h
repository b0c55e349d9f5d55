/* Mixture of experts: each row goes to a few of E weights. A router scores them, the rows are sorted by
   expert, every expert multiplies its segment of them, and a row's results are summed again. Ids are
   constants of backward: gradients reach the router through the weights of the sum alone. */
#ifndef HD_BACKEND_EXPERTS_H
#define HD_BACKEND_EXPERTS_H

#include "backend/step.h"
#include "tensor/tensor.h"

enum { HD_EXPERTS_MOST = 1024, HD_EXPERTS_USED_MOST = 64 };

/* What scores are of logits: they compete, or each expert stands alone. X(NAME, name, text) */
#define HD_ROUTER_LIST(X)                           \
    X(SOFTMAX, softmax, "softmax over all experts") \
    X(SIGMOID, sigmoid, "a sigmoid for each expert")

#define X(NAME, name, text) HD_ROUTER_##NAME,
typedef enum hd_router { HD_ROUTER_LIST(X) HD_ROUTERS } hd_router;
#undef X

typedef struct hd_routing {
    hd_router router;
    int used;                /* K: experts of a row */
    int groups, groups_used; /* only experts of the best groups are chosen; 0: there are none */
    int group_best;          /* a group is worth the sum of its so many best experts */
    bool normalized;         /* the weights of a row sum to `scaling` */
    float scaling;           /* of the weights */
} hd_routing;

/* Of logits [T,E]: scores [T,E], the K experts of each row in falling order of score + bias (equal ones by
   number), and their weights [T,K], which the bias [E] or NULL does not change. item [T] or NULL: rows of
   no item go nowhere, with ids of -1 and zeros else. load [loads, E] or NULL: counts how often each expert
   was chosen, by the row's item where there are several. Numbers are hd_real, ids and load int32. */
typedef struct hd_route_args {
    const hd_tensor *ids, *weights, *scores, *logits, *bias;
    const int32_t *item;
    int32_t *load;
    size_t loads;
    hd_routing how;
} hd_route_args;

/* dlogits = of dweights [T,K] (or NULL), and of a loss that keeps experts balanced: the sum over rows and
   experts of coef * load / (sum of load) * share, a row's share being its score, normalized over experts;
   load is a constant, and complete by now. */
typedef struct hd_route_back_args {
    const hd_tensor *dlogits, *dweights, *ids, *weights, *scores;
    const int32_t *item, *load; /* as in the forward pass; load NULL: no such loss */
    size_t loads;
    float coef;
    hd_routing how;
} hd_route_back_args;

/* Sorts assignments t * K + k by expert, stably. begin [E+1]: where each expert's rows begin; token [T*K]:
   the row that comes to a place, -1 behind the last; place [T*K]: where an assignment went, -1: nowhere.
   load [E] (hd_real) or NULL: += the rows of each expert. */
typedef struct hd_dispatch_args {
    const hd_tensor *ids;
    int32_t *begin, *token, *place;
    size_t experts;
    const hd_tensor *load;
} hd_dispatch_args;

/* y[t] (+)= the sum over k of weights[t][k] * x[place[t * K + k]], k rising; weights NULL: 1. */
typedef struct hd_combine_args {
    const hd_tensor *y, *x, *weights;
    const int32_t *place;
    int used;
    bool add;
} hd_combine_args;

/* dx[place] (+)= weights[t][k] * dy[t]; dweights[t][k] += dy[t] x[place]. Either may be NULL; places of no
   assignment are left as they are. */
typedef struct hd_combine_back_args {
    const hd_tensor *dx, *dweights, *dy, *x, *weights;
    const int32_t *place;
    int used;
    bool add;
} hd_combine_back_args;

/* Rows begin[e] .. begin[e+1]-1 of y (+)= those of a times expert e's part of b: its transpose if b is
   [E*N, K], or as it is, [E*K, N]. Each row's result is that of gemm, whatever is beside it. each [E] or
   NULL: the parts themselves, which may be prepared. Other rows are left as they are. */
typedef struct hd_grouped_args {
    const hd_tensor *y, *a, *b;
    const hd_tensor *const *each;
    const int32_t *begin;
    size_t experts;
    bool b_transposed, add;
} hd_grouped_args;

/* Expert e's part [M, N] of y [E*M, N] += the transpose of its rows of a [T*K, M] times those of b
   [T*K, N]; parts without rows are left as they are. */
typedef struct hd_grouped_outer_args {
    const hd_tensor *y, *a, *b;
    const int32_t *begin;
    size_t experts;
} hd_grouped_outer_args;

/* Behind an update, unless it is skipped: bias[e] += rate * (1 - settled) * sign(mean of load - load[e]),
   bias NULL: none. was = load, load = 0, both [E]. */
typedef struct hd_balance_args {
    const hd_tensor *bias, *load, *was;
    float rate;
    const hd_step *step;
} hd_balance_args;

#endif
