/* SpecAugment. Easy to get wrong: warp, bins and frames each have draws of their own, so that one option does
   not move what another does. */
#include "data/sound/spec_augment.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { MASKS_MOST = 1000, SIZE_MOST = 1 << 20 };
enum { WARP, BINS, FRAMES }; /* streams of the key */

hd_status hd_spec_augment_check(const hd_spec_augment *o, hd_err *err)
{
    const int sizes[] = {o->warp, o->bins, o->frames};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 0 || sizes[i] > SIZE_MOST)
            return hd_err_set(err, HD_EARG, "SpecAugment: a width of %d: at least 0, at most %d", sizes[i],
                              SIZE_MOST);
    if (o->bin_masks < 0 || o->frame_masks < 0 || o->bin_masks > MASKS_MOST || o->frame_masks > MASKS_MOST)
        return hd_err_set(err, HD_EARG, "SpecAugment: %d and %d masks: at least 0, at most %d", o->bin_masks,
                          o->frame_masks, MASKS_MOST);
    if (!(o->share >= 0 && o->share <= 1))
        return hd_err_set(err, HD_EARG, "SpecAugment: a share of %g of the frames: between 0 and 1",
                          o->share);
    return HD_OK;
}

/* Moves the frame at `point` to `to` and stretches both sides, between neighboring frames linearly. */
static void warp(float *value, const float *old, size_t frames, size_t mels, double point, double to)
{
    const double last = (double)(frames - 1);
    for (size_t t = 0; t < frames; t++) {
        const double now = (double)t;
        double at = now < to ? now * point / to : point + (now - to) * (last - point) / (last - to);
        at = fmin(fmax(at, 0), last);
        const size_t left = (size_t)at, right = left + 1 < frames ? left + 1 : left;
        const float share = (float)(at - (double)left);
        for (size_t m = 0; m < mels; m++)
            value[t * mels + m] =
                old[left * mels + m] + share * (old[right * mels + m] - old[left * mels + m]);
    }
}

static hd_status warp_time(const hd_spec_augment *o, float *value, size_t frames, size_t mels, uint64_t key,
                           hd_err *err)
{
    const size_t most = (size_t)o->warp;
    hd_rng rng = hd_rng_make(key, WARP);
    if (!most || frames <= 2 * most + 2) return HD_OK; /* no room for both sides */
    const size_t point = most + 1 + hd_rng_below(&rng, (uint32_t)(frames - 2 * most - 2));
    const size_t to = point - most + hd_rng_below(&rng, (uint32_t)(2 * most + 1));
    float *old = hd_mem_new(frames * mels * sizeof *old);
    if (!old) return hd_err_nomem(err, frames * mels * sizeof *old);
    memcpy(old, value, frames * mels * sizeof *old);
    warp(value, old, frames, mels, (double)point, (double)to);
    hd_mem_free(old);
    return HD_OK;
}

static float mean_of(const float *value, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)value[i];
    return (float)(sum / (double)count);
}

/* A width of 0 .. most and where it begins, in `all`. */
static size_t draw(hd_rng *rng, size_t most, size_t all, size_t *begin)
{
    const size_t width = hd_rng_below(rng, (uint32_t)(most < all ? most : all) + 1);
    *begin = hd_rng_below(rng, (uint32_t)(all - width) + 1);
    return width;
}

hd_status hd_spec_augment_apply(const hd_spec_augment *o, float *value, size_t frames, size_t mels,
                                uint64_t key, hd_err *err)
{
    if (!frames || !mels || frames > UINT32_MAX / 2) return HD_OK;
    hd_status s = warp_time(o, value, frames, mels, key, err);
    if (s) return s;
    const float mean = mean_of(value, frames * mels);
    const size_t share = o->share > 0 ? (size_t)(o->share * (double)frames) : frames,
                 most = (size_t)o->frames < share ? (size_t)o->frames : share;
    hd_rng bins = hd_rng_make(key, BINS), times = hd_rng_make(key, FRAMES);
    for (int i = 0; i < o->bin_masks; i++) {
        size_t begin, width = draw(&bins, (size_t)o->bins, mels, &begin);
        for (size_t t = 0; t < frames; t++)
            for (size_t m = begin; m < begin + width; m++) value[t * mels + m] = mean;
    }
    for (int i = 0; i < o->frame_masks; i++) {
        size_t begin, width = draw(&times, most, frames, &begin);
        for (size_t k = begin * mels; k < (begin + width) * mels; k++) value[k] = mean;
    }
    return HD_OK;
}
