/* The training of models that give labels: options, data, the model to begin with, and the functions of a
   session, which all such tasks share. */
#ifndef HD_TASK_LABEL_TRAINING_H
#define HD_TASK_LABEL_TRAINING_H

#include "run/recipe.h"
#include "run/session.h"
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

/* -- the session (train.c) -- */

/* What a session keeps. */
typedef struct hd_labeling {
    const hd_label_kind *kind;
    hd_label_set set;
    hd_examples train, valid; /* valid.count 0: there is none */
    hd_model_folder folder;
    hd_classifier *classifier; /* in it */
    hd_classifier_opt model;   /* vocabulary and classes are filled in */
    hd_origin origin;
    uint32_t *order; /* [train.count] examples of the epoch */
    uint64_t formed; /* the epoch it is of, from 1; 0: none yet */
    size_t batches;  /* of an epoch */
    uint64_t seed;
    size_t from, to; /* of the update in order */
    hd_class_batch sent;
} hd_labeling;

hd_status hd_label_open(hd_session *s, hd_err *err);
void hd_label_release(hd_session *s);
hd_status hd_label_weights(hd_session *s, hd_err *err);
hd_status hd_label_plan(hd_session *s, hd_plan *p, hd_err *err);
hd_status hd_label_load(hd_session *s, hd_load *out, hd_err *err);
uint64_t hd_label_send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to);
hd_tensor *hd_label_loss(hd_run *r, hd_session *s, size_t part);
hd_status hd_label_validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err);
hd_status hd_label_save(hd_session *s, const char *folder, hd_err *err);
hd_status hd_label_publish(hd_session *s, const char *folder, hd_err *err);
hd_status hd_label_judge(hd_session *s, hd_outcome *out, hd_err *err);

/* hd_task_NAME, a task of this kind; UNIT: what its progress counts. */
#define HD_LABEL_TASK(NAME, UNIT, KIND)                          \
    const hd_task hd_task_##NAME = {                             \
        .unit = UNIT,                                            \
        .judged = "labels",                                      \
        .with = "< FILE",                                        \
        .remedy = "a smaller --batch-size or --micro-batches N", \
        .form = KIND,                                            \
        .varies = true,                                          \
        .recipe = &hd_recipe_labels,                             \
        .size = sizeof(hd_labeling),                             \
        .check = hd_label_check,                                 \
        .open = hd_label_open,                                   \
        .release = hd_label_release,                             \
        .weights = hd_label_weights,                             \
        .plan = hd_label_plan,                                   \
        .load = hd_label_load,                                   \
        .send = hd_label_send,                                   \
        .loss = hd_label_loss,                                   \
        .validate = hd_label_validate,                           \
        .save = hd_label_save,                                   \
        .publish = hd_label_publish,                             \
        .judge = hd_label_judge,                                 \
    }

#endif
