/* n-grams counted in a text whose next word depends on the two before it, and what they say of new text. */
#ifndef HD_LAB_LANGUAGE_COUNTS_H
#define HD_LAB_LANGUAGE_COUNTS_H

#include <stdint.h>

#include "base/status.h"

enum {
    HD_COUNTS_KINDS = 12,
    HD_COUNTS_LONGEST = 5,
    HD_COUNTS_LINE = 20,
    HD_COUNTS_LINES = 400,
    HD_COUNTS_HELD = 100
};

typedef struct hd_counts {
    double learned, smoothed; /* perplexities: of ratios, of Kneser-Ney for new text */
    double impossible;        /* share of new words that ratios think so */
    double ratio;             /* how far a probability is from the ratio of counts */
} hd_counts;

/* to [HD_COUNTS_LONGEST]: of 1, 2, ... words in a row. */
hd_status hd_counts_of(hd_counts *to, uint64_t seed, hd_err *err);

#endif
