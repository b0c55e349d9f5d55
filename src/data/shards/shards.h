/* Token shards: a corpus in ids on disk, for data larger than memory. A folder has an index, the files of ids
   (tokens-000, ...) and the texts that are held back. Items lie in blocks of neighbors, which are read one by
   one; index and blocks have checksums. Written once and put in place whole; numbers are as the machine has
   them, and the index says so. */
#ifndef HD_DATA_SHARDS_SHARDS_H
#define HD_DATA_SHARDS_SHARDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/lines.h"
#include "base/status.h"

enum { HD_SHARDS_FILES = 4096 };

/* What the corpus is, as the index keeps it. */
typedef struct hd_shards_head {
    uint32_t sides;     /* 1 or 2 */
    uint32_t id_bytes;  /* 2 or 4 */
    uint64_t data;      /* of the files and of how they are read: the same number, the same items */
    uint64_t tokenizer; /* of the vocabularies */
    uint64_t vocab[2];  /* ids of a side are below it */
    uint64_t hash;      /* of the ids (hd_corpus.hash, or of a stream) */
    uint64_t lines;     /* of a text: its lines and its characters */
    uint64_t characters;
    uint64_t held;        /* lines of each text that is held back; 0: none is */
    uint32_t held_sum[2]; /* its checksum */
} hd_shards_head;

/* A block as the index keeps it: the lengths of its items side by side, then their ids. */
typedef struct hd_shards_block {
    uint64_t at; /* in its file */
    uint32_t file, items;
    uint32_t tokens[2]; /* of each side */
    uint32_t longest;   /* what an item costs at most: its longer side and the end behind it */
    uint32_t sum[2];    /* checksums of the lengths and of the ids */
    uint32_t cost;      /* of all its items */
} hd_shards_block;

typedef struct hd_shards {
    char *folder;
    hd_shards_head head;
    hd_shards_block *block;
    uint64_t *first; /* [blocks + 1] items before a block */
    uint64_t *place; /* [blocks + 1] tokens of side 0 before it */
    size_t blocks, files;
    uint64_t tokens[2], cost; /* of all */
    uint32_t longest;
    int *file;             /* [files] */
    atomic_uchar *checked; /* [blocks] whether the checksum of its ids was seen to be right */
    atomic_ullong read;    /* bytes so far */
} hd_shards;

/* Fails with HD_EFORMAT for what is damaged or none, with the remedy. */
hd_status hd_shards_open(hd_shards **out, const char *folder, hd_err *err);
void hd_shards_free(hd_shards *s); /* accepts NULL */

/* Lengths of the items of a block, [items] of each side. Any thread, as below. */
hd_status hd_shards_lengths(hd_shards *s, size_t block, uint32_t *len[2], hd_err *err);
/* Ids of a block, [tokens] of each side. */
hd_status hd_shards_ids(hd_shards *s, size_t block, int32_t *ids[2], hd_err *err);
/* Tokens from .. from+count-1 of side 0, wherever items begin and end. */
hd_status hd_shards_span(hd_shards *s, uint64_t from, size_t count, int32_t *to, hd_err *err);

/* -- writing -- */

typedef struct hd_shards_opt {
    uint32_t sides;
    uint64_t data, tokenizer, vocab[2];
    size_t block; /* tokens of a block, about; 0: HD_SHARDS_BLOCK */
    size_t file;  /* bytes of a file, about; 0: 1 GiB */
} hd_shards_opt;

enum { HD_SHARDS_BLOCK = 1 << 16 };

typedef struct hd_shards_writer hd_shards_writer;

/* Whether there are shards in the folder, of whatever. */
bool hd_shards_there(const char *folder);
/* Opens those of this data and tokenizer; others are refused. */
hd_status hd_shards_open_same(hd_shards **out, const char *folder, const hd_shards_opt *opt, hd_err *err);

/* The folder must be empty or not be there; its parent must. */
hd_status hd_shards_begin(hd_shards_writer **out, const char *folder, const hd_shards_opt *opt, hd_err *err);
hd_status hd_shards_put(hd_shards_writer *w, const int32_t *const ids[2], const size_t len[2], hd_err *err);
/* A stream of tokens: blocks are cut anywhere. Not to be mixed with put. */
hd_status hd_shards_put_stream(hd_shards_writer *w, const int32_t *ids, size_t count, hd_err *err);
/* A line that is held back, of each side; it must not hold a newline. */
hd_status hd_shards_hold(hd_shards_writer *w, const hd_line line[2], hd_err *err);
/* What is known of the corpus once all of it was put. */
void hd_shards_describe(hd_shards_writer *w, uint64_t hash, uint64_t lines, uint64_t characters);
/* Puts the folder in place, or with a failure removes what was written. Frees w. */
hd_status hd_shards_end(hd_shards_writer *w, hd_status status, hd_err *err);

/* The file of the lines that are held back. */
const char *hd_shards_held(int side);

/* -- for the files of this folder -- */

#define HD_SHARDS_INDEX "index"
#define HD_SHARDS_FILE  "tokens-%03zu"

/* The first bytes of an index. */
typedef struct hd_shards_mark {
    char magic[8];
    uint32_t order, block; /* HD_SHARDS_ORDER as this machine has it, bytes of a hd_shards_block */
    uint64_t blocks, files;
} hd_shards_mark;

/* Of the length of an item in a block. */
static inline size_t hd_shards_length_bytes(const hd_shards_block *b)
{
    return b->longest > UINT16_MAX ? 4 : 2;
}

#define HD_SHARDS_MAGIC "heedtok1"
#define HD_SHARDS_ORDER 0x01020304u

#endif
