/* The options of `heed train`, what they mean to the training of a translator, and the presets. */
#ifndef HD_CLI_TRAIN_OPTIONS_H
#define HD_CLI_TRAIN_OPTIONS_H

#include "cli/option.h"
#include "task/translate_train.h"

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

/* Gives every row that was not given the value its preset says. */
hd_status hd_train_preset(const hd_option_set sets[2], hd_err *err);

/* What the options mean. Borrows texts of o. HD_EARG where they do not fit together. */
hd_status hd_train_meaning(hd_translate_train_opt *to, const hd_train_options *o, int threads, hd_err *err);

#endif
