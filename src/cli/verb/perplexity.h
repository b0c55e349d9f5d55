/* How well a language model predicts a text, as `heed perplexity` and `heed compare` measure and show it. */
#ifndef HD_CLI_VERB_PERPLEXITY_H
#define HD_CLI_VERB_PERPLEXITY_H

#include "cli/frame/verb.h"
#include "task/language/language.h"

typedef struct hd_measured {
    hd_fluency fluency;
    size_t unknown; /* tokens of the text that are <unk>: which word it was costs the model nothing */
    double perplexity, bits; /* bits per character */
} hd_measured;

hd_status hd_measure(hd_measured *out, hd_run *r, const hd_model_folder *f, const hd_plain_text *text,
                     hd_err *err);

/* Appends members: "token_count", "perplexity", "bits_per_character" and the rest. */
void hd_measured_json(hd_text *to, const hd_measured *m);

#endif
