/* Sums to learn from: "07+85=" and "092". Every draw is a function of the seed and a number. */
#ifndef HD_DATA_SUMS_SUMS_H
#define HD_DATA_SUMS_SUMS_H

#include "base/text.h"

enum { HD_SUM_DIGITS = 9 }; /* most of an operand */

typedef struct hd_sums {
    int digits; /* of an operand */
    uint64_t seed;
    double valid, test; /* fractions of all pairs of operands */
} hd_sums;

typedef struct hd_sum {
    uint64_t a, b;
} hd_sum;

typedef enum hd_sum_split { HD_SUM_TRAIN, HD_SUM_VALID, HD_SUM_TEST, HD_SUM_SPLITS } hd_sum_split;

/* How many pairs of operands there are. */
uint64_t hd_sums_count(const hd_sums *s);
/* The i-th of them, in random order; no two are equal. */
hd_sum hd_sum_at(const hd_sums *s, uint64_t i);
/* a+b and b+a are in the same split. */
hd_sum_split hd_sum_split_of(const hd_sums *s, hd_sum sum);

/* "07+85=", with leading zeros. */
void hd_sum_put_prompt(hd_text *to, const hd_sums *s, hd_sum sum);
/* "092"; with probability `noise` one digit of it is another one. draw: which draw of that pair. */
void hd_sum_put_answer(hd_text *to, const hd_sums *s, hd_sum sum, double noise, uint32_t draw);

#endif
