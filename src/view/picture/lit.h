/* A picture that is bright where weights are large, and dark and grey elsewhere. */
#ifndef HD_VIEW_PICTURE_LIT_H
#define HD_VIEW_PICTURE_LIT_H

#include "data/image/image.h"

/* weight [height, width], cells of a grid over the picture, drawn smoothly; `most` is fully bright. */
typedef struct hd_lit_opt {
    const float *weight;
    size_t height, width;
    double most;
} hd_lit_opt;

/* out is a picture of its own, im in red, green and blue with at most `side` pixels on a side. */
hd_status hd_picture_lit(hd_image *out, const hd_image *im, const hd_lit_opt *o, int side, hd_err *err);

#endif
