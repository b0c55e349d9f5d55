/* Which sentences make which batch of an epoch, or of a round of one. What is shuffled, sorted and cut are
   groups of `group` sentences that follow each other; most have one. */
#ifndef HD_DATA_EPOCH_H
#define HD_DATA_EPOCH_H

#include "data/batch.h"

typedef struct hd_epoch {
    const hd_corpus *corpus;
    const hd_batch_opt *opt;
    size_t group, count; /* sentences of a group; groups */
    uint64_t number;
    size_t batches;
    uint32_t *order;          /* [count] groups, batch by batch */
    uint32_t *begin;          /* [batches + 1] in order, as cut */
    uint32_t *turn;           /* [batches] number, as cut, of the batch given in this turn */
    uint32_t *sorted, *tally; /* scratch: [count], [longest + 2] */
    size_t longest;           /* cost of a group */
} hd_epoch;

/* Allocates; no epoch is formed yet. Borrows both. */
hd_status hd_epoch_init(hd_epoch *e, const hd_corpus *corpus, size_t group, const hd_batch_opt *opt,
                        hd_err *err);
void hd_epoch_release(hd_epoch *e); /* accepts {0} */
void hd_epoch_form(hd_epoch *e, uint64_t number);

/* Groups of the batch whose turn it is. */
const uint32_t *hd_epoch_batch(const hd_epoch *e, size_t turn, size_t *items);

/* What a sentence costs: its longer side with the end behind it. */
static inline size_t hd_epoch_cost(const hd_corpus *c, size_t i)
{
    size_t cost = hd_corpus_len(c, 0, i);
    if (c->sides == 2 && hd_corpus_len(c, 1, i) > cost) cost = hd_corpus_len(c, 1, i);
    return cost + 1;
}

#endif
