/* Exact-size pool: returned blocks are reused for requests of the same size. For gradients, whose sizes
   recur layer after layer but whose lifetimes do not nest. */
#ifndef HD_BASE_POOL_H
#define HD_BASE_POOL_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct hd_pool {
    hd_allocator source;
    struct hd_pool_bin *bins; /* one per size, in a growing table */
    size_t bin_count, bin_room;
    size_t used, peak, owned; /* bytes handed out now, at most, and held from the source */
    size_t step_peak;         /* most handed out since the last reset */
    bool keep; /* never return blocks to the source before the release: their addresses are in use */
} hd_pool;

void hd_pool_init(hd_pool *p, hd_allocator source);
void hd_pool_release(hd_pool *p);             /* returns every block, also those still handed out */
void *hd_pool_take(hd_pool *p, size_t bytes); /* not cleared; NULL on failure */
void hd_pool_give(hd_pool *p, void *block,
                  size_t bytes); /* bytes as requested; block may be NULL; cannot fail */
void hd_pool_reset(hd_pool *p);  /* everything handed out counts as returned; sizes not requested since the
                                    last reset may go back to the source */

#endif
