/* Answers of a language model to problems: where they stand in a text, votes, and pass@k. */
#ifndef HD_METRIC_ANSWERS_H
#define HD_METRIC_ANSWERS_H

#include <stdbool.h>

#include "base/file/lines.h"

/* Where the answer stands in a text: what the first group of a regular expression has matched, or all of the
   match where it has no group; of several matches the last one. Without an expression: what stands behind the
   last "=", or the whole text. Spaces around it are no part of it. */
typedef struct hd_answer_rule hd_answer_rule;

/* regex: extended, as POSIX has them; NULL: none. HD_EARG with a text that says what is wrong with it. */
hd_status hd_answer_rule_new(hd_answer_rule **out, const char *regex, hd_err *err);
void hd_answer_rule_free(hd_answer_rule *r); /* accepts NULL */

/* Within the text, behind which a zero byte stands; text NULL: it has no answer. */
hd_line hd_answer_find(const hd_answer_rule *r, hd_line text);
/* Whether the expression matches anywhere; it has one. */
bool hd_answer_matches(const hd_answer_rule *r, hd_line text);

/* A text without the spaces around it. */
hd_line hd_answer_trimmed(hd_line text);
bool hd_answer_same(hd_line a, hd_line b);

/* What one sample, or several that are alike, answered. */
typedef struct hd_answer {
    hd_line text; /* borrowed; text NULL: none, and it does not count */
    size_t count;
    double logp; /* of all samples that gave it, summed */
} hd_answer;

/* Lays the same answers of n samples together, in place: those given more often first, of equals the one with
   the higher log-probability, then the one given first. Returns how many different ones there are. */
size_t hd_vote(hd_answer *answer, size_t n);

/* The probability that one of k samples is right, by n of them of which `right` were: 1 - C(n-right, k) /
   C(n, k), which is unbiased. NaN where k is 0 or more than n. */
double hd_pass_at(size_t n, size_t right, size_t k);

#endif
