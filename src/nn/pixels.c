/* Pictures on their way to the backend. */
#include "nn/pixels.h"

#include <string.h>

#include "op/replay.h"

enum { BYTES = 256 }; /* values of one */

static void *sent(hd_run *r, const void *host, size_t bytes)
{
    void *p = hd_step_take(r, bytes);
    if (p) r->backend->upload(r->backend, p, host, bytes);
    return p;
}

uint64_t hd_pixels_send(hd_run *r, hd_pixels *out, const hd_image_batch *b, const hd_image_prepare *p)
{
    size_t sizes = 2 * b->items * sizeof *b->size, worths = (size_t)b->channels * BYTES;
    int32_t *size = hd_host_take(r, sizes + 1);
    hd_real *worth = hd_host_take(r, worths * sizeof *worth);
    *out = (hd_pixels){0};
    if (!size || !worth) return 0;
    if (b->channels != p->channels)
        return hd_fail(r, HD_EARG, "pictures of %d channels are to be read with %d", b->channels,
                       p->channels),
               0;
    memcpy(size, b->size, sizes);
    hd_image_worth(worth, p);
    const hd_tensor *table = hd_from(r, (size_t)b->channels, BYTES, worth);
    *out = (hd_pixels){.bytes = sent(r, b->bytes, b->byte_count),
                       .begin = hd_ints(r, b->begin, b->items),
                       .size = hd_ints(r, size, 2 * b->items),
                       .host_size = size,
                       .key = b->which ? sent(r, b->which, b->items * sizeof *b->which) : NULL,
                       .worth = table ? table->data : NULL,
                       .channels = b->channels,
                       .items = b->items};
    return r->err.status ? 0 : hd_shape_mix(hd_shape_of_sizes(size, b->items), (uint64_t)b->channels) | 1;
}

uint64_t hd_pixels_send_images(hd_run *r, hd_pixels *out, const hd_image *const *image, size_t count,
                               const hd_image_prepare *p)
{
    hd_image_batch b = {.items = count, .channels = p->channels};
    int32_t *begin = hd_host_take(r, (3 * count + 1) * sizeof *begin), *size = begin + count;
    *out = (hd_pixels){0};
    if (!begin) return 0;
    for (size_t i = 0; i < count; i++) {
        size[2 * i] = image[i]->height, size[2 * i + 1] = image[i]->width;
        if (image[i]->channels != p->channels)
            return hd_fail(r, HD_EARG, "a picture of %d channels: the model reads %d", image[i]->channels,
                           p->channels),
                   0;
        if (b.byte_count > INT32_MAX)
            return hd_fail(r, HD_ELIMIT, "the pictures of a batch are too large"), 0;
        begin[i] = (int32_t)b.byte_count;
        b.byte_count += (size_t)image[i]->height * (size_t)image[i]->width * (size_t)p->channels;
    }
    uint8_t *bytes = hd_host_take(r, b.byte_count + 1);
    if (!bytes) return 0;
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + begin[i], image[i]->pixel,
               (i + 1 < count ? (size_t)begin[i + 1] : b.byte_count) - (size_t)begin[i]);
    b.begin = begin, b.size = size, b.bytes = bytes;
    return hd_pixels_send(r, out, &b, p);
}
