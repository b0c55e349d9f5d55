/* The kernels and their arguments. One line in HD_KERNEL_LIST gives the member of every backend's table.
   Conventions: tensors are [rows, cols] views; destination first; `add` means += instead of =; NULL means
   absent. A kernel returns a status only because scratch memory can run out or a device can fail; shapes were
   checked by the op. Numbers are hd_real, or the backend's compute type for activations and their gradients;
   parameters, their gradients and statistics (losses, log-probabilities, norms, denominators) are always
   hd_real. Each tensor has its type. */
#ifndef HD_BACKEND_KERNEL_H
#define HD_BACKEND_KERNEL_H

#include "backend/ctc.h"
#include "backend/draw.h"
#include "backend/experts.h"
#include "backend/function.h"
#include "backend/grid.h"
#include "backend/mixture.h"
#include "backend/norm.h"
#include "backend/policy.h"
#include "backend/recurrence.h"
#include "backend/rotation.h"
#include "backend/update.h"
#include "base/status.h"
#include "tensor/tensor.h"

#define HD_KERNEL_LIST(X)   \
    X(gemm)                 \
    X(column_sum)           \
    X(unary)                \
    X(unary_back)           \
    X(gate)                 \
    X(gate_back)            \
    X(mix)                  \
    X(mul)                  \
    X(dropout)              \
    X(gumbel)               \
    X(gather)               \
    X(scatter)              \
    X(append)               \
    X(fold)                 \
    X(refold)               \
    X(sine)                 \
    X(rotate)               \
    X(transpose)            \
    X(regrid)               \
    X(lead)                 \
    X(pixels)               \
    X(patches)              \
    X(patches_back)         \
    X(pool)                 \
    X(pool_back)            \
    X(norm)                 \
    X(norm_back)            \
    X(group_norm)           \
    X(group_norm_back)      \
    X(softmax)              \
    X(softmax_back)         \
    X(segment_softmax)      \
    X(segment_softmax_back) \
    X(reduce)               \
    X(reduce_back)          \
    X(top)                  \
    X(sample)               \
    X(cross_entropy)        \
    X(distance)             \
    X(ctc)                  \
    X(ctc_back)             \
    X(mixture)              \
    X(window)               \
    X(window_back)          \
    X(total)                \
    X(attend)               \
    X(attend_back)          \
    X(recur)                \
    X(recur_back)           \
    X(route)                \
    X(route_back)           \
    X(dispatch)             \
    X(combine)              \
    X(combine_back)         \
    X(grouped)              \
    X(grouped_outer)        \
    X(balance)              \
    X(square_sum)           \
    X(clip)                 \
    X(update)               \
    X(moment)               \
    X(unit)                 \
    X(descend)              \
    X(average)              \
    X(cast)

/* y = dropout(act(a' b' + bias)); a' is a [M,K] or its transpose, b' likewise [K,N]. `before` keeps the value
   before act. count > 1: so many products of one shape, which have neither bias nor act nor draw; y, a and b
   are the first, and those of the next begin so many numbers behind. */
typedef struct hd_gemm_args {
    const hd_tensor *y, *a, *b, *bias, *before;
    bool a_transposed, b_transposed, add;
    hd_unary act;
    hd_draw draw;
    size_t count, y_step, a_step, b_step;
} hd_gemm_args;

/* y[c] += sum over rows of x[r][c] */
typedef struct hd_column_sum_args {
    const hd_tensor *y, *x;
} hd_column_sum_args;

typedef struct hd_unary_args {
    const hd_tensor *y, *x;
    hd_unary f;
} hd_unary_args;

/* dx (+)= dropout(dy) * f'(kept); sums [cols] += the sums of its columns, for a bias. With a draw, relu's
 * `kept` is its value after the dropout. dx may be dy; with sums there is no `add`. */
typedef struct hd_unary_back_args {
    const hd_tensor *dx, *dy, *kept, *sums;
    hd_unary f;
    bool add;
    hd_draw draw;
} hd_unary_back_args;

/* y = f(x) * z, all of one shape */
typedef struct hd_gate_args {
    const hd_tensor *y, *x, *z;
    hd_unary f;
} hd_gate_args;

/* dx (+)= dy * z * f'(x), dz (+)= dy * f(x) */
typedef struct hd_gate_back_args {
    const hd_tensor *dx, *dz, *dy, *x, *z;
    hd_unary f;
    bool add;
} hd_gate_back_args;

/* y (+)= a x + b z; z may be NULL, or one row added to each */
typedef struct hd_mix_args {
    const hd_tensor *y, *x, *z;
    float a, b;
    bool add;
} hd_mix_args;

/* y (+)= x * z; z may be one row or one column */
typedef struct hd_mul_args {
    const hd_tensor *y, *x, *z;
    bool add;
} hd_mul_args;

/* y (+)= x * mask / keep */
typedef struct hd_dropout_args {
    const hd_tensor *y, *x;
    hd_draw draw;
    bool add;
} hd_dropout_args;

/* y = x + G with G = -log(-log u), u uniform in (0, 1) by row and column; the draw's p is ignored */
typedef struct hd_gumbel_args {
    const hd_tensor *y, *x;
    hd_draw draw;
} hd_gumbel_args;

/* y[i] (+)= scale * x[index[i]]; an index < 0 or >= rows of x gives zeros */
typedef struct hd_gather_args {
    const hd_tensor *y, *x;
    const int32_t *index;
    float scale;
    bool add;
} hd_gather_args;

/* y[index[i]] (+)= scale * x[i], in the order of i; indices out of range are skipped. Without `add`, no
   index may repeat. */
typedef struct hd_scatter_args {
    const hd_tensor *y, *x;
    const int32_t *index;
    float scale;
    bool add;
} hd_scatter_args;

/* Cache: y[begin[i] + len[i] + j] = x[row j of item i of from]; then len[i] += from.len[i] when `advance`.
 * len NULL: 0. page: row len[i] + j of item i lies where this table says (hd_seg.page) instead. x may be y
 * where no row is both read and written. */
typedef struct hd_append_args {
    const hd_tensor *y, *x;
    const hd_seg *from;
    const int32_t *begin;
    const int32_t *page;
    size_t pages;
    int32_t *len;
    bool advance;
} hd_append_args;

/* Row q of item i of `to` = rows q*k .. q*k+k-1 of item i of `from` side by side (zeros past its end); back:
 * dx (+)= the reverse. */
typedef struct hd_fold_args {
    const hd_tensor *y, *x;
    const hd_seg *to, *from;
    int k;
    bool back; /* y is read, x is added to */
} hd_fold_args;

/* The sine code of numbers x [rows, A] in hd_real, which come in pairs x, y: that of y goes first. n columns
   for each number, the sine and the cosine of x * scale / temperature^(2k/n) beside each other. Backward with
   dx [rows, A]: dx += of dy. */
typedef struct hd_sine_args {
    const hd_tensor *y, *x, *dx, *dy; /* y, or dx and dy */
    float scale, temperature;
} hd_sine_args;

typedef struct hd_softmax_args {
    const hd_tensor *y, *x;
    bool log;
} hd_softmax_args;

typedef struct hd_softmax_back_args {
    const hd_tensor *dx, *dy, *y;
    bool log, add;
} hd_softmax_back_args;

/* Over the rows of each segment, each column separately. */
typedef struct hd_segment_softmax_args {
    const hd_tensor *y, *x;
    const hd_seg *seg;
    bool log;
} hd_segment_softmax_args;

typedef struct hd_segment_softmax_back_args {
    const hd_tensor *dx, *dy, *y;
    const hd_seg *seg;
    bool log, add;
} hd_segment_softmax_back_args;

typedef enum hd_reduction { HD_SUM, HD_MEAN, HD_MAX, HD_FIRST, HD_LAST } hd_reduction;

/* y[i] = sum, mean, ... of the rows of item i; an empty segment gives zeros. which: [items, cols] int32, the
 * row of the maximum. */
typedef struct hd_reduce_args {
    const hd_tensor *y, *which, *x;
    const hd_seg *seg;
    hd_reduction kind;
} hd_reduce_args;

/* dx += ...; always adds */
typedef struct hd_reduce_back_args {
    const hd_tensor *dx, *dy, *which;
    const hd_seg *seg;
    hd_reduction kind;
} hd_reduce_back_args;

/* The k largest of each row in descending order; equal values by ascending column. ids: [rows,k] int32;
   values may be NULL; with `log`, for which cards have no kernel, they are those of log-softmax(x). */
typedef struct hd_top_args {
    const hd_tensor *ids, *values, *x;
    int k;
    bool log;
} hd_top_args;

/* Columns that stand for some of all outputs: column c for output id[c], ascending; what follows is -inf. */
typedef struct hd_columns {
    const int32_t *id;
    const int32_t *from; /* the column of x that it is taken from */
    size_t count;
} hd_columns;

/* Of backend.narrow: y [R,W] of x [R,U], row r as columns[r] says. */
typedef struct hd_narrow_args {
    const hd_tensor *y, *x;
    const hd_columns *const *columns;
} hd_narrow_args;

/* Of backend.rescore; bias may be NULL. */
typedef struct hd_rescore_args {
    const hd_tensor *y, *x, *w, *bias;
    const hd_columns *const *columns; /* of the rows of y; NULL: column c of y is output c of w */
} hd_rescore_args;

/* One column of each row drawn from softmax(x / temperature), restricted to the top_k largest (0: all) and to
   the smallest set that holds top_p of the mass (1: all). ids: [rows,1] int32; logp: [rows,1] of the
   unrestricted distribution at temperature 1, or NULL. */
typedef struct hd_sample_args {
    const hd_tensor *ids, *logp, *x;
    float temperature, top_p;
    int top_k;
    hd_draw draw;
} hd_sample_args;

/* Per row: loss = weight * -(sum over classes of target distribution * log softmax(x)); the target
   distribution is (1-smoothing) on target[r] plus smoothing/cols everywhere. target < 0: the row has weight
   0. dx = coef * gradient, may be x itself. logp: log-probability of the target. With policy_rows the loss is
   weight * hd_policy_loss of that (backend/policy.h), and smoothing is 0. */
typedef struct hd_cross_entropy_args {
    const hd_tensor *loss, *logp, *dx, *x; /* loss, logp: [rows,1] */
    const int32_t *target;
    const hd_tensor *weight;      /* [rows,1] or NULL: 1 */
    const hd_tensor *policy_rows; /* [rows, HD_POLICY_COLUMNS] or NULL */
    hd_policy_opt policy;
    float smoothing, coef;
    bool add; /* dx += */
} hd_cross_entropy_args;

typedef enum hd_distance_kind {
    HD_SQUARED,  /* (x-t)^2 */
    HD_BINARY,   /* cross-entropy of sigmoid(x) with t */
    HD_ABSOLUTE, /* |x-t| */
    HD_GIOU      /* 1 - GIoU of boxes, 4 columns (backend/box.h) */
} hd_distance_kind;

/* loss[r] = weight * sum over columns of the distance; dx += coef * gradient, dtarget likewise. Of
   HD_ABSOLUTE and HD_GIOU a row of weight 0 is not read. */
typedef struct hd_distance_args {
    const hd_tensor *loss, *dx, *dtarget, *x, *target, *weight;
    hd_distance_kind kind;
    float coef;
} hd_distance_args;

/* y[0] (+)= scale * sum of all of x, summed in double */
typedef struct hd_total_args {
    const hd_tensor *y, *x;
    float scale;
    bool add;
} hd_total_args;

typedef enum hd_mask { HD_FULL, HD_CAUSAL } hd_mask;
typedef enum hd_score { HD_DOT, HD_ADDITIVE } hd_score;

/* The options of attention, forward and backward. Query row a of an item is at key position a + (keys -
   queries) if the mask is causal or a window is set, so that the last query meets the last key. */
typedef struct hd_attention {
    int heads, kv_heads;
    float scale;
    float cap; /* > 0: scaled scores become cap * tanh(score / cap). Dot score and none of the biases */
    hd_mask mask;
    int window; /* > 0: keys further than this from the query's position, or from its center, are not seen */
    int block;  /* > 0: positions go by blocks of so many, and a query sees its own and the one before */
    hd_score score;
    const hd_tensor *additive; /* [H*D]: v of the additive score */
    const hd_tensor *table;    /* [buckets, H]: bias by relative position */
    bool table_both_ways;      /* half of the buckets for keys after the query */
    int table_reach;           /* distance from which all share the last bucket */
    const hd_tensor *distance; /* [H*span, D]: a vector for each head and distance to the past, whose product
                                  with the query joins that with the key; the last of a head's is distance 0,
                                  its first serves all that are farther. Causal, dot score */
    const hd_tensor *center;   /* [Rq, 1 or H]: adds -(j - center)^2 / (2 sigma^2); with a window, it lies
                                  around     the center, drawn to the nearest key */
    float sigma;               /* 0: nothing is added, for a window only */
    const hd_tensor *ragged;   /* [sum Tq*Tk, H]: explicit scores, item after item, query after query */
    const int32_t *ragged_begin; /* [items]: first row of each item in it */
    const hd_tensor *gate;       /* [H]: factor on each head's output */
    const hd_seg *qseg, *kseg;
    hd_draw draw;
} hd_attention;

/* Scores for probes, each [sum Tq*Tk, H] in the order of `ragged`; any may be NULL. */
typedef struct hd_attend_args {
    const hd_tensor *y, *q, *k, *v;
    const hd_tensor *lse; /* [Rq, H]: log of the softmax denominator, for backward; may be NULL */
    const hd_attention *at;
    const hd_tensor *raw, *scaled, *masked, *weights;
    const int32_t *out_begin; /* [items]: where item i starts in those four */
} hd_attend_args;

/* dq, dk, dv and the others += ; any may be NULL. A fresh one is not initialized: rows of items are
   written instead of added to, others stay. y is the output of attend. */
typedef struct hd_attend_back_args {
    const hd_tensor *dq, *dk, *dv, *dadditive, *dtable, *ddistance, *dcenter, *dragged, *dgate;
    bool fresh_q, fresh_k, fresh_v;
    const hd_tensor *dy, *y, *q, *k, *v, *lse;
    const hd_attention *at;
} hd_attend_back_args;

#endif
