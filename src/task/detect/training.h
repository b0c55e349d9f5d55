/* Training a detector: its options, and pictures with their objects as the model reads them. */
#ifndef HD_TASK_DETECT_TRAINING_H
#define HD_TASK_DETECT_TRAINING_H

#include "data/image/loader.h"
#include "run/recipe.h"
#include "task/detect/detect.h"

/* -- options -- */

extern const hd_recipe hd_recipe_detect;

/* HD_EARG where options do not go together. */
hd_status hd_detect_check(const hd_train_options *o, hd_err *err);
/* The model but for its labels, for these pictures; without them its size alone. */
hd_status hd_detect_model(hd_detr_opt *to, const hd_train_options *o, const hd_image_set *set, hd_err *err);

/* -- pictures on their way to the model -- */

/* Objects of a batch, and room for them. */
typedef struct hd_detect_batch {
    hd_pixels pixels;
    hd_items in;
    hd_detr_object *object;
    size_t *first;
    uint64_t *key;  /* of draws */
    size_t room[3]; /* of these */
    hd_detr_truth truth;
} hd_detect_batch;

/* Sends the pictures and keeps their objects. number: of the batch, for draws. A failure stays in the run. */
bool hd_detect_batch_send(hd_run *r, hd_detect_batch *to, const hd_image_batch *b, const hd_image_prepare *p,
                          uint64_t number);
void hd_detect_batch_release(hd_detect_batch *b); /* accepts {0} */

#endif
