/* A Unigram tokenizer.json as the SentencePiece model it was made of. */
#ifndef HD_TEXT_PUBLISHED_T5_JSON_H
#define HD_TEXT_PUBLISHED_T5_JSON_H

#include "text/published/tokenizer_json.h"

/* Writes the bytes of a .model file: pieces with their scores, special tokens as such, the table of
   characters. */
hd_status hd_t5_json_model(const hd_tokenizer_json *j, hd_text *model);

#endif
