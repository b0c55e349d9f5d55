/* Frames on their way to the backend. */
#include "nn/frames.h"

#include "op/replay.h"

uint64_t hd_frames_send(hd_run *r, hd_frames *out, const hd_frames_host *in)
{
    size_t live = 0;
    *out = (hd_frames){0};
    for (size_t i = 0; i < in->items; i++) {
        if (in->frames[i] < 0) return hd_fail(r, HD_EARG, "item %zu has %d frames", i, in->frames[i]), 0;
        live += (size_t)in->frames[i];
    }
    const hd_bounds bounds = hd_bounds_now(r, in->frames, in->items);
    if (in->bins && bounds.rows > SIZE_MAX / sizeof(hd_real) / in->bins)
        return hd_fail(r, HD_ELIMIT, "a batch of %zu frames is too large", live), 0;
    int32_t *size = hd_host_take(r, (2 * in->items + 1) * sizeof *size);
    for (size_t i = 0; size && i < in->items; i++) size[2 * i] = 1, size[2 * i + 1] = in->frames[i];
    const hd_seg *seg = !size      ? NULL
                        : in->grid ? hd_grid_within(r, size, in->items, in->number, bounds)
                                   : hd_seg_within(r, in->frames, in->items, in->number, bounds);
    hd_real *host = hd_host_take(r, (bounds.rows * in->bins + 1) * sizeof *host);
    if (!seg || !host) return 0;
    for (size_t i = 0; i < live * in->bins; i++) host[i] = in->value[i];
    const hd_tensor *sent = hd_from(r, bounds.rows, in->bins, host);
    if (!sent) return 0;
    *out = (hd_frames){.value = sent->data, .seg = seg, .bins = in->bins};
    uint64_t shape = hd_shape_mix(hd_shape_of(bounds, live), in->bins);
    return (in->grid ? hd_shape_mix(shape, hd_shape_of_sizes(size, in->items)) : shape) | 1;
}
