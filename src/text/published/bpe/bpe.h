/* The state of byte-pair encoding (bpe.c), and reading it from its files (bpe_read.c, bpe_whole.c). */
#ifndef HD_TEXT_PUBLISHED_BPE_H
#define HD_TEXT_PUBLISHED_BPE_H

#include "text/published/bpe/cut.h"
#include "text/published/bpe/merges.h"
#include "text/published/bpe/normal.h"
#include "text/published/bpe/word_cache.h"
#include "text/published/tokenizer_json.h"

enum { HD_CUTS_MOST = 8, HD_STRIP_MOST = 16 };

typedef struct hd_bpe {
    hd_file_set files;
    hd_vocab vocab;
    uint32_t *width; /* [vocab] bytes that a piece stands for */
    bool *hidden;    /* [vocab] decoding leaves it out */
    int32_t byte[256];
    bool characters;    /* pieces are texts as they are; otherwise every byte is a character (byte_level.h) */
    bool fallback;      /* characters: what has no piece becomes its bytes, `byte`; otherwise unk */
    bool fused;         /* ... and unks side by side become one */
    bool whole;         /* a word that is a piece is not cut */
    int32_t unknown;    /* the piece of what has none; -1: it gets lost */
    int32_t ascii[128]; /* characters: their pieces, -1 */
    hd_merges merges;
    hd_added added;
    hd_normal normal;
    hd_cut *cut[HD_CUTS_MOST]; /* one after the other, each within the parts of the one before */
    int cuts;
    bool prefix; /* a text that does not begin with a space gets one */
    bool trim, prefixed;
    bool blanks;     /* decoding: U+2581 is a space */
    size_t stripped; /* decoding: so many spaces at the beginning are left out */
    hd_word_cache *cache;
} hd_bpe;

/* Fills t and its state, a zeroed hd_bpe, except for the cache. */
hd_status hd_bpe_read(hd_tokenizer *t, const char *path, hd_err *err);
hd_status hd_bpe_save(const hd_tokenizer *t, const char *path, hd_err *err);

hd_status hd_bpe_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err);

/* The pipeline and the model of a tokenizer.json, except for merges. */
hd_status hd_bpe_read_whole(hd_tokenizer *t, const hd_tokenizer_json *j);
/* What tokenizer_config.json, if there is one, says of special tokens and of those around a text. */
hd_status hd_bpe_read_config(hd_tokenizer *t, const hd_tokenizer_json *config);

#define HD_BPE_VOCAB "vocab.json"

#endif
