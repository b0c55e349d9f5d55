/* Batches of a corpus by token budget, epoch after epoch. A batch is a set of sentences of similar length:
   the corpus is shuffled, cut in windows, each window sorted by length and cut in batches, and the batches
   shuffled again. All of it follows from the corpus, the seed and the epoch alone, so a position is two
   numbers, and every process of a run forms the same batch and takes its share of it. A corpus on shards is
   taken round by round (data/round.h), each as if it were a corpus; there the batches depend on the number of
   processes, too. */
#ifndef HD_DATA_BATCH_H
#define HD_DATA_BATCH_H

#include "data/corpus.h"
#include "data/shards/shards.h"
#include "data/source.h"

/* Sentences are one behind the other. len counts the special that is added. */
typedef struct hd_batch {
    hd_position at;
    size_t batches;               /* in this epoch; of shards about */
    size_t tokens;                /* what counts against the budget, all processes together */
    size_t total;                 /* sentences of all processes */
    size_t items;                 /* of this one: may be 0 */
    int32_t *key;                 /* [items] number of the sentence in the corpus */
    int32_t *source, *source_len; /* ids and the end; NULL for a corpus of one side */
    int32_t *input, *output;      /* the start and ids; ids and the end. Side 0 where there is no other */
    int32_t *target_len;          /* [items] of both */
    size_t source_rows, target_rows;
    size_t source_total, target_total; /* rows of all processes */
} hd_batch;

typedef struct hd_batch_opt {
    size_t tokens; /* budget of a batch, all processes together: the sum of the longer side of each sentence,
                      its end included */
    uint64_t seed;
    bool in_order;   /* do not shuffle: batches are still sorted by length within a window */
    bool once;       /* one epoch, then the end */
    int window;      /* batches a window is good for; 0: HD_BATCH_WINDOW */
    int rank, ranks; /* this process and how many there are; 0 of 0 or 1: alone */
    int ahead;       /* batches a thread prepares in advance; 0: the caller does it when asked */
    size_t round;    /* shards: tokens of a round; 0: HD_ROUND_TOKENS, or those of 16 batches */
    int32_t source_end, target_start, target_end;
} hd_batch_opt;

enum { HD_BATCH_WINDOW = 64, HD_BATCH_AHEAD_MOST = 64 };

typedef struct hd_batches hd_batches;

/* Borrows the corpus. Fails where a sentence is longer than the budget. */
hd_status hd_batches_new(hd_batches **out, const hd_corpus *corpus, const hd_batch_opt *opt, hd_err *err);
/* The same of shards, which are borrowed, too. in_order is for corpora in memory. */
hd_status hd_batches_open(hd_batches **out, hd_shards *shards, const hd_batch_opt *opt, hd_err *err);
void hd_batches_free(hd_batches *b); /* accepts NULL; at any moment */

/* The next batch, valid until the next call of any function here but position; NULL behind the end. A failure
   of the thread is reported by the call that wanted its batch, and again until seek. */
hd_status hd_batches_next(hd_batches *b, const hd_batch **out, hd_err *err);

/* The same batches as a source, which lives as long as they do; its next forms what hd_batches_now gives. */
hd_source *hd_batches_source(hd_batches *b);
const hd_batch *hd_batches_now(const hd_batches *b);

hd_position hd_batches_position(const hd_batches *b);
/* The same batches follow as followed when the position was asked for. Fails, and changes nothing, where the
   epoch has no such batch: the corpus or the options are others. */
hd_status hd_batches_seek(hd_batches *b, hd_position at, hd_err *err);

#endif
