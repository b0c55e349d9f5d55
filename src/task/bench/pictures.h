/* Pictures that lie on the device, and a classifier that learns from them: what a training step is measured
   with, apart from how pictures get there. */
#ifndef HD_TASK_BENCH_PICTURES_H
#define HD_TASK_BENCH_PICTURES_H

#include "model/encoder/classifier.h"

typedef struct hd_bench_pictures {
    hd_backend *backend;
    hd_classifier *model;
    hd_pixels pixels;
    void *data; /* of all of it, on the device */
    size_t bytes;
    int32_t *size; /* [items, 2] host */
    const int32_t *target;
} hd_bench_pictures;

/* The sizes in use: ViT-B/16 at 224 pixels; the small model with a stem, at 28 pixels and one channel. */
hd_classifier_opt hd_bench_vit_b16(void);
hd_classifier_opt hd_bench_vit_lite(void);

/* A model of these options with weights drawn, and so many random pictures and labels. To be released, also
   after a failure. */
hd_status hd_bench_pictures_make(hd_bench_pictures *out, hd_backend *b, const hd_classifier_opt *o,
                                 size_t items, hd_err *err);
void hd_bench_pictures_release(hd_bench_pictures *p); /* accepts {0} */

/* Losses of a step that has begun; nothing is sent. */
hd_tensor *hd_bench_pictures_loss(hd_run *r, const hd_bench_pictures *p, float smoothing);

#endif
