/* Triangles that gather the bins of a spectrum into mels. */
#ifndef HD_DATA_SOUND_MEL_H
#define HD_DATA_SOUND_MEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct hd_mel {
    size_t mels;
    size_t *first, *count; /* [mels] bins under the triangle */
    size_t *begin;         /* [mels] in weight */
    float *weight;
} hd_mel;

/* Of a spectrum of size/2 + 1 bins. kaldi: its scale, triangles in mels; else Slaney's, triangles in Hz of
   area 1. */
hd_status hd_mel_init(hd_mel *m, bool kaldi, size_t mels, size_t size, double rate, double low, double high,
                      hd_err *err);
void hd_mel_release(hd_mel *m); /* accepts {0} */

/* Sums of the bins, [mels]. */
void hd_mel_apply(const hd_mel *m, float *to, const float *power);

#endif
