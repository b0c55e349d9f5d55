/* Unigram vocabularies rebuilt as SentencePiece models: the bytes of a .model file, with special tokens
   marked. */
#ifndef HD_TEXT_PUBLISHED_UNIGRAM_H
#define HD_TEXT_PUBLISHED_UNIGRAM_H

#include "text/published/tokenizer_json.h"

/* From a tokenizer.json: pieces with their scores, the table of characters. */
hd_status hd_unigram_of_json(const hd_tokenizer_json *j, hd_text *model);

/* From a .model file of fairseq, whose ids differ from the file's: <s> <pad> </s> <unk>, the pieces after
   the first three, and <mask>. */
hd_status hd_unigram_of_fairseq(hd_text *model, hd_line bytes, const char *path, hd_err *err);

#endif
