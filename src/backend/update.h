/* What the kernels of optimizers take: passes over the flat buffers of values, gradients and moments. */
#ifndef HD_BACKEND_UPDATE_H
#define HD_BACKEND_UPDATE_H

#include "backend/step.h"
#include "tensor/tensor.h"

/* sum[0] (double) += sum of squares of the flat buffer */
typedef struct hd_square_sum_args {
    double *sum;
    const hd_real *x;
    size_t count;
} hd_square_sum_args;

/* From the sum of squares: step.norm, step.clip (limit 0: none) and step.skip; sets the sum back to 0.
   Counts the update unless it is skipped: the host need not know. */
typedef struct hd_clip_args {
    hd_step *step;
    double *sum;
    uint32_t *updates;
    float limit;
} hd_clip_args;

typedef enum hd_rule { HD_SGD, HD_ADAM } hd_rule;

/* One pass over the flat buffers: g = grad * clip / weight, the rule, then grad = 0. decay is decoupled
 * (AdamW) or added to g. */
typedef struct hd_update_args {
    hd_real *value, *grad, *first,
        *second;      /* first: momentum or m; second: v of Adam; NULL if the rule needs none */
    uint16_t *shadow; /* bf16 copy of value, updated with it; NULL: none. value NULL: the only one, which is
                         rounded by chance (backend/rounding.h) */
    size_t place;     /* of the first number, for that */
    size_t count;
    const hd_step *step;
    hd_rule rule;
    float factor; /* of the learning rate, by parameter group */
    float momentum, beta1, beta2, eps, decay;
    bool decoupled, nesterov;
} hd_update_args;

/* Muon's steps for a matrix, around its products. First its direction: g = grad * clip / weight, first = m *
   first + (1 - m) * g, y = m * first + (1 - m) * g, grad = 0; of a skipped step grad = 0 alone. */
typedef struct hd_moment_args {
    hd_real *y, *grad, *first;
    size_t count;
    const hd_step *step;
    float momentum;
} hd_moment_args;

/* y = x / (sqrt(*sum) + 1e-7), and *sum = 0. x is flat, y dense of as many numbers. */
typedef struct hd_unit_args {
    const hd_tensor *y;
    const hd_real *x;
    double *sum;
} hd_unit_args;

/* value = (1 - rate * decay) * value - rate * scale * x, with the step's rate times `factor`, unless it is
   skipped. x is dense, value flat. */
typedef struct hd_descend_args {
    hd_real *value;
    uint16_t *shadow; /* as of update */
    size_t place;
    const hd_tensor *x;
    const hd_step *step;
    float factor, decay, scale;
} hd_descend_args;

/* mean = d * mean + (1 - d) * value, unless the step is skipped. d is `decay`, in early updates t at most
   (1 + t) / (10 + t), so that the initial values are soon forgotten. */
typedef struct hd_average_args {
    hd_real *mean;
    const hd_real *value;
    size_t count;
    float decay;
    const hd_step *step;
} hd_average_args;

/* Updates a bf16 copy of values. */
typedef struct hd_cast_args {
    uint16_t *shadow;
    const hd_real *value;
    size_t count;
} hd_cast_args;

#endif
