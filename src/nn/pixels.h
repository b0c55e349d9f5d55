/* Pictures sent to the backend. */
#ifndef HD_NN_PIXELS_H
#define HD_NN_PIXELS_H

#include "backend/pixels.h"
#include "data/image/loader.h"
#include "op/op.h"

/* Sends the pictures of a batch, before anything of the step is captured; p says what their bytes are worth.
   Draws go by their numbers in the set, or without these by their place. Nothing is filled up: the shape of a
   step has to mix in hd_shape_of_sizes. *out lives as long as the step; false on failure. */
bool hd_pixels_send(hd_run *r, hd_pixels *out, const hd_image_batch *b, const hd_image_prepare *p);

#endif
