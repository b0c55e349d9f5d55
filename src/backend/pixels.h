/* Pictures in backend memory: bytes as they were decoded and augmented. What a byte is worth is a table, so
   that normalization is that of the host, bit for bit. */
#ifndef HD_BACKEND_PIXELS_H
#define HD_BACKEND_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/tensor.h"

typedef struct hd_pixels {
    const uint8_t
        *bytes; /* pictures one behind the other; rows of pixels, the channels of a pixel together */
    const int32_t *begin;     /* [items] first byte of each */
    const int32_t *size;      /* [items, 2] height and width in pixels; 0, 0: none */
    const int32_t *host_size; /* the same in host memory */
    const int32_t *key;       /* [items] number of a picture in its set, for random draws; NULL: the index */
    const hd_real *worth;     /* [channels, 256] */
    int channels;             /* 1 or 3 */
    size_t items;
} hd_pixels;

#endif
