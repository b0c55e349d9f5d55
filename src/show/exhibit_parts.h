/* Common to the files that fill an exhibit: its memory, and collecting offers of a probe. */
#ifndef HD_SHOW_EXHIBIT_PARTS_H
#define HD_SHOW_EXHIBIT_PARTS_H

#include "show/exhibit.h"

/* hd_exhibit_text_of of each kind: fills a new exhibit; for a translator, x->shown is the requested step.
   The text is one line of UTF-8. */
typedef hd_status hd_exhibit_fill(hd_exhibit *x, hd_run *r, const hd_model_folder *f, hd_line text,
                                  hd_err *err);
hd_exhibit_fill hd_exhibit_translation, hd_exhibit_language, hd_exhibit_masked, hd_exhibit_labels;

/* The search of `heed translate --greedy`, for the line as one sentence that fits. */
struct hd_translations;
hd_status hd_exhibit_translate(struct hd_translations *out, hd_run *r, const hd_model_folder *f,
                               hd_line sentence, hd_err *err);

/* of: the model, for its title; NULL: none. After a failure *out is NULL or to be freed (hd_exhibit_give). */
hd_status hd_exhibit_new(hd_exhibit **out, hd_exhibit_kind kind, const hd_model *of, hd_err *err);
/* Returns x in *out, or frees it if s is a failure; returns s. */
hd_status hd_exhibit_give(hd_exhibit **out, hd_exhibit *x, hd_status s);
hd_status hd_exhibit_add(hd_exhibit *x, const hd_exhibit_item *item, hd_err *err);
const char *hd_exhibit_copy(hd_exhibit *x, const char *text, hd_err *err);
/* hd_shown_tokens in memory of x. */
hd_status hd_exhibit_tokens(hd_exhibit *x, hd_shown_token **out, const int32_t *ids, size_t count,
                            const hd_tokenizer *pieces, hd_line text, bool masks, hd_err *err);

typedef struct hd_exhibiting { /* the context of the probe */
    hd_exhibit *into;
    hd_model of;           /* the model */
    bool numbers;          /* its logits are numbers, not classes or words */
    bool encoder, decoder; /* what is kept: offers under "enc.", all others */
    bool whole;            /* the text is read at once: rows are those of all its tokens */
    hd_exhibit_step *step; /* NULL, or the step whose source token with most attention is set */
    const hd_seg *seg;     /* of the last rows that were offered with some */
    hd_probe probe;        /* from begin to end */
    const hd_probe *before;
} hd_exhibiting;

/* Before and after a step of the model with a probe. The end adds the distributions from its
   log-probabilities [N, V], if it has such: the item "probs", and the top of each row. pieces NULL: ids as
   numbers. */
void hd_exhibit_begin(hd_exhibiting *e, hd_run *r);
hd_status hd_exhibit_end(hd_exhibiting *e, hd_run *r, const hd_tensor *logp, const hd_tokenizer *pieces,
                         hd_err *err);

#endif
