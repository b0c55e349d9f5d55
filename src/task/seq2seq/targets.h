/* The texts that captioners and speech recognizers learn to write: as they are learned, in ids, and sent. */
#ifndef HD_TASK_SEQ2SEQ_TARGETS_H
#define HD_TASK_SEQ2SEQ_TARGETS_H

#include "base/arena.h"
#include "op/op.h"
#include "text/tokenizer.h"

typedef struct hd_targets {
    hd_line *text; /* [count] as they are learned, each followed by a zero byte */
    size_t count;
    int32_t *id;     /* of all, without special tokens */
    size_t *begin;   /* [count + 1] in id */
    hd_arena memory; /* of the texts */
} hd_targets;

/* Appends a text as it is learned. cased: it keeps its capital letters. */
typedef void hd_targets_put(hd_text *to, hd_line from, bool cased);

/* Takes texts in the place of those that are there; *t is {0} or made before. */
hd_status hd_targets_take(hd_targets *t, const hd_line *from, size_t count, bool cased, hd_targets_put *put,
                          hd_err *err);
void hd_targets_release(hd_targets *t); /* accepts {0} */

/* Lines for a vocabulary. */
typedef struct hd_targets_walk {
    const hd_targets *of;
    size_t next;
} hd_targets_walk;
hd_feed hd_targets_feed(hd_targets_walk *walk);

/* Texts that have more tokens than they may. */
typedef struct hd_targets_cut {
    size_t count, first, tokens; /* how many; which is the first, and what it has */
} hd_targets_cut;

/* Sets the ids, of each text the first `longest` at the most. */
hd_status hd_targets_encode(hd_targets *t, const hd_tokenizer *by, size_t longest, hd_targets_cut *cut,
                            hd_err *err);

static inline size_t hd_targets_tokens(const hd_targets *t, size_t i) /* with the end */
{
    return t->begin[i + 1] - t->begin[i] + 1;
}
/* The same of all of these. */
size_t hd_targets_sum(const hd_targets *t, const uint32_t *which, size_t count);

/* Texts for a batch. */
typedef struct hd_targets_ask {
    const uint32_t *which; /* [items] */
    const int32_t *key;    /* [items] numbers for random draws */
    size_t items;
    hd_special special;    /* what a text begins with for the decoder, and how it ends */
    const int32_t *prompt; /* read before that, and not learned */
    size_t prompts;
    bool exact;   /* the number of items is not filled up */
    bool unrolls; /* the decoder goes row by row */
    bool labels;  /* CTC learns them, too */
} hd_targets_ask;

/* What a decoder reads and what it is to say, in backend memory, as long as the step. */
typedef struct hd_targets_sent {
    const hd_seg *seg;
    const int32_t *input, *output;
    const hd_seg *labels; /* of CTC, without the end; NULL: none were asked for */
    const int32_t *label;
} hd_targets_sent;

/* Sends the texts, before the first kernel of the step is called. Returns the shape that a captured step has
   to mix in, 0 on failure. */
uint64_t hd_targets_send(hd_run *r, hd_targets_sent *out, const hd_targets *t, const hd_targets_ask *ask);

#endif
