/* Minimum assignment: which of the columns each row takes so that the costs add up to the least. */
#ifndef HD_METRIC_ASSIGNMENT_H
#define HD_METRIC_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* cost [rows, cols], row by row. column [rows] gets the column of each row; with fewer columns than rows,
   some rows have none: -1. No two rows share a column, and as many rows as possible have one. A cost that is
   NaN or infinite counts as worse than all finite ones together. Equal costs give the same answer every time.
 */
hd_status hd_assign(const double *cost, size_t rows, size_t cols, int32_t *column, hd_err *err);

#endif
