/* Reads single numbers out of rows that lie in backend memory. */
#ifndef HD_DECODE_PEEK_H
#define HD_DECODE_PEEK_H

#include "op/op.h"

/* out[i] = x[row[i]][column[i]]; x must be dense. False after a failure, which stays in the run: also where a
   number is NaN. */
bool hd_peek(hd_run *r, hd_tensor *x, const int32_t *row, const int32_t *column, size_t count, hd_real *out);

#endif
