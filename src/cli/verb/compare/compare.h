/* The parts of `heed compare`: models that it trains, classifiers, translators. */
#ifndef HD_CLI_VERB_COMPARE_COMPARE_H
#define HD_CLI_VERB_COMPARE_COMPARE_H

#include "base/file/folder.h"
#include "run/options.h"
#include "cli/frame/verb.h"

/* What --models asks for: language models, each with its settings, to be trained side by side in folders
   of their own.

       ngram(order=3 smoothing=add-k),ngram(order=6),gpt

   A setting is an option of `heed train --task lm` that a model of its kind has. A model is called by its
   kind and its settings, "ngram-order=3-smoothing=add-k": so is its folder. */

enum { HD_MODEL_NAME = 128 };

typedef struct hd_asked_model {
    char name[HD_MODEL_NAME];
    char folder[HD_PATH]; /* once it is trained */
    hd_train_options options;
    hd_given *given; /* one for each row of hd_train_table */
} hd_asked_model;

typedef struct hd_models {
    hd_asked_model *at;
    size_t count;
    hd_arena memory;
} hd_models;

/* HD_EARG with a text that shows what cannot be meant. */
hd_status hd_models_read(hd_models *out, const char *spelled, hd_err *err);
void hd_models_release(hd_models *m); /* what was read, or {0} */

/* An option for all models that have it and did not get it yet. The value is borrowed. *taken: whether any
   has it. */
hd_status hd_models_give(hd_models *m, const char *option, const char *value, bool *taken, hd_err *err);

/* Trains those that are not trained yet, each into its folder below `out`, which is made: a finished one is
   left as it is, an unfinished one resumed, and one that is another than asked for refused. overwrite: all
   are trained anew. c->exit: a signal stopped it. */
hd_status hd_models_train(hd_command *c, hd_models *m, const char *out, bool overwrite, hd_err *err);

/* How well n classifiers or regressions predict the labels of a table. */
hd_status hd_compare_labels(hd_command *c, char *const *folder, size_t n, const char *file, bool json,
                            hd_err *err);

/* How well the translators in the folders that the operands name translate the pairs of the files behind
   them, and what that takes. */
hd_status hd_compare_translators(hd_command *c, const hd_usual *o, hd_err *err);

/* A training time: "1.25 s", "72 s", or "-" for NaN. */
const char *hd_compare_time(double seconds, char number[HD_DECIMAL]);

#endif
