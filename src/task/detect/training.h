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
/* The same of a model that goes on learning: its own, but for what the options say of its dropout and of the
   size of pictures. */
hd_status hd_detect_continued(hd_detr_opt *to, const hd_train_options *o, const hd_model_folder *from,
                              const hd_image_set *set, hd_err *err);

/* -- a model to begin with -- */

hd_status hd_detect_take(hd_taking *t, hd_err *err); /* hd_recipe.take */
/* Reads its weights from the folder. The rows of labels that it does not know stay as they are: those of the
   class layer, and of what noised boxes begin with. */
hd_status hd_detect_take_weights(hd_detr *m, const hd_vocab *labels, const hd_model_folder *from,
                                 const char *folder, hd_err *err);

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
