/* What a cache and its slots ask of each other (cache.h is for all others). */
#ifndef HD_NN_SLOT_H
#define HD_NN_SLOT_H

#include "nn/cache/cache.h"

/* Storage for n rows in place of what the slot has, which is handed to the caller. */
bool hd_slot_replace(hd_run *r, hd_slot *s, size_t n, size_t cols, hd_dtype type, hd_tensor *old);
/* Copies the first rows of what it had to storage that is larger, and drops that. */
void hd_slot_take_over(hd_run *r, hd_slot *s, const hd_tensor *from, size_t rows);
void hd_slot_drop(hd_cache *c, const hd_tensor *old); /* accepts {0} */

/* Blocks for the FIXED rows of the items of this step, of as many as seg has; once for all slots. */
bool hd_cache_lay(hd_run *r, hd_cache *c, const hd_seg *seg);
/* Where FIXED rows lie, and whether single queries ask for them. */
hd_seg *hd_cache_fixed_rows(hd_run *r, const hd_cache *c, bool *single);

#endif
