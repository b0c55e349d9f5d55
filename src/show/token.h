/* Tokens as they are shown: what each is called. A word that the vocabulary lacks is called by its text. */
#ifndef HD_SHOW_TOKEN_H
#define HD_SHOW_TOKEN_H

#include "base/arena.h"
#include "base/file/lines.h"
#include "text/tokenizer.h"

/* Behind a word that was read as <unk>, and what it means. */
#define HD_UNKNOWN_MARK   "*"
#define HD_UNKNOWN_LEGEND "* not in the vocabulary: read as <unk>"

typedef struct hd_shown_token {
    int32_t id;
    const char *piece; /* valid UTF-8; of a word that the vocabulary lacks the word and HD_UNKNOWN_MARK */
    const char *word;  /* that word alone; NULL of all others */
} hd_shown_token;

static inline const char *hd_shown_plain(const hd_shown_token *t) /* the name without a mark */
{
    return t->word ? t->word : t->piece;
}

/* Names ids into `to` [count]. pieces NULL: the ids as numbers. text: what they were made of, which names
   unknown words, as hd_unknown_words finds them; {0}: those are <unk>. masks: the mask has a name, too. */
hd_status hd_shown_tokens(hd_shown_token *to, hd_arena *memory, const int32_t *ids, size_t count,
                          const hd_tokenizer *pieces, hd_line text, bool masks, hd_err *err);

/* HD_EARG for no token or one that is no id, HD_ELIMIT for more than the model takes. what: "source"; of:
   what stands before the text of the error, or "". */
hd_status hd_shown_check(const char *of, const char *what, const int32_t *ids, size_t count, size_t vocab,
                         size_t positions, hd_err *err);

/* A copy of a text with U+FFFD for every byte that is not UTF-8; NULL: no memory. */
const char *hd_shown_text(hd_arena *memory, hd_line text, hd_err *err);

#endif
