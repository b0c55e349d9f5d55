/* Sound for people to look at: its features as a picture. */
#ifndef HD_SHOW_SOUND_SPECTROGRAM_H
#define HD_SHOW_SOUND_SPECTROGRAM_H

#include "data/image/image.h"

/* frame [frames, bins]: time runs right, low bins are at the bottom, loud is bright; red, green and blue.
   Long sounds are shrunk to what can be looked at. */
hd_status hd_spectrogram(hd_image *out, const float *frame, size_t frames, size_t bins, hd_err *err);

#endif
