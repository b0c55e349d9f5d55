/* The slope of a softmax: the engine's gradient, beside what differences give. */
#ifndef HD_LAB_DECODING_SLOPE_H
#define HD_LAB_DECODING_SLOPE_H

#include "op/run.h"

enum { HD_SLOPE_WORDS = 16 }; /* most */

typedef struct hd_slope {
    double size, gap; /* the largest number of the gradient, and the largest difference of the two */
} hd_slope;

/* Of the sum of softmax(x / heat), weighed by `by`, at x. */
hd_status hd_slope_measure(hd_slope *to, hd_run *r, const double *x, const double *by, size_t words,
                           double heat, hd_err *err);

#endif
