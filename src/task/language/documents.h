/* Texts as documents: each is an item of its own, so that attention and positions begin anew in it, and an
   update is packed with as many whole ones as its windows have tokens. Nothing is padded. */
#ifndef HD_TASK_LANGUAGE_DOCUMENTS_H
#define HD_TASK_LANGUAGE_DOCUMENTS_H

#include "run/session.h"
#include "task/language/chat/dialogues.h"
#include "task/language/language.h"

/* Reads the files of a run, learns the tokenizer unless there is one, and tells the session of them. A
   document begins with the start token, where there is one, and ends with the end token. */
hd_status hd_documents_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                            hd_session *s, hd_err *err);

/* Documents in the order of an epoch, packed: those that begin in the same share of its tokens are one
   update, and none is cut but those longer than the model sees. */
typedef struct hd_packing {
    size_t batches;  /* of an epoch; 0: nothing is packed */
    size_t tokens;   /* of an epoch */
    size_t *first;   /* [batches + 1] places in the order of the windows */
    uint64_t packed; /* 1 + the epoch of `first`; 0: none */
} hd_packing;

/* budget: tokens of an update, about. */
hd_status hd_packing_init(hd_packing *p, const hd_dialogue_windows *w, size_t budget, hd_err *err);
void hd_packing_release(hd_packing *p); /* accepts {0} */
/* The windows of update `at`: so many from place `first` of the order on. */
size_t hd_packing_draw(hd_packing *p, hd_dialogue_windows *w, uint64_t at, uint64_t seed, size_t *first);

#endif
