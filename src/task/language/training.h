/* Training a language model: its options, its data, and what recurrent ones carry from window to window. */
#ifndef HD_TASK_LANGUAGE_TRAINING_H
#define HD_TASK_LANGUAGE_TRAINING_H

#include "model/lm/lm.h"
#include "run/session.h"
#include "task/language/language.h"
#include "train/optimizer.h"

/* What a run has that learns from a stream of text. The state of its task begins with it. */
typedef struct hd_stream_run {
    hd_model_folder folder; /* its tokenizer is there once the run is open, its model not yet */
    hd_model_folder
        begun; /* that of a run that is resumed, or of the model it begins with; without weights */
    hd_stream_text train, valid; /* valid.count 0: there is none */
    size_t batch;                /* windows of an update */
    uint64_t seed;
} hd_stream_run;

/* Opens or learns the tokenizer, reads the texts as tokens, and tells the session of them. whole: all of the
   text must be in memory. To be released, also after a failure. */
hd_status hd_stream_run_open(hd_stream_run *r, hd_session *s, bool whole, hd_err *err);
void hd_stream_run_release(hd_stream_run *r); /* accepts {0} */
void hd_stream_run_plan(const hd_stream_run *r, hd_plan *p, size_t vocab);

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
