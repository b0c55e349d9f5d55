/* How a sentence's log-probability and its length make its score. Lengths count every token, the end token
 * too. */
#ifndef HD_DECODE_LENGTH_H
#define HD_DECODE_LENGTH_H

#include <stddef.h>

/* X(NAME, name, what the log-probability is divided by) */
#define HD_LENGTH_LIST(X)             \
    X(NONE, none, "nothing")          \
    X(AVERAGE, average, "the length") \
    X(GNMT, gnmt, "((5 + length) / 6) ^ alpha")

#define X(NAME, name, text) HD_LENGTH_##NAME,
typedef enum hd_length_kind { HD_LENGTH_LIST(X) HD_LENGTHS } hd_length_kind;
#undef X

typedef struct hd_length {
    hd_length_kind kind;
    double alpha; /* GNMT */
    double bonus; /* added for each token, whatever the kind */
} hd_length;

extern const char *const hd_length_names[HD_LENGTHS + 1]; /* ends with NULL */

/* What a log-probability is divided by at this length; above 0. */
double hd_length_divisor(const hd_length *l, size_t length);
/* What is added to its score then. */
double hd_length_bonus(const hd_length *l, size_t length);

/* The score of a sentence whose log-probabilities sum up to `sum`. */
static inline double hd_length_score(const hd_length *l, double sum, size_t length)
{
    return sum / hd_length_divisor(l, length) + hd_length_bonus(l, length);
}

/* The best score a hypothesis can end with when its log-probability is `logp` now and the divisor will lie
   between those of its shortest and longest end: every token to come has probability 1, and the divisor,
   which rises or falls steadily with the length, is best at one of the two. */
static inline double hd_length_bound(double logp, double shortest, double longest)
{
    double a = logp / shortest, b = logp / longest;
    return a > b ? a : b;
}

#endif
