/* What a word that is changed changes elsewhere, in layers of attention with masks. */
#ifndef HD_LAB_ATTENTION_LEAK_H
#define HD_LAB_ATTENTION_LEAK_H

#include "nn/layer.h"

enum { HD_LEAK_LENGTH = 6, HD_LEAK_LAYERS = 2 };

/* moved [word][row]: how far a row of the result moves at most when a word is another one; mask
   [HD_LEAK_LAYERS]. */
hd_status hd_leak_of(double *moved, hd_run *r, const hd_mask *mask, uint64_t seed, hd_err *err);

#endif
