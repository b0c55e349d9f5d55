/* Sums with a blank, such as "so 2 plus _ is 5 .": two of the numbers tell the third. */
#ifndef HD_LAB_PRETRAINED_BLANKS_H
#define HD_LAB_PRETRAINED_BLANKS_H

#include "lab/pretrained/filler.h"
#include "task/masked/training.h"

enum { HD_BLANKS_NUMBERS = 5, HD_BLANKS_SUMS = HD_BLANKS_NUMBERS * HD_BLANKS_NUMBERS };
enum {
    HD_BLANKS_TOKENS = 7,
    HD_BLANKS_ROWS,
    HD_BLANKS_PLACES = 3
};                                                      /* of a sum; with the start; where numbers stand */
extern const int32_t hd_blanks_place[HD_BLANKS_PLACES]; /* rows */

typedef struct hd_blanks {
    hd_tokenizer *words;
    int32_t ids[HD_BLANKS_SUMS][HD_BLANKS_ROWS];
    size_t tokens, asked, hidden; /* of all that was learned from */
} hd_blanks;

/* The caller closes it whatever happens. */
hd_status hd_blanks_open(hd_blanks *y, hd_err *err);
void hd_blanks_close(hd_blanks *y); /* accepts {0} */

/* So many updates, with masks as training has them. */
hd_status hd_blanks_learn(hd_filler *f, hd_blanks *y, int updates, hd_rng *rng, hd_err *err);
/* All sums, in a step that was begun, with a blank in one row, -1: none, which is asked for. all: every row
   is asked for, but only blanks have a label. last: the last number is that of the next sum. */
hd_bert_batch hd_blanks_batch(hd_run *r, const hd_blanks *y, int32_t blank, bool all, bool last);

#endif
