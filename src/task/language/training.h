/* Training a language model: its options, its data, and what recurrent ones carry from window to window. */
#ifndef HD_TASK_LANGUAGE_TRAINING_H
#define HD_TASK_LANGUAGE_TRAINING_H

#include "model/lm/lm.h"
#include "run/session.h"
#include "task/language/language.h"
#include "train/optimizer.h"

/* What a run learns from and what it validates with (count 0: nothing), as tokens, and tells the session of
   them. The tokenizer is made where *tokenizer is NULL. whole: all of it must be in memory. */
hd_status hd_stream_texts_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                               hd_session *s, bool whole, hd_err *err);

/* -- options -- */

/* HD_EARG where options do not go together. */
hd_status hd_language_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary. */
hd_lm_opt hd_language_model(const hd_train_options *o);

extern const hd_recipe hd_recipe_lm;

/* Whether a row can have an effect on language models of a kind, whatever the others are. */
bool hd_language_has(hd_lm_kind kind, const hd_option *row);

/* -- states that are carried -- */

typedef struct hd_carry {
    hd_run *run;
    size_t parts;
    hd_cache **state; /* [parts] */
    size_t *items;    /* [parts] windows of a part; a state may be filled up to more */
} hd_carry;

/* items: windows of each part, of `length` rows. */
hd_status hd_carry_init(hd_carry *c, hd_run *r, const hd_lm *m, const size_t *items, size_t parts,
                        size_t length, hd_err *err);
void hd_carry_release(hd_carry *c); /* accepts {0} */

/* Before every update: whether its windows go on from where the last ones ended, or begin anew. */
void hd_carry_go_on(hd_carry *c, bool on);
/* What the shape of a step depends on, once its windows are sent. */
uint64_t hd_carry_shape(hd_run *r, hd_carry *c, size_t part, const hd_seg *seg);

/* To keep the states in checkpoints. */
hd_beside hd_carry_beside(hd_carry *c);

#endif
