/* Passages of a text that do not see each other, dialogues or documents: one behind the other, with what of
   each is learned. */
#ifndef HD_TASK_LANGUAGE_PASSAGES_H
#define HD_TASK_LANGUAGE_PASSAGES_H

#include "task/language/language.h"

typedef struct hd_passages {
    hd_ids ids;
    uint8_t *learned; /* [ids.count] whether a token is foreseen, not only read */
    size_t *begin;    /* [count] the first token of each */
    size_t count, learned_room, begin_room;
} hd_passages;

/* Takes the tokens from `first` on as a passage; learned is reserved for them, not set. */
hd_status hd_passages_add(hd_passages *t, size_t first, hd_err *err);
void hd_passages_release(hd_passages *t); /* accepts {0} */

/* Passages to learn from and to validate with: those held out, or where there are none the last fraction, as
   long as one is left to learn from. */
hd_status hd_passages_split(hd_stream_text *train, hd_stream_text *valid, const hd_passages *all,
                            const hd_passages *held, double fraction, hd_err *err);

#endif
