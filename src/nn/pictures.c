/* Sending pictures. All is sent before the first kernel is called, always in the same order: the rest can
   then be captured. */
#include "nn/pictures.h"

#include <string.h>

#include "op/replay.h"

enum { LEVELS = 256 };

/* Begin, size and key of each in one block. */
static bool send_numbers(hd_run *r, hd_pixels *out, const hd_image_batch *b)
{
    size_t n = b->items;
    int32_t *all = hd_host_take(r, (4 * n + 1) * sizeof *all), *size = all + n, *key = size + 2 * n;
    if (!all) return false;
    memcpy(all, b->begin, n * sizeof *all);
    memcpy(size, b->size, 2 * n * sizeof *size);
    for (size_t i = 0; i < n; i++) key[i] = b->which ? (int32_t)b->which[i] : (int32_t)i;
    const int32_t *sent = hd_ints(r, all, 4 * n);
    if (!sent) return false;
    out->begin = sent, out->size = sent + n, out->key = sent + 3 * n, out->host_size = size;
    return true;
}

uint64_t hd_pixels_send(hd_run *r, hd_pixels *out, const hd_image_batch *b, const hd_image_prepare *p)
{
    *out = (hd_pixels){.channels = b->channels, .items = b->items};
    hd_real *worth = hd_host_take(r, 3 * LEVELS * sizeof *worth);
    if (!worth || !send_numbers(r, out, b)) return 0;
    hd_image_worth(worth, p);
    const hd_tensor *sent = hd_from(r, (size_t)b->channels, LEVELS, worth);
    uint8_t *bytes = hd_step_take(r, b->byte_count);
    if (!sent || !bytes) return 0;
    r->backend->upload(r->backend, bytes, b->bytes, b->byte_count);
    out->worth = sent->data, out->bytes = bytes;
    return hd_shape_mix(hd_shape_of_sizes(out->host_size, b->items), (uint64_t)b->channels);
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
