/* Added tokens: texts that are always one piece, mostly special tokens. They are searched before anything
   else is done with a text: the leftmost first, of several there the longest. */
#ifndef HD_TEXT_PUBLISHED_ADDED_H
#define HD_TEXT_PUBLISHED_ADDED_H

#include "text/published/file_set.h"
#include "text/vocab.h"

typedef struct hd_added_token {
    const char *text; /* borrowed from the vocabulary */
    size_t size;      /* bytes of it, at least 1 */
    int32_t id;
    bool special;        /* decoding leaves it out */
    bool control;        /* special, or written as a tag: <think>, [INST]; hd_added_put sets it */
    bool normal;         /* is searched in the normalized text */
    bool word;           /* only if no letter or digit is next to it */
    bool lstrip, rstrip; /* takes the spaces before it, after it */
} hd_added_token;

typedef struct hd_added {
    hd_added_token *at; /* once sorted: by first byte, the longer first */
    size_t count, room;
    size_t begin[257]; /* of each first byte */
} hd_added;

void hd_added_release(hd_added *a); /* accepts {0} */
hd_status hd_added_put(hd_added *a, hd_added_token token, hd_err *err);
void hd_added_sort(hd_added *a); /* before the first search */
bool hd_added_special(const hd_added *a, int32_t id);

/* A span of a text: a token, or the text between two. */
typedef struct hd_stretch {
    const hd_added_token *token; /* NULL: plain text */
    size_t begin, end;           /* bytes */
} hd_stretch;

typedef enum hd_added_which { HD_ADDED_RAW, HD_ADDED_NORMAL } hd_added_which;

/* The next span from *at on, which is moved past it; false: end of the text. `which` tokens are searched:
   those of the original text, or those of the normalized one, in the text between the former. */
bool hd_added_next(const hd_added *a, hd_added_which which, const char *text, size_t size, size_t *at,
                   hd_stretch *out);

/* What a user typed of a text: no control token is found there. */
typedef struct hd_typed {
    const hd_byte_span *at; /* bytes of the whole text, in order */
    size_t count;
    size_t begin; /* of the text in the whole */
} hd_typed;

/* The same; `typed` may be NULL. */
bool hd_added_next_typed(const hd_added *a, hd_added_which which, const hd_typed *typed, const char *text,
                         size_t size, size_t *at, hd_stretch *out);

/* -- added_tokens.json, beside the vocabulary in older folders -- */

#define HD_ADDED_FILE "added_tokens.json"

/* Added tokens and their ids, which follow those of the vocabulary. */
typedef struct hd_added_file {
    char path[HD_PATH];
    json_t *root; /* NULL: there is none; owned by the arena */
} hd_added_file;

/* The one beside the vocabulary at `vocab`, if there is one. */
hd_status hd_added_file_read(hd_added_file *a, hd_file_set *files, const char *vocab, hd_arena *arena,
                             hd_err *err);
/* Appends its tokens to the vocabulary, seen 0 times: a model does not make such pieces of a text. Together
   the ids must be 0 to n-1. */
hd_status hd_added_file_join(const hd_added_file *a, hd_vocab *v, hd_err *err);
/* Appends to `out` the ones it does not have; they are searched in normalized text. */
hd_status hd_added_file_put(const hd_added_file *a, const hd_vocab *v, hd_added *out, hd_err *err);

#endif
