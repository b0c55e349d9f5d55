/* config.json of a translator: what its model and its tokenizers are. */
#ifndef HD_TASK_TRANSLATE_CONFIG_H
#define HD_TASK_TRANSLATE_CONFIG_H

#include "model/encdec/encdec.h"
#include "text/tokenizer.h"

typedef struct hd_translator_config {
    hd_encdec_opt model; /* but for what only training needs; vocabularies of 0: older ones do not say them */
    size_t longest;
    hd_tokenizer_kind tokenizer[2];
    bool shared; /* one tokenizer for both sides */
} hd_translator_config;

/* What "model" says: "transformer", "t5", or "encoder-decoder" where there is more to say. */
const char *hd_translator_model_name(const hd_encdec_opt *o);

/* The key of how many pieces the tokenizer of a side has, or of a T5 rows the table of both. */
const char *hd_translator_vocab_key(const hd_encdec_opt *o, int side);

hd_status hd_translator_config_save(const hd_translator_config *c, const char *folder, hd_err *err);
/* A failure names the file and the key. */
hd_status hd_translator_config_load(hd_translator_config *to, const char *folder, hd_err *err);

#endif
