/* How well numbers that are guessed go with those that are true. */
#ifndef HD_METRIC_CORRELATION_H
#define HD_METRIC_CORRELATION_H

#include <stddef.h>

#include "base/status.h"

/* Pearson's r; NaN where either side does not vary, or there are fewer than two. */
double hd_pearson(const double *x, const double *y, size_t n);

/* Spearman's rho: Pearson's of the ranks, where those that are equal share the mean of theirs. */
hd_status hd_spearman(double *out, const double *x, const double *y, size_t n, hd_err *err);

#endif
