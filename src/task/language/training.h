/* Training a language model: its options, its data, and what recurrent ones carry from window to window. */
#ifndef HD_TASK_LANGUAGE_TRAINING_H
#define HD_TASK_LANGUAGE_TRAINING_H

#include "data/music/set.h"
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

/* -- music -- */

/* Takes the pieces of a set, which is empty then. */
hd_status hd_stream_text_of_music(hd_stream_text *out, hd_music_set *set, hd_err *err);
/* Windows of music begin at multiples of so many tokens. */
size_t hd_music_align(hd_music kind);
/* Reads the files of a run, makes the tokenizer unless there is one, and tells the session of them. */
hd_status hd_music_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer, hd_session *s,
                        hd_err *err);

/* Windows of pieces, as they are drawn for updates. A piece that is longer than a window has several in an
   epoch, at places that are drawn. */
typedef struct hd_music_windows {
    hd_music kind;
    const hd_stream_text *train;
    size_t length, items;        /* tokens of a window; windows of an epoch */
    hd_music_ranges all, *range; /* of the voices: in all pieces, and [pieces] in each */
    size_t *piece, *order;       /* [items] that each is of: by their numbers, and shuffled */
    uint64_t shuffled;           /* 1 + the epoch of `order`; 0: none */
    hd_ids ids;
    hd_stream_text text; /* what the windows of the update lie in; borrows ids */
} hd_music_windows;

hd_status hd_music_windows_init(hd_music_windows *m, const hd_stream_text *train, hd_music kind,
                                size_t length, hd_err *err);
void hd_music_windows_release(hd_music_windows *m); /* accepts {0} */
/* out [batch]: those of update `at`, which follow from its number and the options alone. */
hd_status hd_music_windows_draw(hd_music_windows *m, hd_window *out, size_t batch, uint64_t at,
                                size_t batches, const hd_train_options *o, hd_err *err);

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
