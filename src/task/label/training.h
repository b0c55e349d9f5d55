/* The training of models that give labels: options, data and the model to begin with. The session is train.c.
 */
#ifndef HD_TASK_LABEL_TRAINING_H
#define HD_TASK_LABEL_TRAINING_H

#include "run/recipe.h"
#include "task/label/labeler.h"

/* -- options (options.c) -- */

/* HD_EARG where options do not go together. */
hd_status hd_label_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary and classes; with --from but for its body. */
hd_status hd_label_model(hd_classifier_opt *to, const hd_train_options *o, hd_err *err);
extern const hd_recipe hd_recipe_labels;

/* -- data (data.c) -- */

/* What is held back is kept there below the model's folder, for `heed classify` and `heed tag`. */
#define HD_HELD_OUT "train/held-out.tsv"

typedef struct hd_label_set {
    hd_labeled train, valid; /* valid.count 0: there is none */
    size_t repeated;         /* items that were there before, left out */
} hd_label_set;

/* Reads, leaves repeated items out and holds a part back; labels get the labels. */
hd_status hd_label_set_read(hd_label_set *out, hd_vocab *labels, const hd_train_options *o, hd_err *err);
void hd_label_set_release(hd_label_set *s); /* accepts {0} */
/* Writes what is held back below a model folder, as hd_label_kind_read reads it. */
hd_status hd_label_set_keep(const hd_label_set *s, const hd_vocab *labels, const hd_label_kind *kind,
                            const char *folder, hd_err *err);

/* -- the model to begin with (pretrained.c) -- */

typedef struct hd_origin {
    hd_model_folder folder; /* without weights; to be released */
    /* The body; its positions: the most it can take, of recurrent ones 0, which is any. Of a model that gives
       labels also the rest; else classes are 0. */
    hd_classifier_opt model;
} hd_origin;

hd_status hd_origin_open(hd_origin *out, const char *folder, hd_err *err);
/* Gives a classifier that was drawn the weights in the folder. What the folder does not have stays as drawn:
   a pooler, and the last layer unless its labels are the same. */
hd_status hd_origin_take(const hd_origin *o, const char *folder, hd_classifier *m, const hd_vocab *labels,
                         hd_err *err);

#endif
