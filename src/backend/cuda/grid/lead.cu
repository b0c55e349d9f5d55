/* Segments with rows before those of each item: a block for each item, and one for the rows behind them. */
#include "backend/cuda/device.h"

enum { THREADS = 256 };

typedef struct leading {
    int32_t *begin, *len, *item, *pos, *index;
    const int32_t *from_begin, *from_len;
    int items, rows, lead;
} leading;

static __global__ void lead_rows(leading l)
{
    __shared__ int before; /* items before this one that are not empty */
    int i = (int)blockIdx.x, mine = 0;
    if (!threadIdx.x) before = 0;
    __syncthreads();
    for (int k = (int)threadIdx.x; k < i; k += THREADS) mine += l.from_len[k] != 0;
    if (mine) atomicAdd(&before, mine);
    __syncthreads();
    if (i == l.items) {
        int live = i ? l.from_begin[i - 1] + l.from_len[i - 1] + before * l.lead : 0;
        for (int row = live + (int)threadIdx.x; row < l.rows; row += THREADS)
            l.item[row] = l.index[row] = -1, l.pos[row] = 0;
        return;
    }
    int inside = l.from_len[i], first = l.from_begin[i], begin = first + before * l.lead;
    int all = inside ? inside + l.lead : 0;
    if (!threadIdx.x) l.begin[i] = begin, l.len[i] = all;
    for (int j = (int)threadIdx.x; j < all; j += THREADS) {
        l.item[begin + j] = i, l.pos[begin + j] = j;
        l.index[begin + j] = j < l.lead ? -1 : first + j - l.lead;
    }
}

extern "C" hd_status hd_cuda_lead(hd_backend *b, const hd_lead_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    const hd_seg *from = a->from;
    leading l = {a->begin,    a->len,    a->item,          a->pos,       a->index,
                 from->begin, from->len, (int)from->items, (int)a->rows, (int)a->lead};
    lead_rows<<<(unsigned)from->items + 1, THREADS, 0, c->stream>>>(l);
    return hd_cuda_done(c, "lead");
}
