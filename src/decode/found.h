/* What a search found: some guesses for each sentence, with the log-probability of every token. */
#ifndef HD_DECODE_FOUND_H
#define HD_DECODE_FOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/tensor.h"

typedef struct hd_guess {
    int32_t *ids;  /* [length], a forced prefix and the end token included */
    hd_real *logp; /* [length], of the model as it is: temperature, bans and penalties do not change them */
    size_t length;
    double sum;    /* of logp */
    double score;  /* sum, after the length penalty */
    bool finished; /* ends in the end token; otherwise the length limit cut it, or nothing could follow */
} hd_guess;

typedef struct hd_found {
    size_t items;
    size_t *begin; /* [items + 1]: item i has guess[begin[i]] .. guess[begin[i + 1] - 1] */
    hd_guess *guess;
    int32_t *ids; /* of all guesses, one after the other; so is logp */
    hd_real *logp;
    size_t guesses, used; /* so far; of ids and logp */
} hd_found;

/* Sentences to be scored: count[i] of them for item i (NULL: one each), one after the other; copied. */
hd_status hd_found_of(hd_found **out, const int32_t *ids, const int32_t *len, const size_t *count,
                      size_t items, hd_err *err);
hd_status hd_found_copy(hd_found **out, const hd_found *f, hd_err *err);
void hd_found_free(hd_found *f); /* accepts NULL */

static inline size_t hd_found_count(const hd_found *f, size_t item)
{
    return f->begin[item + 1] - f->begin[item];
}
static inline hd_guess *hd_found_at(const hd_found *f, size_t item)
{
    return f->guess + f->begin[item];
}

/* Best score first; equal ones stay in order. */
void hd_found_sort(hd_found *f);

/* For those who fill it: an empty one with room for that much; the next guess; the end of an item's guesses.
 */
hd_status hd_found_new(hd_found **out, size_t items, size_t guesses, size_t tokens, hd_err *err);
hd_guess *hd_found_add(hd_found *f, size_t length);
void hd_found_close(hd_found *f, size_t item);

#endif
