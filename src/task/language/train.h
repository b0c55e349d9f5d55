/* Training a language model: from a text to a model folder. Counted models count; the others go through the
   training loop. gpt, ffnn and maxent learn from windows at random places of the text, which the seed and the
   number of the update choose; rnn, gru and lstm read `batch` parts of it side by side, window after window,
   and carry their states from one to the next (begun anew with every epoch, saved in checkpoints; with
   several processes they learn from windows at random places, too). */
#ifndef HD_TASK_LANGUAGE_TRAIN_H
#define HD_TASK_LANGUAGE_TRAIN_H

#include "task/language/language.h"
#include "train/trainer.h"

typedef struct hd_language_plan {
    hd_lm_opt model;
    size_t parameters; /* 0: it is counted */
    size_t tokens, lines, characters, valid_tokens;
    size_t batches; /* of an epoch: as many as have the tokens of the text */
    double flops;   /* of an update */
    size_t memory;  /* bytes of weights, gradients, moments and an update; 0: not measured */
    char backend[64];
} hd_language_plan;

typedef struct hd_language_train_opt {
    /* A folder of such a model to begin with: its tokenizer, sizes and weights. Of `model` the dropout and
       the context (0: the model's) count then. Not read when a run is resumed. NULL: none. */
    const char *from;
    const char *train, *valid; /* texts; valid NULL: none */
    double valid_fraction;     /* without a file: the last share of the characters; 0: none */
    hd_tokenizer_kind kind;
    hd_tokenizer_opt vocabulary;
    const char *tokenizer; /* an existing file to use instead; NULL: learned */
    hd_lm_opt model;       /* vocabulary and specials are filled in; buckets 0: chosen by the vocabulary */
    hd_optimizer_opt optimizer;
    float smoothing;        /* of the targets */
    size_t batch, parts;    /* windows of an update; it is computed in so many parts */
    hd_trainer_opt trainer; /* as for a translator; intervals of 0: chosen here */
    const char *device;
    hd_precision precision;
    int threads;
    hd_log log;
    /* Called once the data is read and nothing is written yet: makes the folder of a new run. May be NULL. */
    hd_status (*open)(void *context, hd_err *err);
    void (*began)(void *context, const hd_language_plan *plan); /* once all is ready; may be NULL */
} hd_language_train_opt;

typedef struct hd_language_result {
    bool counted; /* then progress and ending say nothing */
    size_t size;  /* parameters, or n-grams */
    double seconds;
    hd_fluency valid; /* counted: of the held-out text; tokens 0: there is none */
    hd_progress progress;
    hd_ending ending;
} hd_language_result;

hd_status hd_language_train(hd_language_result *out, const hd_language_train_opt *opt, hd_err *err);

/* Only says what it would be; writes nothing. */
hd_status hd_language_plan_make(hd_language_plan *out, const hd_language_train_opt *opt, hd_err *err);

#endif
