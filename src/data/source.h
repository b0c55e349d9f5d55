/* Where the batches of a training run come from: items in an order that two numbers describe, so that a run
   that is resumed goes on with the batches that it would have had. What a batch is, each source says itself:
   pairs of sentences (data/batch.h), windows of a text, labeled items. All of it follows from the data, the
   seed and the position alone; where the data lies (memory, shards on disk) is the source's business. */
#ifndef HD_DATA_SOURCE_H
#define HD_DATA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Of the batch that comes next; {0} is the start. */
typedef struct hd_position {
    uint64_t epoch, batch;
} hd_position;

typedef struct hd_source hd_source;

struct hd_source {
    uint64_t hash;  /* of the data: tells changed data from the same */
    size_t batches; /* of an epoch; of the first one where they differ, and about that of large data */
    /* Forms the next batch; *after is the position behind it. It is valid until the next call. */
    hd_status (*next)(hd_source *s, hd_position *after, hd_err *err);
    /* The same batches follow as followed when a next said this position. */
    hd_status (*seek)(hd_source *s, hd_position at, hd_err *err);
};

/* A source whose batches are drawn by whoever asks: all follows from the number of the batch, counted over
   the epochs, which have as many each. */
typedef struct hd_numbered_source {
    hd_source source; /* at first: it is cast from one to the other */
    uint64_t at;      /* number of the batch that next has formed, from 0 */
    uint64_t following;
} hd_numbered_source;

/* In the caller's memory; its free does nothing. */
void hd_numbered_source_init(hd_numbered_source *s, uint64_t hash, size_t batches);

#endif
