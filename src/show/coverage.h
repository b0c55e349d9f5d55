/* Source words that a translation paid no attention to. The coverage of a token is the sum, over all steps of
   the decoder, of the weight it gets in cross-attention, as a mean of layers and heads (Tu et al. 2016); that
   of a word is the sum of its tokens'. A word that one word translates has a coverage of about 1. */
#ifndef HD_SHOW_COVERAGE_H
#define HD_SHOW_COVERAGE_H

#include "show/attention.h"
#include "task/translate/translate.h"

/* Below a tenth of one step's attention a word counts as skipped. In the demo's test sentences, translated
   one by one, that is 0.8 % of the words; in later sentences of a line given to a model trained on single
   sentences, which mostly leaves them out, 43 to 53 %. */
#define HD_SKIPPED_BELOW 0.1

typedef struct hd_skipped {
    hd_span word; /* bytes of the line */
    double coverage;
} hd_skipped;

typedef struct hd_skipped_list { /* {0} is empty */
    hd_skipped *at;
    size_t count, room;
} hd_skipped_list;

/* Appends the words of one part that were skipped; piece [maps->sources] are its tokens and where in the
   line they are. Tokens without letters and digits are not words. */
hd_status hd_coverage_skipped(hd_skipped_list *out, const hd_attention_maps *maps, const hd_piece *piece,
                              hd_line line, hd_err *err);
void hd_skipped_release(hd_skipped_list *l);

#endif
