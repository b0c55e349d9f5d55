/* What the files of an exhibit share: taking offers in, and names for people. */
#ifndef HD_SHOW_EXHIBIT_PARTS_H
#define HD_SHOW_EXHIBIT_PARTS_H

#include "show/exhibit.h"

/* hd_exhibit_text_of of each kind: fills in what a new exhibit lacks; of a translator, x->shown is the step
   that is asked for. The text is one line of UTF-8. */
typedef hd_status hd_exhibit_fill(hd_exhibit *x, hd_run *r, const hd_model_folder *f, hd_line text,
                                  hd_err *err);
hd_exhibit_fill hd_exhibit_translation, hd_exhibit_language, hd_exhibit_masked, hd_exhibit_labels;

/* of: what it is called after; NULL: nothing. An exhibit that could not be named is there, to be given up. */
hd_status hd_exhibit_new(hd_exhibit **out, hd_exhibit_kind kind, const hd_model *of, hd_err *err);
/* Hands x out, or frees it if s says that it failed; returns s. */
hd_status hd_exhibit_give(hd_exhibit **out, hd_exhibit *x, hd_status s);
hd_status hd_exhibit_add(hd_exhibit *x, const hd_exhibit_item *item, hd_err *err);
const char *hd_exhibit_copy(hd_exhibit *x, const char *text, hd_err *err);
/* hd_shown_tokens in memory of x. */
hd_status hd_exhibit_tokens(hd_exhibit *x, hd_shown_token **out, const int32_t *ids, size_t count,
                            const hd_tokenizer *pieces, hd_line text, bool masks, hd_err *err);

typedef struct hd_exhibiting { /* the context of the probe */
    hd_exhibit *into;
    hd_model of;           /* what offers */
    bool numbers;          /* its logits are no classes or words but numbers */
    bool encoder, decoder; /* what is kept: offers under "enc.", all others */
    bool whole;            /* the text is read at once: rows are those of all its tokens */
    hd_exhibit_step *step; /* NULL, or where to write what it looks at */
    hd_probe probe;        /* from begin to end */
    const hd_probe *before;
} hd_exhibiting;

/* Around a step of the model, which is taken with a probe. The end adds the distributions from its
   log-probabilities [N, V], if it has such: the item "probs", and the top of each row. pieces NULL: ids as
   numbers. */
void hd_exhibit_begin(hd_exhibiting *e, hd_run *r);
hd_status hd_exhibit_end(hd_exhibiting *e, hd_run *r, const hd_tensor *logp, const hd_tokenizer *pieces,
                         hd_err *err);

#endif
