/* Segments with rows before those of each item. */
#include "backend/cpu/cpu.h"

hd_status KERNEL(lead)(hd_backend *b, const hd_lead_args *a)
{
    const hd_seg *from = a->from;
    size_t row = 0;
    (void)b;
    for (size_t i = 0; i < from->items; i++) {
        int32_t inside = from->len[i], all = inside ? inside + a->lead : 0;
        a->begin[i] = (int32_t)row, a->len[i] = all;
        for (int32_t j = 0; j < all; j++, row++) {
            a->item[row] = (int32_t)i, a->pos[row] = j;
            a->index[row] = j < a->lead ? -1 : from->begin[i] + j - a->lead;
        }
    }
    for (; row < a->rows; row++) a->item[row] = a->index[row] = -1, a->pos[row] = 0;
    return HD_OK;
}
