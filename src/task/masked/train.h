/* Training a masked language model: from a text to a model folder. An update learns from `batch` windows of
   the text, each whole lines as far as the context goes, or the middle of a long one; one in ten is a single
   line. Which windows, and what is masked in them, the seed and the number of the update say. */
#ifndef HD_TASK_MASKED_TRAIN_H
#define HD_TASK_MASKED_TRAIN_H

#include "task/masked/masked.h"
#include "train/trainer.h"

typedef struct hd_masked_plan {
    hd_bert_opt model;
    size_t parameters;
    size_t tokens, lines, valid_tokens;
    size_t batches; /* of an epoch: as many as have the tokens of the text, about */
    double flops;   /* of the first update */
    size_t memory;  /* bytes of weights, gradients, moments and an update; 0: not measured */
    char backend[64];
} hd_masked_plan;

typedef struct hd_masked_train_opt {
    /* A folder of such a model to begin with: its tokenizer, sizes and weights. Of `model` the dropout and
       the positions (0: the model's) count then. Not read when a run is resumed. NULL: none. */
    const char *from;
    const char *train, *valid; /* texts; valid NULL: none */
    double valid_fraction;     /* without a file: the last share of the characters; 0: none */
    hd_tokenizer_kind kind;
    hd_tokenizer_opt vocabulary;
    const char *tokenizer; /* an existing file to use instead; NULL: learned */
    hd_bert_opt model;     /* the vocabulary is filled in */
    bool whole_words;
    hd_optimizer_opt optimizer;
    float smoothing;        /* of the targets */
    size_t batch, parts;    /* windows of an update; it is computed in so many parts */
    hd_trainer_opt trainer; /* as for a language model; intervals of 0: chosen here */
    const char *device;
    hd_precision precision;
    int threads;
    hd_log log;
    /* Called once the data is read and nothing is written yet: makes the folder of a new run. May be NULL. */
    hd_status (*open)(void *context, hd_err *err);
    void (*began)(void *context, const hd_masked_plan *plan); /* once all is ready; may be NULL */
} hd_masked_train_opt;

typedef struct hd_masked_result {
    hd_progress progress;
    hd_ending ending;
} hd_masked_result;

hd_status hd_masked_train(hd_masked_result *out, const hd_masked_train_opt *opt, hd_err *err);

/* Only says what it would be; writes nothing. */
hd_status hd_masked_plan_make(hd_masked_plan *out, const hd_masked_train_opt *opt, hd_err *err);

#endif
