/* Pictures on their way to a backend. */
#ifndef HD_NN_PICTURES_H
#define HD_NN_PICTURES_H

#include "backend/pixels.h"
#include "data/image/loader.h"
#include "op/run.h"

/* Sends a batch of pictures, whose numbers in their set are the keys of random draws, with what a byte is
   worth to a model that reads them so. The number tells the shape, for op/replay.h. A failure stays in the
   run. */
uint64_t hd_pixels_send(hd_run *r, hd_pixels *out, const hd_image_batch *b, const hd_image_prepare *p);
/* The same of pictures that are all there, each prepared: to ask a model for something. */
uint64_t hd_pixels_send_images(hd_run *r, hd_pixels *out, const hd_image *const *image, size_t count,
                               const hd_image_prepare *p);

#endif
