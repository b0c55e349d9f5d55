/* The options of `heed translate`, and how results are written. */
#ifndef HD_CLI_VERB_TRANSLATE_OPTIONS_H
#define HD_CLI_VERB_TRANSLATE_OPTIONS_H

#include "base/text.h"
#include "cli/frame/verb.h"
#include "show/coverage.h"

typedef struct hd_translate_options {
    /* search */
    int beam, n_best, stop, length_penalty, max_length, min_length;
    double alpha, max_ratio;
    bool exhaustive;
    /* sampling */
    bool sample;
    double temperature, top_p;
    int top_k, seed;
    /* input */
    int sentences, too_long, max_source, batch;
    bool prefix, force;
    /* output */
    bool json, scores, warn_skipped;
    hd_attending_options attending;
    /* machine */
    int checkpoint;
    hd_machine_options machine;
} hd_translate_options;

extern const hd_option hd_translate_table[];

/* HD_EARG if options exclude each other. */
hd_status hd_translate_read_options(hd_translate_opt *to, const hd_translate_options *o, hd_err *err);

/* Appends what a line gave, as lines of text or of JSON; number counts from 1. */
void hd_translate_write(hd_text *to, const hd_translate_options *o, const hd_model_folder *t, hd_line line,
                        const hd_translation *found, const hd_skipped_list *skipped, size_t number);

#endif
