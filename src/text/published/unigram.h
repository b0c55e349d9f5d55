/* Unigram vocabularies as the SentencePiece models that they were made of, or would be: bytes of a .model
   file, with special tokens as such. */
#ifndef HD_TEXT_PUBLISHED_UNIGRAM_H
#define HD_TEXT_PUBLISHED_UNIGRAM_H

#include "text/published/tokenizer_json.h"

/* That of a tokenizer.json: pieces with their scores, the table of characters. */
hd_status hd_unigram_of_json(const hd_tokenizer_json *j, hd_text *model);

/* A .model file of fairseq, whose ids are others than it says: <s> <pad> </s> <unk>, the pieces behind the
   first three, and <mask>. */
hd_status hd_unigram_of_fairseq(hd_text *model, hd_line bytes, const char *path, hd_err *err);

#endif
