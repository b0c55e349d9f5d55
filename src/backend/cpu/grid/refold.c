/* Segments whose rows are several rows of other ones. */
#include "backend/cpu/cpu.h"

hd_status KERNEL(refold)(hd_backend *b, const hd_refold_args *a)
{
    size_t row = 0;
    (void)b;
    for (size_t i = 0; i < a->from->items; i++) {
        int32_t n = (a->from->len[i] + a->k - 1) / a->k;
        a->begin[i] = (int32_t)row, a->len[i] = n;
        for (int32_t j = 0; j < n; j++, row++) a->item[row] = (int32_t)i, a->pos[row] = j;
    }
    for (; row < a->rows; row++) a->item[row] = -1, a->pos[row] = 0;
    return HD_OK;
}
