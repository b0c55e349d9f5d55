/* A round of an epoch over shards: as many blocks as memory is meant for, drawn in random order, as a corpus
   that the batches of the round are formed of. Several processes share a round out by blocks: each reads the
   lengths of all items, so that all form the same batches, and the ids of its own blocks alone. Items of like
   length, one of each process, stand side by side: item i is that of process i % ranks. Where a process has
   none, the item has no tokens. */
#ifndef HD_DATA_ROUND_H
#define HD_DATA_ROUND_H

#include "data/corpus.h"
#include "data/shards/shards.h"

enum { HD_ROUND_TOKENS = 1 << 23 };

typedef struct hd_round {
    hd_shards *shards; /* borrowed */
    uint64_t seed;
    size_t rank, ranks;
    size_t rounds; /* of an epoch */
    uint64_t epoch, number;
    bool drawn;      /* order is that of the epoch */
    uint32_t *order; /* [shards->blocks] */
    size_t items;    /* of the round */
    uint32_t *len;   /* [items] of side 0, then of side 1, block by block */
    uint32_t *index; /* [items] number in the corpus */
    int32_t *key;    /* [corpus.count] number of the item in the shards */
    size_t room, index_room, key_room;
    hd_corpus corpus; /* the ids are there once hd_round_ids was called */
    bool has_ids;
} hd_round;

/* tokens: of a round, about; 0: HD_ROUND_TOKENS. */
hd_status hd_round_init(hd_round *r, hd_shards *shards, uint64_t seed, size_t rank, size_t ranks,
                        size_t tokens, hd_err *err);
void hd_round_release(hd_round *r); /* accepts {0} */

/* Which items the round has, and their lengths. */
hd_status hd_round_form(hd_round *r, uint64_t epoch, uint64_t number, hd_err *err);
hd_status hd_round_ids(hd_round *r, hd_err *err);

#endif
