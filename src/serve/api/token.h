/* Tokens as clients are shown them: the text that each stands for, with the blank before a word. */
#ifndef HD_SERVE_API_TOKEN_H
#define HD_SERVE_API_TOKEN_H

#include "text/tokenizer.h"

/* Appends the text of one token; of one that has none its name, as "</s>". What is part of a character reads
   as U+FFFD. */
void hd_token_put(hd_text *to, const hd_tokenizer *t, int32_t id);

#endif
