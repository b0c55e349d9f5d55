/* The training of models that give labels: options, data and the model to begin with. The session is train.c.
 */
#ifndef HD_TASK_LABEL_TRAINING_H
#define HD_TASK_LABEL_TRAINING_H

#include "data/image/loader.h"
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

/* Whether --train or --train-dir are pictures, by what lies there. */
bool hd_label_finds_pictures(const hd_train_options *o);

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

/* -- a run (train.c) -- */

/* What is learned from: texts (texts.c) or pictures (pictures.c). Functions get the session, whose state is a
   hd_labeling. */
typedef struct hd_label_material {
    /* Reads the data, and says how the model reads it: its tokenizer, or the size of pictures. */
    hd_status (*read)(hd_session *s, hd_err *err);
    hd_status (*ready)(hd_session *s, hd_err *err); /* once the model is made: how batches are formed */
    void (*release)(hd_session *s);
    hd_status (*load)(hd_session *s, hd_load *out, hd_err *err);
    uint64_t (*send)(hd_run *r, hd_session *s, size_t from, size_t to);
    /* Judges a model on what is held back. */
    hd_status (*judge)(hd_judged *out, hd_run *r, const hd_model_folder *f, const hd_session *s, hd_err *err);
    /* Keeps what is held back below the model's folder. */
    hd_status (*keep)(const hd_session *s, const char *folder, hd_err *err);
    void (*plan)(const hd_session *s, hd_plan *p);
} hd_label_material;

extern const hd_label_material hd_label_texts, hd_label_pictures;

typedef struct hd_labeling {
    hd_model_folder folder; /* first, as hd_task_save asks */
    const hd_label_kind *kind;
    const hd_label_material *material;
    hd_examples train, valid;  /* valid.count 0: there is none */
    hd_classifier *classifier; /* in the folder */
    hd_classifier_opt model;   /* vocabulary and classes are filled in */
    hd_origin origin;
    size_t batches; /* of an epoch */
    uint64_t seed;
    hd_class_batch sent;
    struct { /* texts */
        hd_label_set set;
        uint32_t *order; /* [train.count] examples of the epoch */
        uint64_t formed; /* the epoch it is of, from 1; 0: none yet */
        size_t from, to; /* of the update in order */
    } texts;
    struct { /* pictures */
        hd_image_set train, valid;
        hd_augment augment;
        hd_image_loader *loader;
        hd_pixels sent;
    } pictures;
} hd_labeling;

/* Where it is a run that continues or begins with another model: takes the body and the tokenizer of that. */
hd_status hd_labeling_take_body(hd_session *s, hd_err *err);

#endif
