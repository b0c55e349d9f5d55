/* Pictures sent to the backend. */
#ifndef HD_NN_PIXELS_H
#define HD_NN_PIXELS_H

#include "backend/pixels.h"
#include "data/image/loader.h"
#include "op/op.h"

/* Sends the pictures of a batch, before anything of the step is captured; p says what their bytes are worth.
   Draws go by their numbers in the set, or without these by their place. Nothing is filled up. Returns the
   shape that a captured step has to mix in (op/replay.h), 0 on failure. *out lives as long as the step. */
uint64_t hd_pixels_send(hd_run *r, hd_pixels *out, const hd_image_batch *b, const hd_image_prepare *p);
/* The same of pictures that are all there, each prepared: to ask a model for something. */
uint64_t hd_pixels_send_images(hd_run *r, hd_pixels *out, const hd_image *const *image, size_t count,
                               const hd_image_prepare *p);

#endif
