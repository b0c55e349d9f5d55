/* Looks: a beam search, and how often attention is computed in it. */
#ifndef HD_LAB_DECODING_LOOKS_H
#define HD_LAB_DECODING_LOOKS_H

#include "decode/search.h"
#include "lab/learner.h"

enum { HD_LOOKS_ITEMS = 8 }; /* sentences that are searched for */

typedef struct hd_looks {
    size_t extended; /* paths that were extended */
    size_t looks;    /* rows of queries that attention was computed for */
    hd_found *found;
} hd_looks;

/* Searches for what the first sentences of the learner's lot become. shared: siblings share what their parent
   sees. The caller releases it whatever happens. */
hd_status hd_looks_search(hd_looks *to, const hd_learner *l, size_t beam, bool shared, hd_err *err);
void hd_looks_release(hd_looks *x); /* accepts {0} */

/* Between scores of two searches, the largest difference; infinite where the best sentences differ. */
double hd_looks_apart(const hd_looks *a, const hd_looks *b);

#endif
