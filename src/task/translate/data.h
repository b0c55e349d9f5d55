/* The data of a training run: tokenizers, and the pairs as ids in memory or on shards. */
#ifndef HD_TASK_TRANSLATE_DATA_H
#define HD_TASK_TRANSLATE_DATA_H

#include "data/corpus.h"
#include "data/shards/shards.h"
#include "run/session.h"
#include "model/encdec/encdec.h"
#include "task/model_folder.h"

typedef struct hd_translate_set {
    hd_encdec_opt model;     /* of the folder that the tokenizers come from, if they do */
    hd_sentences valid_text; /* references of the validation */
    hd_corpus train, valid;
    hd_shards *shards; /* the training pairs; NULL: they are in train */
    bool has_valid;
    size_t longest;                     /* tokens of the longest sentence kept for training, end included */
    uint64_t hash;                      /* of the training pairs */
    size_t pairs, source, target, cost; /* of them, ends included */
} hd_translate_set;

/* Reads, learns or opens the tokenizers, which are the caller's, also after a failure; packs or writes
   shards. */
hd_status hd_translate_set_make(hd_translate_set *out, hd_tokenizer *tokenizer[2], hd_session *s,
                                hd_team *team, hd_err *err);
void hd_translate_set_release(hd_translate_set *s);

#endif
