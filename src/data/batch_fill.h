/* Sentences of a corpus into the arrays of a batch. */
#ifndef HD_DATA_BATCH_FILL_H
#define HD_DATA_BATCH_FILL_H

#include "data/batch.h"

typedef struct hd_filled_batch {
    hd_batch batch;
    int32_t *block; /* all its arrays; the caller frees it */
    size_t room;
} hd_filled_batch;

/* units: numbers of groups of `group` sentences. key: numbers of the sentences for random draws; NULL: their
   own. Position and batches are the caller's to set. */
hd_status hd_batch_fill(hd_filled_batch *to, const hd_corpus *c, const int32_t *key, size_t group,
                        const hd_batch_opt *o, const uint32_t *unit, size_t units, hd_err *err);

#endif
