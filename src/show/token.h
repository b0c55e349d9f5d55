/* Tokens as they are shown, with their names. A word that the vocabulary lacks is named by its text. */
#ifndef HD_SHOW_TOKEN_H
#define HD_SHOW_TOKEN_H

#include "base/arena.h"
#include "base/file/lines.h"
#include "text/tokenizer.h"

/* The mark after a word that was read as <unk>, and its meaning. */
#define HD_UNKNOWN_MARK   "*"
#define HD_UNKNOWN_LEGEND "* not in the vocabulary: read as <unk>"

typedef struct hd_shown_token {
    int32_t id;
    const char *piece; /* valid UTF-8; for a word that the vocabulary lacks, the word and HD_UNKNOWN_MARK */
    const char *word;  /* only that word; NULL for all others */
} hd_shown_token;

static inline const char *hd_shown_plain(const hd_shown_token *t) /* the name without a mark */
{
    return t->word ? t->word : t->piece;
}

/* Names ids into `to` [count]. pieces NULL: the ids as numbers. text: their text, for the names of unknown
   words (hd_unknown_words); {0}: those are <unk>. masks: the mask has a name, too. */
hd_status hd_shown_tokens(hd_shown_token *to, hd_arena *memory, const int32_t *ids, size_t count,
                          const hd_tokenizer *pieces, hd_line text, bool masks, hd_err *err);

/* HD_EARG for no token or an invalid id, HD_ELIMIT for more tokens than the model takes. what: "source";
   of: a prefix of the error text, or "". */
hd_status hd_shown_check(const char *of, const char *what, const int32_t *ids, size_t count, size_t vocab,
                         size_t positions, hd_err *err);

/* Appends the text of ids, and says where in it each of them ends: end [count], none before the one before.
 */
hd_status hd_shown_ends(size_t *end, hd_text *text, const hd_tokenizer *t, const int32_t *ids, size_t count,
                        hd_err *err);

/* A copy of a text with U+FFFD for every byte that is not UTF-8; NULL: no memory. */
const char *hd_shown_text(hd_arena *memory, hd_line text, hd_err *err);

#endif
