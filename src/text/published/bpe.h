/* The state of byte-level BPE (bpe.c), and reading it from its files (bpe_read.c). */
#ifndef HD_TEXT_PUBLISHED_BPE_H
#define HD_TEXT_PUBLISHED_BPE_H

#include "text/published/merges.h"
#include "text/published/tokenizer_json.h"
#include "text/published/word_cache.h"

typedef struct hd_bpe {
    hd_file_set files;
    hd_vocab vocab;
    uint32_t *width; /* [vocab] bytes that a piece stands for */
    int32_t byte[256];
    hd_merges merges;
    hd_added added;
    bool prefix; /* a text that does not begin with a space gets one */
    bool trim, prefixed;
    hd_word_cache *cache;
} hd_bpe;

/* Fills t and its state, a zeroed hd_bpe, except for the cache. */
hd_status hd_bpe_read(hd_tokenizer *t, const char *path, hd_err *err);
hd_status hd_bpe_save(const hd_tokenizer *t, const char *path, hd_err *err);

#define HD_BPE_VOCAB "vocab.json"

#endif
