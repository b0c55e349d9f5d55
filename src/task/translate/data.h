/* The data of a training run: tokenizers and packed corpora, made from the files. */
#ifndef HD_TASK_TRANSLATE_DATA_H
#define HD_TASK_TRANSLATE_DATA_H

#include "data/corpus.h"
#include "run/options.h"
#include "task/translate/translator.h"

typedef struct hd_translate_set {
    hd_tokenizer *tokenizer[2];
    hd_encdec_opt model;                 /* of the folder that they come from, if they do */
    hd_sentences train_text, valid_text; /* the training text is released once it is packed */
    hd_corpus train, valid;
    bool has_valid;
    size_t longest; /* tokens of the longest sentence kept for training, end included */
} hd_translate_set;

/* Reads, learns or opens the tokenizers, packs. folder: a model whose tokenizers are to be used, or NULL. */
hd_status hd_translate_set_make(hd_translate_set *out, const hd_train_options *o, const char *folder,
                                hd_team *team, const hd_log *log, hd_err *err);
void hd_translate_set_release(hd_translate_set *s);

#endif
