/* Segments whose rows are several rows of other ones: a block for each item, and one for the rows behind
   them. */
#include "backend/cuda/device.h"

enum { THREADS = 256 };

typedef struct refolding {
    int32_t *begin, *len, *item, *pos;
    const int32_t *from_len;
    int items, rows, k;
} refolding;

static __global__ void refold_rows(refolding f)
{
    __shared__ int before; /* rows of the items before this one */
    int i = (int)blockIdx.x, mine = 0;
    if (!threadIdx.x) before = 0;
    __syncthreads();
    for (int j = (int)threadIdx.x; j < i; j += THREADS) mine += (f.from_len[j] + f.k - 1) / f.k;
    if (mine) atomicAdd(&before, mine);
    __syncthreads();
    if (i == f.items) {
        for (int row = before + (int)threadIdx.x; row < f.rows; row += THREADS)
            f.item[row] = -1, f.pos[row] = 0;
        return;
    }
    int begin = before, n = (f.from_len[i] + f.k - 1) / f.k;
    if (!threadIdx.x) f.begin[i] = begin, f.len[i] = n;
    for (int j = (int)threadIdx.x; j < n; j += THREADS) f.item[begin + j] = i, f.pos[begin + j] = j;
}

extern "C" hd_status hd_cuda_refold(hd_backend *b, const hd_refold_args *a)
{
    hd_cuda *c = (hd_cuda *)b;
    refolding f = {a->begin, a->len, a->item, a->pos, a->from->len, (int)a->from->items, (int)a->rows, a->k};
    refold_rows<<<(unsigned)a->from->items + 1, THREADS, 0, c->stream>>>(f);
    return hd_cuda_done(c, "refold");
}
