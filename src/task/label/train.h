/* Training a classifier or a tagger: from labeled texts or sentences to a model folder. An update sees
   `batch` items; every epoch has all of them once, in an order of its own. The best model is the one of the
   highest accuracy on what is held back, of numbers the one of the least squared error; where none is, the
   newest. With `from` the model begins with the body of another: fine-tuning. */
#ifndef HD_TASK_LABEL_TRAIN_H
#define HD_TASK_LABEL_TRAIN_H

#include "task/label/labeler.h"
#include "train/trainer.h"

typedef struct hd_label_plan {
    hd_classifier_opt model;
    size_t parameters;
    size_t items, labels, valid_items, valid_labels, repeated; /* repeated: left out */
    size_t batches;                                            /* of an epoch */
    double flops;                                              /* of an update, about */
    size_t memory; /* bytes of weights, gradients, moments and an update; 0: not measured */
    char backend[64];
} hd_label_plan;

typedef struct hd_label_train_opt {
    hd_label_task task;
    const char *train, *valid; /* files: tables (classify, regress) or tokens (tag); valid NULL: none */
    const char *folder;        /* classify, instead of train: a file for each class */
    double valid_fraction;     /* without valid: the share that is held back; 0: none */
    const char *from; /* the folder of the model it begins with: body and tokenizer are its; NULL: none */
    bool scratch;     /* of from only the sizes and the tokenizer, not the weights */
    hd_tokenizer_kind kind;
    hd_tokenizer_opt vocabulary;
    const char *tokenizer;   /* an existing file to use instead; NULL: learned */
    hd_classifier_opt model; /* vocabulary and classes are filled in; with `from` the body, but its positions
                                and dropout */
    float lm_loss;           /* weight of the loss on words of a language model below; 0: none */
    hd_optimizer_opt optimizer;
    float smoothing;        /* of the targets */
    size_t batch, parts;    /* items of an update; it is computed in so many parts */
    hd_trainer_opt trainer; /* as for a translator; intervals of 0: an epoch */
    const char *device;
    hd_precision precision;
    int threads;
    hd_log log;
    /* Called once the data is read and nothing is written yet: makes the folder of a new run. May be NULL. */
    hd_status (*open)(void *context, hd_err *err);
    void (*began)(void *context, const hd_label_plan *plan); /* once all is ready; may be NULL */
} hd_label_train_opt;

typedef struct hd_label_result {
    double accuracy, macro_f1;    /* of the published model on what is held back; NaN: nothing is */
    hd_figure figure[HD_FIGURES]; /* all that is said of it */
    size_t judged;                /* labels there */
    double seconds;
    hd_progress progress;
    hd_ending ending;
} hd_label_result;

/* What is held back is also kept below the folder as HD_HELD_OUT, for `heed classify` and `heed tag`. */
#define HD_HELD_OUT "train/held-out.tsv"

hd_status hd_label_train(hd_label_result *out, const hd_label_train_opt *opt, hd_err *err);

/* Only says what it would be; writes nothing. */
hd_status hd_label_plan_make(hd_label_plan *out, const hd_label_train_opt *opt, hd_err *err);

#endif
