/* Power spectra of frames: the Fourier transform as a product with matrices of cosines and sines. */
#ifndef HD_DATA_SOUND_SPECTRUM_H
#define HD_DATA_SOUND_SPECTRUM_H

#include <stddef.h>

#include "base/status.h"

enum { HD_SPECTRUM_FRAMES = 64 }; /* at most at once */

typedef struct hd_spectrum {
    size_t size;          /* samples of a frame */
    size_t bins;          /* size / 2 + 1 */
    size_t half;          /* rows of a matrix: size / 2 + 1 */
    size_t blocks;        /* of bins */
    float *cosine, *sine; /* [blocks, half, bins of a block] */
} hd_spectrum;

hd_status hd_spectrum_init(hd_spectrum *s, size_t size, hd_err *err);
void hd_spectrum_release(hd_spectrum *s); /* accepts {0} */

/* Floats of scratch that hd_spectrum_power needs. */
size_t hd_spectrum_scratch(const hd_spectrum *s);

/* |transform|^2 of each frame: frame [frames, size] to power [frames, bins]. What a frame gives does not
   depend on the others. */
void hd_spectrum_power(const hd_spectrum *s, float *power, const float *frame, size_t frames, float *scratch);

#endif
