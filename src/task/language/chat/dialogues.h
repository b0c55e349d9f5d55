/* Dialogues to learn from: JSON lines of {"messages": [{"role": ..., "content": ...}, ...]}. Each is rendered
   by the model's chat template; the assistant's words and what ends them are learned, all else is only read.
 */
#ifndef HD_TASK_LANGUAGE_CHAT_DIALOGUES_H
#define HD_TASK_LANGUAGE_CHAT_DIALOGUES_H

#include "run/session.h"
#include "task/language/language.h"

/* Whether a file is one of dialogues, by its name: ".jsonl", plain or compressed. */
bool hd_is_dialogues(const char *path);

/* Reads the files of a run, learns the tokenizer unless there is one, and tells the session of them. */
hd_status hd_dialogues_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                            hd_session *s, hd_err *err);
/* Writes the template of a model that was made here into its folder; others keep theirs with the tokenizer.
 */
hd_status hd_dialogues_save(const hd_tokenizer *t, const char *folder, hd_err *err);

/* Windows of dialogues, as they are drawn for updates: a dialogue is one, or several where it is longer than
   the model sees; those without an answer are left out. */
typedef struct hd_dialogue_windows {
    const hd_stream_text *train;
    hd_window *window; /* [items] */
    size_t *order;     /* [items] shuffled */
    size_t items, room;
    uint64_t shuffled; /* 1 + the epoch of `order`; 0: none */
} hd_dialogue_windows;

hd_status hd_dialogue_windows_init(hd_dialogue_windows *w, const hd_stream_text *train, size_t length,
                                   hd_err *err);
void hd_dialogue_windows_release(hd_dialogue_windows *w); /* accepts {0} */
/* Puts them into the order of an epoch. */
void hd_dialogue_windows_shuffle(hd_dialogue_windows *w, uint64_t seed, uint64_t epoch);
/* out [batch]: those of update `at`, which follow from its number and the seed alone. Returns how many of
   their tokens are learned. */
size_t hd_dialogue_windows_draw(hd_dialogue_windows *w, hd_window *out, size_t batch, uint64_t at,
                                size_t batches, uint64_t seed);

#endif
