/* Spectrograms. Colors are matplotlib's "magma": even steps to the eye, right in grey and for the
   color-blind. */
#include "show/sound/spectrogram.h"

#include <math.h>

enum { STOPS = 9, WIDEST = 1500, TALLEST = 256 };

static const uint8_t magma[STOPS][3] = {{0, 0, 4},      {28, 16, 68},    {79, 18, 123},
                                        {129, 37, 129}, {181, 54, 122},  {229, 80, 100},
                                        {251, 135, 97}, {254, 194, 135}, {252, 253, 191}};

static void color(uint8_t *to, double share)
{
    double at = share > 0 ? fmin(share, 1) * (STOPS - 1) : 0;
    int i = at < STOPS - 1 ? (int)at : STOPS - 2;
    for (int c = 0; c < 3; c++)
        to[c] = (uint8_t)lround(magma[i][c] + (magma[i + 1][c] - magma[i][c]) * (at - i));
}

/* One bright click must not make the rest dark: the scale ends three deviations above the mean. */
static void range_of(const float *x, size_t count, double *low, double *high)
{
    double sum = 0, squares = 0, most = -INFINITY, least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double v = (double)x[i];
        sum += v, squares += v * v;
        most = fmax(most, v), least = fmin(least, v);
    }
    double mean = sum / (double)count, deviation = sqrt(fmax(0, squares / (double)count - mean * mean));
    *low = fmax(least, mean - 3 * deviation), *high = fmin(most, mean + 3 * deviation);
}

hd_status hd_spectrogram(hd_image *out, const float *frame, size_t frames, size_t bins, hd_err *err)
{
    hd_image whole = {0};
    double low, high;
    *out = (hd_image){0};
    if (!frames || !bins || frames > HD_IMAGE_MOST_SIDE || bins > HD_IMAGE_MOST_SIDE)
        return hd_err_set(err, HD_ELIMIT, "a spectrogram of %zu frames and %zu bins", frames, bins);
    hd_status s = hd_image_make(&whole, (int)frames, (int)bins, 3, "spectrogram", err);
    if (s) return s;
    range_of(frame, frames * bins, &low, &high);
    for (size_t t = 0; t < frames; t++)
        for (size_t b = 0; b < bins; b++)
            color(whole.pixel + 3 * ((bins - 1 - b) * frames + t),
                  high > low ? ((double)frame[t * bins + b] - low) / (high - low) : 0);
    if (frames <= WIDEST && bins <= TALLEST) {
        *out = whole;
        return HD_OK;
    }
    s = hd_image_resize(out, &whole, frames < WIDEST ? (int)frames : WIDEST,
                        bins < TALLEST ? (int)bins : TALLEST, HD_FILTER_BOX, err);
    hd_image_release(&whole);
    return s;
}
