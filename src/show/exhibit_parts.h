/* What the files of an exhibit share: taking offers in, and names for people. */
#ifndef HD_SHOW_EXHIBIT_PARTS_H
#define HD_SHOW_EXHIBIT_PARTS_H

#include "show/exhibit.h"

/* Where a name is, for people, into buf; returns buf. */
const char *hd_exhibit_part(const hd_model *of, const char *name, char *buf, size_t size);

/* hd_exhibit_text_of of each kind. */
hd_status hd_exhibit_translation(hd_exhibit **out, hd_run *r, const hd_model_folder *f, hd_line sentence,
                                 size_t step, hd_err *err);
hd_status hd_exhibit_language(hd_exhibit **out, hd_run *r, const hd_model_folder *f, hd_line prompt,
                              hd_err *err);
hd_status hd_exhibit_masked(hd_exhibit **out, hd_run *r, const hd_model_folder *f, hd_line text, hd_err *err);
hd_status hd_exhibit_labels(hd_exhibit **out, hd_run *r, const hd_model_folder *f, hd_line text, hd_err *err);

hd_status hd_exhibit_new(hd_exhibit **out, hd_err *err);
hd_status hd_exhibit_set_model(hd_exhibit *x, const hd_model *m, hd_err *err); /* its title */
void *hd_exhibit_take(hd_exhibit *x, size_t count, size_t size, hd_err *err);  /* zeroed; NULL: no memory */
hd_exhibit_item *
hd_exhibit_add(hd_exhibit *x,
               hd_err *err); /* the next item, empty; it counts once x->items does. NULL: no memory */
const char *hd_exhibit_copy(hd_exhibit *x, const char *text, hd_err *err);
hd_status hd_exhibit_tokens(hd_exhibit *x, hd_exhibit_token **out, const int32_t *ids, size_t count,
                            const hd_tokenizer *pieces, hd_err *err);
/* Names those that are unknown by the words of the text they were made of. */
hd_status hd_exhibit_words(hd_exhibit *x, hd_exhibit_token *t, size_t count, const hd_tokenizer *pieces,
                           hd_line text, bool masks, hd_err *err);

/* A text that can be explained: one line of UTF-8. */
hd_status hd_exhibit_check(hd_line text, const char *what, hd_err *err);

typedef struct hd_exhibiting { /* the context of the probe */
    hd_exhibit *into;
    hd_model of;           /* what offers */
    bool numbers;          /* its logits are no classes or words but numbers */
    bool encoder, decoder; /* what is kept: offers under "enc.", all others */
    bool whole;            /* the text is read at once: rows are those of all its tokens */
    hd_exhibit_step *step; /* NULL, or where to write what it looks at */
} hd_exhibiting;

void hd_exhibit_collect(void *context, hd_run *r, const hd_offer *offer); /* hd_probe.take */

/* The distributions, from log-probabilities [N, V] of the step at hand: the item "probs", and the top of each
   row. pieces NULL: ids as numbers. */
void hd_exhibit_distribution(hd_exhibiting *e, hd_run *r, const hd_tensor *logp, const hd_tokenizer *pieces);

#endif
