/* SpecAugment (Park et al. 2019): time is warped, bands of bins and stretches of frames are masked. What it
   does is a function of the options, the size and the key. */
#ifndef HD_DATA_SOUND_SPEC_AUGMENT_H
#define HD_DATA_SOUND_SPEC_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_spec_augment {
    int warp;                /* W: frames by which a point moves at most; 0: none does */
    int bins, bin_masks;     /* F: bins of a mask at most; how many masks */
    int frames, frame_masks; /* T: frames of a mask at most; how many masks */
    double share;            /* p: of all frames that a mask has at most; 0: 1 */
} hd_spec_augment;

hd_status hd_spec_augment_check(const hd_spec_augment *o, hd_err *err);
static inline bool hd_spec_augment_any(const hd_spec_augment *o)
{
    return o->warp || (o->bins && o->bin_masks) || (o->frames && o->frame_masks);
}

/* value [frames, mels] in place; masks are filled with the mean of all values. */
hd_status hd_spec_augment_apply(const hd_spec_augment *o, float *value, size_t frames, size_t mels,
                                uint64_t key, hd_err *err);

#endif
