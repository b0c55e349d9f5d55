/* Arguments of the norms: of each row by itself, and over rows. */
#ifndef HD_BACKEND_NORM_H
#define HD_BACKEND_NORM_H

#include "backend/draw.h"
#include "backend/function.h"
#include "tensor/tensor.h"

/* sum = x + dropout(branch); y = norm(sum) * gain + bias. stat: [rows,2] mean (0 for rms) and 1/sd. branch,
 * sum, gain, bias may be NULL. */
typedef struct hd_norm_args {
    const hd_tensor *y, *sum, *stat, *x, *branch, *gain, *bias;
    float eps;
    bool rms;
    bool from_one; /* 1 is added to the gain */
    hd_draw draw;
} hd_norm_args;

/* d = gradient of dy through the norm, + dsum; dx (+)= d; dbranch (+)= dropout(d); dgain, dbias += column
   sums. sum is the normed input. */
typedef struct hd_norm_back_args {
    const hd_tensor *dx, *dbranch, *dgain, *dbias, *dy, *dsum, *sum, *stat, *gain;
    bool rms, from_one, add_x, add_branch;
    hd_draw draw;
} hd_norm_back_args;

/* Norms over rows: group norm and batch norm are one pair of kernels. A set of rows has statistics of its
   own: all rows of items together, or those of each item; and in it each group of columns that lie side by
   side.

   y = act((x - mean) / sqrt(variance + eps) * gain + bias + add); `before` keeps the value before act. Rows
   of no item are not read, and get zeros. Batch norm: together, and as many groups as columns. While it
   learns, mean and variance are those of x, and the running ones are renewed: running = (1 - momentum)
   running + momentum * new, with the variance as it is estimated from a sample (divided by rows - 1), unless
   they are NULL or the new ones are not finite. With `given` the running ones are used, and x has no say. */
typedef struct hd_group_norm_args {
    const hd_tensor *y, *before, *x, *add, *gain, *bias; /* before, add, gain, bias may be NULL */
    const hd_tensor *stat; /* [2 * sets, C] hd_real, written: row 2s the mean, 2s + 1 1/sd of set s */
    const hd_tensor *mean, *variance; /* [C] running; or NULL */
    const hd_seg *seg;                /* NULL: all rows are of one item */
    int groups;                       /* of equal width */
    bool together, given;
    float eps, momentum;
    hd_unary act;
} hd_group_norm_args;

/* dx (+)= the gradient of x from dz, that of the value before act; dgain, dbias += sums. dx, dgain, dbias may
   be NULL. Rows of no item are not read, and get zeros: in dz, too, and in dx where it is written. */
typedef struct hd_group_norm_back_args {
    const hd_tensor *dx, *dgain, *dbias, *dz, *x, *gain, *stat;
    const hd_seg *seg;
    int groups;
    bool together, given, add;
} hd_group_norm_back_args;

/* Sets of rows that have statistics of their own. */
static inline size_t hd_group_sets(const hd_seg *seg, bool together)
{
    return together || !seg ? 1 : seg->items;
}

#endif
