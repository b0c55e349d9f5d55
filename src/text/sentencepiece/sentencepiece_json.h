/* A SentencePiece model as a tokenizer.json. */
#ifndef HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_JSON_H
#define HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_JSON_H

#include "base/json.h"
#include "text/sentencepiece/sentencepiece_file.h"

/* Sets "normalizer", "pre_tokenizer", "decoder" and "model" (hd_tokenizer_type.describe). */
hd_status hd_spm_describe(const hd_spm_file *file, json_t *root, bool continues, hd_err *err);

#endif
