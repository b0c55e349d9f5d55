/* The part of a picture that a model gets to see, at the size that it reads. */
#ifndef HD_DATA_IMAGE_AUGMENT_PART_H
#define HD_DATA_IMAGE_AUGMENT_PART_H

#include "base/rng.h"
#include "data/image/augment.h"
#include "data/image/augment/warp.h"

/* hd_image_prepared, with boxes. */
hd_status hd_part_prepared(hd_image *out, const hd_image *in, hd_boxes b, const hd_image_prepare *p,
                           hd_err *err);

/* A part of a picture of this size, drawn by `crop`; ratio: of width to height. */
hd_image_part hd_part_draw(int width, int height, hd_boxes b, const hd_augment *a, double ratio, hd_rng *rng);

/* That part at the size a model reads. */
hd_status hd_part_resized(hd_image *out, const hd_image *in, hd_boxes b, hd_image_part r, int width,
                          int height, const hd_image_prepare *p, hd_err *err);

/* A part drawn by `crop` or the scales of the options, resized; without these options as above. Where there
   are boxes, the center of one of them is in it. */
hd_status hd_part_drawn(hd_image *out, const hd_image *in, hd_boxes b, const hd_augment *a,
                        const hd_image_prepare *p, hd_rng rng, hd_err *err);

#endif
