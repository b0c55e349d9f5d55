/* Training a translator: from files of sentence pairs to a model folder. */
#ifndef HD_TASK_TRANSLATE_TRAIN_H
#define HD_TASK_TRANSLATE_TRAIN_H

#include "data/batch.h"
#include "run/options.h"
#include "task/translate/translate.h"
#include "train/trainer.h"

/* What is learned from, and how it is cut into tokens. */
typedef struct hd_translate_data {
    const char *train[2], *valid[2]; /* source and target files; the second NULL: one file with tabs */
    double valid_fraction;           /* without a file: this share of the training pairs is held back */
    hd_policy broken, empty, too_long;
    size_t longest; /* tokens of a sentence on either side */
    hd_tokenizer_kind kind;
    hd_tokenizer_opt vocabulary;
    bool separate;            /* a tokenizer for each side */
    const char *tokenizer[2]; /* existing files to use instead; the second NULL: one for both */
} hd_translate_data;

/* What a run will be. */
typedef struct hd_translate_plan {
    hd_encdec_opt model;
    size_t parameters, trainable;
    size_t pairs, valid_pairs;
    size_t batches;                      /* of the first epoch */
    double batch_tokens, batch_pairs;    /* means */
    double flops;                        /* of an update, on average */
    size_t source_tokens, target_tokens; /* of an epoch */
    size_t memory; /* bytes of weights, gradients, moments and the largest step; 0: not measured */
    char backend[64];
} hd_translate_plan;

typedef struct hd_translate_train_opt {
    /* A folder of a translator to begin with: its tokenizers, sizes and weights. Of `model` what only
       training needs counts then, and the positions must be those. Not read when a run is resumed. NULL:
       none. */
    const char *from;
    hd_translate_data data;
    hd_encdec_opt model;     /* the vocabularies are filled in */
    hd_feeding feeding;      /* of the decoder in training; validations are fed the truth */
    uint64_t sampling_decay; /* updates in which the rate of the feeding rises from 0; 0: none */
    hd_optimizer_opt optimizer;
    float smoothing;
    size_t batch_tokens;    /* of an update: the sum of the longer side of each pair */
    size_t parts;           /* an update is computed in so many */
    hd_trainer_opt trainer; /* folder, limits, schedule, what is told; intervals of 0: chosen here */
    hd_choice choice;
    size_t judged; /* validation sentences to translate for BLEU; 0: none */
    const char *device;
    hd_precision precision;
    int threads;
    hd_log log;
    /* Called once the data is read and nothing is written yet: makes the folder of a new run. May be NULL. */
    hd_status (*open)(void *context, hd_err *err);
    void (*began)(void *context, const hd_translate_plan *plan); /* once all is ready; may be NULL */
} hd_translate_train_opt;

typedef struct hd_translate_result {
    hd_progress progress;
    hd_ending ending;
} hd_translate_result;

hd_status hd_translate_train(hd_translate_result *out, const hd_translate_train_opt *opt, hd_err *err);

/* Only says what it would be; writes nothing. */
hd_status hd_translate_plan_make(hd_translate_plan *out, const hd_translate_train_opt *opt, hd_err *err);

#endif
