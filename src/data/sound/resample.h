/* Conversion between rates after torchaudio. An output sample depends on the input around it alone, so that
   pieces give what the whole gives. */
#ifndef HD_DATA_SOUND_RESAMPLE_H
#define HD_DATA_SOUND_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_resampler hd_resampler;

/* Both rates are within the limits of sounds. */
hd_status hd_resampler_new(hd_resampler **out, int from, int to, hd_err *err);
void hd_resampler_free(hd_resampler *r);      /* accepts NULL */
int hd_resampler_rate(const hd_resampler *r); /* that it converts to */

/* Where the input comes from: samples from .. from+count-1, all of which are there. */
typedef struct hd_resampler_input {
    hd_status (*read)(void *context, size_t from, size_t count, float *to, hd_err *err);
    void *context;
    size_t count; /* of the whole input */
} hd_resampler_input;

/* Output samples from .. from+count-1. */
hd_status hd_resampler_run(hd_resampler *r, const hd_resampler_input *in, size_t from, size_t count,
                           float *to, hd_err *err);

#endif
