/* An encoder of pictures that is a model of its own, or the body of a classifier. */
#ifndef HD_MODEL_VISION_IMAGE_MODEL_H
#define HD_MODEL_VISION_IMAGE_MODEL_H

#include "model/type.h"
#include "model/vision/image_encoder.h"

typedef struct hd_image_model { /* what hd_model_vit and the like are of */
    hd_params params;
    hd_image_encoder encoder;
} hd_image_model;

/* Registers the parameters and completes the options: the caller makes them ready. */
hd_status hd_image_model_make(hd_model *out, hd_image_encoder_opt *o, hd_backend *backend, hd_err *err);

/* What there is to say of its pictures. */
void hd_image_encoder_describe(const hd_image_encoder_opt *o, hd_details *to);

#endif
