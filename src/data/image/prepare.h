/* How a model reads a picture: channels, size, part, and what a byte is worth. The keys of
   preprocessor_config.json; the result equals that of transformers with Pillow bit for bit. */
#ifndef HD_DATA_IMAGE_PREPARE_H
#define HD_DATA_IMAGE_PREPARE_H

#include "data/image/image.h"
#include "tensor/tensor.h"

typedef struct hd_image_prepare {
    int channels;
    bool resize;       /* to height x width, whatever the shape was; or, where these are 0, */
    int height, width; /* ... */
    int shortest;      /* ... the shorter side to this length with the shape kept, */
    int longest;       /* ... and the longer one to no more than this; 0: as long as it gets */
    hd_filter filter;
    int crop_height,
        crop_width; /* the part in the middle, of a smaller picture with 0 around; 0: all of it */
    double rescale; /* 1/255 as a rule */
    float mean[3], deviation[3]; /* of each channel, after rescale; 0 and 1: no change */
} hd_image_prepare;

/* Height and width of what hd_image_prepared makes of a picture of this size. HD_ELIMIT if too large. */
hd_status hd_image_prepared_size(int *height, int *width, const hd_image_prepare *p, int from_height,
                                 int from_width, hd_err *err);
hd_status hd_image_prepared(hd_image *out, const hd_image *in, const hd_image_prepare *p, hd_err *err);

/* worth [channels, 256]: rescaled in double, then in float (x - mean) / deviation. */
void hd_image_worth(hd_real *worth, const hd_image_prepare *p);

#endif
