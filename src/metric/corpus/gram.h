/* How many n-grams a hypothesis shares with its references, for n = 1, 2, ... in turn. The symbols are code
   points or numbers of words. */
#ifndef HD_METRIC_CORPUS_GRAM_H
#define HD_METRIC_CORPUS_GRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_gram_text {
    const uint32_t *symbol; /* HD_NO_SYMBOL in a reference: not in the hypothesis */
    size_t count;
} hd_gram_text;

typedef struct hd_gram {
    hd_gram_text hyp;
    const hd_gram_text *ref;
    int refs;
    size_t order;                /* of the n-grams counted last */
    uint32_t *before;            /* number of the n-gram that begins at each symbol: hyp, ref 0, ref 1, ... */
    struct hd_gram_count *count; /* [distinct n-grams of the hypothesis] */
    struct hd_gram_slot *slot;   /* hash table: which n-gram is it? */
    size_t slots, before_room, count_room, slot_room;
} hd_gram;

/* {0} before first use. */
void hd_gram_release(hd_gram *g);

/* Starts a segment at order 0. All texts are borrowed until the next start. */
hd_status hd_gram_begin(hd_gram *g, hd_gram_text hyp, const hd_gram_text *ref, int refs, hd_err *err);

/* Goes up to the next order. match[r] = matches with reference r alone, each n-gram as often as both have it;
   returns the matches where a reference count is the largest of all references. */
size_t hd_gram_next(hd_gram *g, size_t *match);

/* n-grams of order n in a text of `count` symbols */
static inline size_t hd_gram_total(size_t count, size_t n)
{
    return count >= n ? count - n + 1 : 0;
}

#endif
