/* A text that grows by turns: what a gpt has read stays in its cache, and each turn reads only what is new.

       hd_talk_stepper(&stepper, talk, ids, count, &err);   all tokens so far, those of earlier turns too

   The stepper has one item, which joins and steps as any other; it is released before the next turn. */
#ifndef HD_MODEL_LM_TALK_H
#define HD_MODEL_LM_TALK_H

#include "model/lm/lm.h"
#include "model/stepper.h"
#include "text/tokenizer.h"

typedef struct hd_talk hd_talk;

/* HD_EARG: the model is no gpt, and has no cache that could grow. The model stays the caller's. */
hd_status hd_talk_new(hd_talk **out, const hd_lm *m, hd_err *err);
void hd_talk_free(hd_talk *t); /* accepts NULL */

/* The most tokens that it can hold. */
size_t hd_talk_room(const hd_talk *t);
/* What is in the cache, and how many tokens were read since it was made: by prompts, not one by one. */
const hd_ids *hd_talk_seen(const hd_talk *t);
size_t hd_talk_read(const hd_talk *t);

/* ids: all of a text of 1 to room tokens. Where they begin as what is in the cache, the rest is read; where
   not, all of it. */
hd_status hd_talk_stepper(hd_stepper *out, hd_talk *t, const int32_t *ids, size_t count, hd_err *err);

#endif
