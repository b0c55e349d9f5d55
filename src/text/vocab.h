/* A list of pieces that are words or characters, and its file: UTF-8, one piece a line, the first line id
   0. It starts with <pad>, <unk>, <s>, </s>. In the file "\xNN" is the byte NN and "\\" a backslash, so that
   a space or newline can be a piece; no piece is empty or contains a zero byte. */
#ifndef HD_TEXT_VOCAB_H
#define HD_TEXT_VOCAB_H

#include "text/tokenizer.h"

typedef struct hd_vocab {
    char *bytes;       /* the pieces, each followed by a zero byte */
    size_t used, room; /* bytes */
    size_t *begin;     /* [count] in bytes */
    uint64_t *seen;    /* [count] how often it was added */
    size_t count, places;
    uint32_t *slot; /* hash table: id + 1, 0 where empty */
    size_t slots;   /* a power of two */
} hd_vocab;

/* {0} is an empty one. */
void hd_vocab_release(hd_vocab *v);
hd_status hd_vocab_add(hd_vocab *v, const char *piece, size_t size, hd_err *err); /* or counts it again */
hd_status hd_vocab_forget(hd_vocab *v, uint64_t least, hd_err *err);              /* pieces seen less often */
int32_t hd_vocab_find(const hd_vocab *v, const char *piece, size_t size);         /* -1: not found */
/* In alphabetical order; the piece that had number i then has place[i]. */
hd_status hd_vocab_sort(hd_vocab *v, int32_t *place, hd_err *err);
const char *hd_vocab_piece(const hd_vocab *v, int32_t id);

/* Into out (empty): the specials, then the pieces of v, the more often seen first and those seen equally
   often in alphabetical order; at most `most` in all (0: no limit), none seen less often than `least`. */
hd_status hd_vocab_rank(hd_vocab *out, const hd_vocab *v, size_t most, uint64_t least, hd_err *err);

/* The reason why a piece of the file is invalid, for the message; NULL: it is valid. */
typedef const char *hd_vocab_check(const char *piece, size_t size);

hd_status hd_vocab_open(hd_vocab *out, const char *path, hd_vocab_check *check, hd_err *err);
hd_status hd_vocab_save(const hd_vocab *v, const char *path, hd_err *err);

#endif
