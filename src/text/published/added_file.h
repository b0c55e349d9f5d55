/* added_tokens.json, beside the vocabulary in older folders: added tokens and their ids, which follow
   those of the vocabulary. */
#ifndef HD_TEXT_PUBLISHED_ADDED_FILE_H
#define HD_TEXT_PUBLISHED_ADDED_FILE_H

#include "text/published/added.h"
#include "text/published/file_set.h"
#include "text/vocab.h"

#define HD_ADDED_FILE "added_tokens.json"

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
