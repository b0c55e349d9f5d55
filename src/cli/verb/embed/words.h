/* What `heed embed` says of single words: neighbors in the table of token vectors, and how alike one word is
   to itself in several sentences. */
#ifndef HD_CLI_VERB_EMBED_WORDS_H
#define HD_CLI_VERB_EMBED_WORDS_H

#include "cli/frame/verb.h"
#include "show/neighbors.h"
#include "show/similar.h"

typedef struct hd_embed_words {
    const char *similar, *nearest, *analogy; /* one of them, or none */
    int top;
} hd_embed_words;

/* What does not go together, or is no sum of words: HD_EARG with a text for hd_verb_misused. */
hd_status hd_embed_words_check(const hd_command *c, const hd_embed_words *w, int layer, hd_err *err);

/* --nearest and --analogy. */
hd_status hd_embed_neighbors(const hd_command *c, const hd_embed_words *w, hd_err *err);

/* --similar, once all lines are read. */
hd_status hd_embed_similar(const hd_command *c, const hd_embed_words *w, const hd_similar *s, int layer,
                           hd_err *err);

#endif
