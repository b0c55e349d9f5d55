/* What `heed translate` is asked for, and how results are written. */
#ifndef HD_CLI_VERB_TRANSLATE_TRANSLATE_H
#define HD_CLI_VERB_TRANSLATE_TRANSLATE_H

#include "cli/frame/verb.h"
#include "show/coverage.h"

typedef struct hd_translate_options {
    hd_usual usual;
    hd_translate_opt opt; /* but for the kind of search, which these say: */
    bool exhaustive, sample;
    const char *shortlist;
    bool prefix; /* lines have one */
    bool scores, warn_skipped;
} hd_translate_options;

/* Appends what a line gave, as lines of text or of JSON; number counts from 1. */
void hd_translate_write(hd_text *to, const hd_translate_options *o, const hd_model_folder *t, hd_line line,
                        const hd_translation *found, const hd_skipped_list *skipped, size_t number);

#endif
