/* A SentencePiece model as a tokenizer.json. */
#ifndef HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_JSON_H
#define HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_JSON_H

#include "base/json.h"
#include "text/sentencepiece/sentencepiece_file.h"

/* How it differs from the rule: the decoder keeps the space before a text; pieces that its user defined are
   among the added tokens already, without which they are refused. */
typedef enum hd_spm_form { HD_SPM_CONTINUES = 1, HD_SPM_DEFINED = 2 } hd_spm_form;

/* Sets "normalizer", "pre_tokenizer", "decoder" and "model" (hd_tokenizer_type.describe). form: of the above.
 */
hd_status hd_spm_describe(const hd_spm_file *file, json_t *root, unsigned form, hd_err *err);

#endif
