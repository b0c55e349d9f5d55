/* The words behind <unk>: what stood in the text where a model read that its vocabulary lacks a piece. */
#ifndef HD_TASK_UNKNOWN_H
#define HD_TASK_UNKNOWN_H

#include "text/tokenizer.h"

/* word [count] gets the bytes of `text` behind each id that is <unk>, {NULL, 0} for all others and where it
   cannot be told. The ids are those of the text from its beginning, as many as were read, with whatever else
   around them; a "[MASK]" in it is one if `masks`. */
hd_status hd_unknown_words(hd_line *word, const hd_tokenizer *t, const int32_t *ids, size_t count,
                           hd_line text, bool masks, hd_err *err);

#endif
