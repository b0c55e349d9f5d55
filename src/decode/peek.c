/* Single numbers are rows of one column: gathered there, they come to the host in one transfer, with their
 * bits. */
#include "decode/peek.h"

#include <math.h>

bool hd_peek(hd_run *r, hd_tensor *x, const int32_t *row, const int32_t *column, size_t count, hd_real *out)
{
    if (!x || r->err.status) return false;
    if (!count) return true;
    size_t cols = hd_cols_of(x), all = hd_rows_of(x) * cols;
    if (all > INT32_MAX)
        return hd_fail(r, HD_ELIMIT, "search: %zu rows are too many at once", hd_rows_of(x)), false;
    int32_t *index = hd_host_take(r, count * sizeof *index);
    if (!index) return false;
    for (size_t i = 0; i < count; i++) index[i] = (int32_t)((size_t)row[i] * cols + (size_t)column[i]);
    hd_tensor flat = hd_shaped(x->data, x->dtype, 2, (const size_t[]){all, 1});
    if (!hd_read(r, hd_gather(r, &flat, hd_ints(r, index, count), count, 1), out)) return false;
    for (size_t i = 0; i < count; i++)
        if (isnan(out[i])) return hd_fail_number(r), false;
    return true;
}
