/* What a layer that reads a sentence has to wait for: measured at several lengths of one sentence x
   [HD_WAIT_LONGEST, HD_WAIT_WIDTH]. */
#ifndef HD_LAB_MEMORY_WAIT_H
#define HD_LAB_MEMORY_WAIT_H

#include "lab/memory/net.h"

enum { HD_WAIT_WIDTH = 128, HD_WAIT_LONGEST = 256 };

/* Operations that stand one behind the other. */
hd_status hd_wait_depths(double *depth, hd_net *n, const hd_real *x, const int32_t *lengths, int count,
                         hd_err *err);
/* Pairs of words that are compared. */
hd_status hd_wait_pairs(double *pairs, hd_net *n, const hd_real *x, const int32_t *lengths, int count,
                        hd_err *err);
/* Milliseconds until the last word's row is known, the least of several passes. */
hd_status hd_wait_times(double *ms, hd_net *n, const hd_real *x, const int32_t *lengths, int count,
                        hd_err *err);

#endif
