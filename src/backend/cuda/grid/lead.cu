/* Segments with rows before those of each item. */
#include "backend/cuda/device.h"

typedef struct leading {
    int32_t *begin, *len, *item, *pos, *index;
    const int32_t *from_begin, *from_len;
    int items, rows, lead;
} leading;

/* Empty items are the last ones, and those that are not lie one behind the other. */
static __global__ void lead_rows(leading l)
{
    int i = (int)blockIdx.x;
    int inside = i < l.items ? l.from_len[i] : 0, all = inside ? inside + l.lead : 0;
    int first = i < l.items ? l.from_begin[i] : 0, begin = first + i * l.lead;
    if (i < l.items && !threadIdx.x) l.begin[i] = inside ? begin : 0, l.len[i] = all;
    for (int j = (int)threadIdx.x; j < all; j += (int)blockDim.x) {
        l.item[begin + j] = i, l.pos[begin + j] = j;
        l.index[begin + j] = j < l.lead ? -1 : first + j - l.lead;
    }
    if (i < l.items) return;
    int live = 0; /* rows of items: the block behind the last item fills the rest */
    for (int k = l.items - 1; k >= 0 && !live; k--)
        if (l.from_len[k]) live = l.from_begin[k] + l.from_len[k] + (k + 1) * l.lead;
    for (int row = live + (int)threadIdx.x; row < l.rows; row += (int)blockDim.x)
        l.item[row] = l.index[row] = -1, l.pos[row] = 0;
}

extern "C" hd_status hd_cuda_lead(hd_backend *b, const hd_lead_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    leading l = {a->begin,     a->len,         a->item,      a->pos,
                 a->index,     a->from->begin, a->from->len, (int)a->from->items,
                 (int)a->rows, (int)a->lead};
    lead_rows<<<(unsigned)a->from->items + 1, 256, 0, c->stream>>>(l);
    return hd_cuda_done(c, "lead");
}
