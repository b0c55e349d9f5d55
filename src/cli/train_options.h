/* The options of `heed train`, what they mean to the training of a translator, of a language model, of a
   classifier or of a tagger, and the presets. One table has the options of all tasks: what belongs to another
   task is refused. */
#ifndef HD_CLI_TRAIN_OPTIONS_H
#define HD_CLI_TRAIN_OPTIONS_H

#include "cli/option.h"
#include "task/label_train.h"
#include "task/language_train.h"
#include "task/translate_train.h"

typedef enum hd_train_task {
    HD_TRAIN_TRANSLATE,
    HD_TRAIN_LM,
    HD_TRAIN_CLASSIFY,
    HD_TRAIN_TAG,
    HD_TRAIN_TASKS
} hd_train_task;

typedef struct hd_train_options {
    /* the run */
    int task, preset;
    const char *out, *config;
    bool resume, overwrite, dry_run;
    /* data */
    hd_texts train, valid;
    double valid_fraction;
    int max_length, too_long, broken, empty;
    /* vocabulary */
    int tokeniser, vocab, subwords;
    hd_texts tokeniser_file;
    double coverage;
    bool separate_vocab;
    /* model */
    int encoder_layers, decoder_layers, width, inner, heads, norm, positions, position_kind, activation;
    bool untied;
    const char *encoder, *decoder; /* stages; NULL: a transformer */
    const char *context;           /* of hd_context_names; for lm the tokens of a window */
    int score, attention, window, attention_heads, query, begin, read;
    bool project, feed_context, skips, no_feedback, relu, reverse_source;
    /* language models */
    int model, unit, order, smoothing, layers, batch, features;
    double add_k;
    /* classifiers and taggers */
    hd_texts train_dir;
    int pool;
    double dropout, attention_dropout, inner_dropout;
    /* learning */
    int batch_tokens, accumulate, seed, schedule, optimiser;
    int64_t warmup, decay_steps;
    double lr, floor, beta1, beta2, adam_eps, weight_decay, momentum, clip, ema, label_smoothing;
    hd_texts freeze;
    bool recompute;
    /* limits */
    int64_t epochs, steps, patience;
    double minutes;
    /* validation and reports */
    int64_t valid_every, save_every, report_every;
    int best, valid_sentences;
    /* machine */
    const char *device;
    int precision;
} hd_train_options;

extern const hd_option hd_train_table[];
extern const char *const hd_train_tasks[HD_TRAIN_TASKS + 1]; /* ends with NULL */

/* HD_EARG where an option of another task is given. */
hd_status hd_train_belong(const hd_option_set sets[2], hd_err *err);
/* Whether the task does not have this option. */
bool hd_train_foreign(hd_train_task task, const char *name);

/* Gives every row that was not given the value its preset says. */
hd_status hd_train_preset(const hd_option_set sets[2], hd_err *err);
/* The stages and options of an encoder-decoder (cli/train_encdec.c); HD_EARG where they are none or cannot
   go together. */
hd_status hd_train_encdec(hd_encdec_opt *to, const hd_train_options *o, hd_err *err);
/* HD_EARG where an option is given that has no effect on such a model. */
hd_status hd_train_encdec_belong(const hd_option_set sets[2], hd_err *err);
bool hd_train_encdec_idle(const hd_train_options *o, const char *option);
/* "transformer 4+4 layers, width 128, inner 256, 4 heads", into buf; returns buf. */
const char *hd_train_shape(const hd_encdec_opt *m, char *buf, size_t size);
/* The same for a language model: the value its kind and its unit say. */
hd_status hd_train_lm_preset(const hd_option_set sets[2], hd_err *err);
/* Whether an option means something to language models of a kind. */
bool hd_train_lm_has(hd_lm_kind kind, const char *option);
/* The same for a classifier or tagger, by its encoder. */
hd_status hd_train_label_preset(const hd_option_set sets[2], hd_err *err);

hd_unary hd_train_activation(int choice); /* what --activation says */

/* --model has those of language models, and behind them the Transformer of classifiers and taggers. */
enum { HD_TRAIN_MODEL_TRANSFORMER = HD_LM_KINDS };

/* --unit */
enum { HD_TRAIN_WORD, HD_TRAIN_CHAR, HD_TRAIN_SUBWORD };
hd_tokeniser_kind hd_train_unit(int unit);
enum { HD_TRAIN_ALL_PIECES = 1000000 }; /* of --vocab: as many as there are */

/* What all tasks take from the options alike. */
hd_optimiser_opt hd_train_optimiser(const hd_train_options *o);
hd_trainer_opt hd_train_loop(const hd_train_options *o);
hd_status hd_train_check_end(const hd_train_options *o, hd_err *err); /* that the run can end */

/* What the options mean. Borrows texts of o. HD_EARG where they do not fit together. */
hd_status hd_train_meaning(hd_translate_train_opt *to, const hd_train_options *o, int threads, hd_err *err);
hd_status hd_train_lm_meaning(hd_language_train_opt *to, const hd_train_options *o, int threads, hd_err *err);
hd_status hd_train_label_meaning(hd_label_train_opt *to, const hd_train_options *o, int threads, hd_err *err);

#endif
