/* A C interface to the SentencePiece library: it lets no exception out, prints nothing and checks every
   id. Only for tokenizers with such a model. Error texts do not name the file; the caller does. */
#ifndef HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_SHIM_H
#define HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_spm hd_spm;

typedef struct hd_spm_special {
    int pad, unk, start, end; /* -1: the model has none */
} hd_spm_special;

typedef struct hd_spm_plan {
    size_t vocab;
    bool unigram;
    double coverage;
    int pad, unk, start, end; /* ids to give them */
} hd_spm_plan;

/* The next training line; false: no more. */
typedef bool hd_spm_next(void *context, const char **text, size_t *size);
/* Receives bytes; false: out of memory. */
typedef bool hd_spm_take(void *context, const char *bytes, size_t size);
/* A piece of a text. */
typedef struct hd_spm_piece_of {
    int id;
    size_t begin, end; /* bytes of the text */
    const char *piece; /* for unknown pieces the normalized text; valid during the call */
    size_t size;
} hd_spm_piece_of;

/* Receives one; false: out of memory. */
typedef bool hd_spm_put(void *context, const hd_spm_piece_of *piece);

/* Learns a model and hands its file to `take`. *needed: characters, bytes and specials together where the
   vocabulary is too small for them, else 0. */
hd_status hd_spm_train(const hd_spm_plan *plan, hd_spm_next *next, void *lines, hd_spm_take *take, void *file,
                       size_t *needed, hd_err *err);

hd_status hd_spm_open(hd_spm **out, const void *bytes, size_t size, hd_err *err);
void hd_spm_free(hd_spm *m); /* accepts NULL */
int hd_spm_size(const hd_spm *m);
hd_spm_special hd_spm_specials(const hd_spm *m);
const char *hd_spm_piece(const hd_spm *m, int id); /* NULL: no id of the model */
int hd_spm_id(const hd_spm *m, const char *piece); /* -1: no piece of the model */
hd_status hd_spm_encode(const hd_spm *m, const char *text, size_t size, hd_spm_put *put, void *to,
                        hd_err *err);
/* All ids are of the model. */
hd_status hd_spm_decode(const hd_spm *m, const int32_t *ids, size_t count, hd_spm_take *take, void *to,
                        hd_err *err);

#endif
