/* For the files of this folder: what an inspection is made of. */
#ifndef HD_SHOW_LIVE_INSPECTION_PARTS_H
#define HD_SHOW_LIVE_INSPECTION_PARTS_H

#include "show/live/inspection.h"

typedef struct hd_inspecting {
    hd_inspection *into;
    hd_run *run;
    const hd_model_folder *folder;
    const hd_inspect_ask *ask;
} hd_inspecting;

typedef hd_status hd_inspect_fill(const hd_inspecting *g, hd_err *err);
hd_inspect_fill hd_inspect_translator, hd_inspect_language, hd_inspect_masked;

/* HD_ELIMIT once nobody waits. */
hd_status hd_inspect_goes_on(const hd_inspect_ask *ask, hd_err *err);
/* HD_ELIMIT where so many tokens are too many. */
hd_status hd_inspect_fits(const hd_inspecting *g, size_t tokens, hd_err *err);
/* The tokens that are forced, as ids. */
hd_status hd_inspect_forced(const hd_inspecting *g, const hd_tokenizer *t, hd_ids *ids, hd_err *err);
/* Names of ids, in new memory; places are not set. */
hd_status hd_inspect_name(const hd_inspecting *g, hd_inspect_token **out, const int32_t *ids, size_t count,
                          const hd_tokenizer *t, hd_line text, bool masks, hd_err *err);
/* A text and the bytes of it that each token wrote. */
hd_status hd_inspect_spell(const hd_inspecting *g, hd_inspect_token *token, size_t count,
                           const hd_tokenizer *t, const char **text, hd_err *err);

/* -- foreseen.c -- */

/* The likeliest of a row, by name. */
hd_status hd_inspect_likeliest(const hd_inspecting *g, hd_inspect_choice **out, size_t *count,
                               const hd_real *logp, size_t vocab, const hd_tokenizer *t, hd_err *err);
/* Steps a stepper of one item through the tokens: what it thought of each before it was told, and with
   `next` what may follow the last. */
hd_status hd_inspect_foresee(const hd_inspecting *g, const hd_stepper *st, hd_inspect_token *token,
                             size_t count, const hd_tokenizer *t, bool next, hd_err *err);

/* -- beams.c -- */

typedef struct hd_beams hd_beams;
/* Watches a search of one item whose options are given, and which must be done before hd_beams_end. */
hd_status hd_beams_begin(hd_beams **out, const hd_inspecting *g, hd_search_opt *opt, hd_err *err);
/* Steps and their hypotheses into the inspection. */
hd_status hd_beams_end(hd_beams *b, const hd_found *found, const hd_tokenizer *t, hd_err *err);
void hd_beams_free(hd_beams *b); /* accepts NULL */

#endif
