/* The desk: small matrices by hand on the engine, attention with what it computes on the way, and what came
   of it as numbers of the host. A failure stays in the run; numbers are then NaN. */
#ifndef HD_LAB_DESK_H
#define HD_LAB_DESK_H

#include "base/rng.h"
#include "lab/experiment.h"
#include "op/op.h"

/* [rows, cols] from numbers in row order; of independent normal ones. */
hd_tensor *hd_desk_rows(hd_run *r, size_t rows, size_t cols, const double *x);
hd_tensor *hd_desk_normal(hd_run *r, size_t rows, size_t cols, hd_rng *rng);
hd_tensor *hd_desk_unit(hd_run *r, size_t n); /* the unit matrix */
/* All rows as one item. */
hd_rows hd_desk_item(hd_run *r, hd_tensor *t);

/* All numbers of t, row by row. */
void hd_desk_read(double *to, hd_run *r, const hd_tensor *t);
/* Of each row the place of its largest number. */
void hd_desk_best(int32_t *to, hd_run *r, hd_tensor *scores);
/* The largest difference of two of one shape. */
double hd_desk_gap(hd_run *r, const hd_tensor *a, const hd_tensor *b);
double hd_desk_gap_to(hd_run *r, const hd_tensor *a, const double *b);

/* Attention of one item over another. An intermediate by its name ("scores", "scaled", "masked", "softmax"),
   [queries, keys] of each head in turn, goes to `to`. */
hd_tensor *hd_desk_attend(hd_run *r, hd_tensor *q, hd_tensor *k, hd_tensor *v, const hd_attend_opt *o,
                          const char *name, double *to);

#endif
