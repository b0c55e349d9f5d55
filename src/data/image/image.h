/* Pictures in memory: reading PNG and JPEG, writing PNG, resizing as Pillow does. Files are hostile: sizes
   are checked before anything is allocated for the pixels, and decoders fail with a text that names the file.
 */
#ifndef HD_DATA_IMAGE_IMAGE_H
#define HD_DATA_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum {
    HD_IMAGE_MOST_SIDE = 65535,
    HD_IMAGE_MOST_PIXELS = 178956970, /* what Pillow refuses to go beyond */
    HD_IMAGE_MOST_BYTES = 1 << 30,    /* of a file */
};

typedef struct hd_image {
    int width, height;
    int channels;   /* 1: grey; 3: red, green, blue */
    uint8_t *pixel; /* rows from the top, the channels of a pixel together; hd_mem */
} hd_image;

static inline size_t hd_image_bytes(const hd_image *im)
{
    return (size_t)im->width * (size_t)im->height * (size_t)im->channels;
}

/* A rectangle of a picture. */
typedef struct hd_image_part {
    int x, y, width, height;
} hd_image_part;

/* Says which part of a picture of this size is wanted; it lies within the picture. */
typedef struct hd_image_ask {
    hd_image_part (*part)(const void *context, int width, int height);
    const void *context;
} hd_image_ask;

/* Whether a picture may have this size; `name` is for the message. HD_ELIMIT, or HD_EFORMAT without a pixel.
 */
hd_status hd_image_check(int64_t width, int64_t height, const char *name, hd_err *err);

/* A picture of this size, pixels not set. */
hd_status hd_image_make(hd_image *out, int width, int height, int channels, const char *name, hd_err *err);
void hd_image_release(hd_image *im); /* accepts {0} */

/* By the first bytes: PNG or JPEG. Grey stays grey, palettes and CMYK become RGB, alpha is dropped, of 16
   bits the high byte is kept. Turns that EXIF asks for are not applied. `name` is for messages. */
hd_status hd_image_decode(hd_image *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err);
hd_status hd_image_read(hd_image *out, const char *path, hd_err *err);

/* The same at 1/2, 1/4 or 1/8 of the size where the result still has at least `side` pixels on its shorter
   side, if the format can (JPEG): much faster, and not the bits of decoding and resizing. For training.
   side 0: the whole size. ask: a part alone, as cut out of all of it; NULL: all of it. */
hd_status hd_image_decode_scaled(hd_image *out, const uint8_t *bytes, size_t size, int side,
                                 const hd_image_ask *ask, const char *name, hd_err *err);

/* Width, height and channels as decoding would give them, from the header alone; pixel stays NULL. */
hd_status hd_image_header(hd_image *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err);

/* The same, and whether the file is all there: one that does not end as pictures do is decoded to find out.
 */
hd_status hd_image_probe(hd_image *out, const uint8_t *bytes, size_t size, const char *name, hd_err *err);

/* Appends the picture as a PNG file. Equal pictures give equal bytes. */
hd_status hd_image_encode_png(hd_text *to, const hd_image *im, hd_err *err);
hd_status hd_image_write_png(const hd_image *im, const char *path, hd_err *err); /* whole or absent */

/* To 1 (0.299 red + 0.587 green + 0.114 blue, as Pillow's L) or 3 channels. */
hd_status hd_image_channels(hd_image *im, int channels, hd_err *err);

/* Of Pillow, with its numbers (`resample` in preprocessor_config.json), and their names there. */
#define HD_FILTER_LIST(X) \
    X(NEAREST, nearest)   \
    X(LANCZOS, lanczos)   \
    X(BILINEAR, bilinear) \
    X(BICUBIC, bicubic)   \
    X(BOX, box)           \
    X(HAMMING, hamming)

typedef enum hd_filter {
#define X(name, text) HD_FILTER_##name,
    HD_FILTER_LIST(X)
#undef X
        HD_FILTERS
} hd_filter;

/* Equal to Pillow 13 bit for bit. out is another picture than in. */
hd_status hd_image_resize(hd_image *out, const hd_image *in, int width, int height, hd_filter f, hd_err *err);
/* Equal to Pillow before 13, which always resized rows before columns. */
hd_status hd_image_resize_rows_first(hd_image *out, const hd_image *in, int width, int height, hd_filter f,
                                     hd_err *err);

/* A part; what lies outside of the picture is 0. */
hd_status hd_image_crop(hd_image *out, const hd_image *in, int x, int y, int width, int height, hd_err *err);

#endif
