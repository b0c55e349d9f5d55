/* Pictures on their way to the backend. */
#include "nn/pixels.h"

#include <string.h>

enum { BYTES = 256 }; /* values of one */

static void *sent(hd_run *r, const void *host, size_t bytes)
{
    void *p = hd_step_take(r, bytes);
    if (p) r->backend->upload(r->backend, p, host, bytes);
    return p;
}

bool hd_pixels_send(hd_run *r, hd_pixels *out, const hd_image_batch *b, const hd_image_prepare *p)
{
    size_t sizes = 2 * b->items * sizeof *b->size, worths = (size_t)b->channels * BYTES;
    int32_t *size = hd_host_take(r, sizes + 1);
    hd_real *worth = hd_host_take(r, worths * sizeof *worth);
    *out = (hd_pixels){0};
    if (!size || !worth) return false;
    if (b->channels != p->channels)
        return hd_fail(r, HD_EARG, "pictures of %d channels are to be read with %d", b->channels,
                       p->channels) != NULL;
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
    return !r->err.status;
}
