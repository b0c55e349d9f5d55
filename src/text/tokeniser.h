/* Tokenisers: text to ids and back, with the vocabulary behind them. A tokeniser does not change once it is
   made; any number of threads may share one. Every vocabulary has <pad> <unk> <s> </s>. In those made here
   they are ids 0 to 3; a SentencePiece model made elsewhere keeps its ids, and what it lacks of the four gets
   ids behind its last: ask for `special`. */
#ifndef HD_TEXT_TOKENISER_H
#define HD_TEXT_TOKENISER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lines.h"
#include "base/log.h"
#include "base/text.h"
#include "text/tokeniser_list.h"

typedef enum hd_tokeniser_kind {
#define X(name, summary) HD_TOKENISER_##name,
    HD_TOKENISER_LIST(X)
#undef X
        HD_TOKENISERS
} hd_tokeniser_kind;

const char *hd_tokeniser_name(hd_tokeniser_kind kind);
const char *hd_tokeniser_summary(hd_tokeniser_kind kind);
int hd_tokeniser_find(const char *name); /* the kind; -1 when there is none of that name */

/* In vocabularies made here. */
enum { HD_PAD_ID, HD_UNK_ID, HD_START_ID, HD_END_ID, HD_SPECIALS };
extern const char *const hd_special_piece[HD_SPECIALS];

typedef struct hd_special {
    int32_t pad, unk, start, end;
} hd_special;

/* Lines to learn a vocabulary from. next: false at the end; the line is valid until the next call. */
typedef struct hd_feed {
    bool (*next)(void *context, hd_line *line);
    void *context;
} hd_feed;

enum { HD_SUBWORDS = 8000 };

typedef struct hd_tokeniser_opt {
    size_t vocab; /* most pieces, the specials among them; 0: HD_SUBWORDS, for words and characters all there
                     are */
    bool unigram; /* sentencepiece: a unigram model instead of byte-pair encoding */
    double coverage;   /* sentencepiece: share of the characters that get a piece of their own; 0: 0.9995 */
    uint64_t least;    /* words, characters: how often a piece must be seen; 0: once */
    const hd_log *log; /* may be NULL; is told when the text supports fewer pieces than asked for */
} hd_tokeniser_opt;

typedef struct hd_tokeniser hd_tokeniser;

/* The same lines and options give the same vocabulary. */
hd_status hd_tokeniser_train(hd_tokeniser **out, hd_tokeniser_kind kind, hd_feed lines,
                             const hd_tokeniser_opt *opt, hd_err *err);
/* sentencepiece reads any .model file, words and characters one piece a line (vocab.h). A file that is none
   is refused with a text that names it, the line, and what to do. */
hd_status hd_tokeniser_open(hd_tokeniser **out, hd_tokeniser_kind kind, const char *path, hd_err *err);
hd_status hd_tokeniser_save(const hd_tokeniser *t, const char *path, hd_err *err);
void hd_tokeniser_free(hd_tokeniser *t);         /* accepts NULL */
void hd_tokeniser_free_pair(hd_tokeniser *t[2]); /* which may be one and the same; sets both to NULL */

hd_tokeniser_kind hd_tokeniser_kind_of(const hd_tokeniser *t);
hd_special hd_tokeniser_special(const hd_tokeniser *t);
size_t hd_tokeniser_size(const hd_tokeniser *t); /* V: ids are below it */

/* What stands for an id in the vocabulary, "▁the" or "<0x41>"; NULL for a number that is no id. Lives as long
 * as t. */
const char *hd_tokeniser_piece(const hd_tokeniser *t, int32_t id);
int32_t hd_tokeniser_id(const hd_tokeniser *t, const char *piece); /* -1: not in the vocabulary */

/* A piece of a text: bytes begin .. end-1 of it. What a character became that has no piece may share its
   bytes: the last of its byte pieces has them, the others are empty. */
typedef struct hd_piece {
    int32_t id;
    uint32_t begin, end;
} hd_piece;

typedef struct hd_pieces {
    hd_piece *at;
    size_t count, room;
} hd_pieces;

typedef struct hd_ids {
    int32_t *at;
    size_t count, room;
} hd_ids;

/* {0} is an empty list. */
void hd_pieces_release(hd_pieces *p);
void hd_ids_release(hd_ids *ids);
hd_status hd_ids_reserve(hd_ids *ids, size_t more, hd_err *err); /* room for so many behind count */

/* Any bytes are a text: what is not UTF-8 becomes <unk> or U+FFFD. No special is added. Both append to out,
   the offsets being those in this text. */
hd_status hd_tokeniser_encode(const hd_tokeniser *t, const char *text, size_t size, hd_pieces *out,
                              hd_err *err);
hd_status hd_tokeniser_encode_ids(const hd_tokeniser *t, const char *text, size_t size, hd_ids *out,
                                  hd_err *err);

/* Appends the text of the ids, in UTF-8. <pad>, <s> and </s> have none; half a character is U+FFFD; what is
   no id reads as <unk> does. */
hd_status hd_tokeniser_decode(const hd_tokeniser *t, const int32_t *ids, size_t count, hd_text *out,
                              hd_err *err);

/* -- for the files of this folder -- */

/* Takes the pieces of a text in turn; false: no memory, stop. */
typedef struct hd_piece_sink {
    bool (*put)(void *context, hd_piece piece);
    void *context;
} hd_piece_sink;

typedef struct hd_tokeniser_type {
    hd_status (*train)(hd_tokeniser *t, hd_feed lines, const hd_tokeniser_opt *opt, hd_err *err);
    hd_status (*open)(hd_tokeniser *t, const char *path, hd_err *err);
    hd_status (*save)(const hd_tokeniser *t, const char *path, hd_err *err);
    void (*release)(hd_tokeniser *t); /* half-built ones too */
    hd_status (*encode)(const hd_tokeniser *t, const char *text, size_t size, hd_piece_sink to, hd_err *err);
    hd_status (*decode)(const hd_tokeniser *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err);
    const char *(*piece)(const hd_tokeniser *t, int32_t id); /* id is one */
    int32_t (*id)(const hd_tokeniser *t, const char *piece);
} hd_tokeniser_type;

struct hd_tokeniser {
    hd_tokeniser_kind kind;
    const hd_tokeniser_type *type;
    size_t size;
    hd_special special;
    void *state; /* the type's own */
};

#define X(name, summary) extern const hd_tokeniser_type hd_tokeniser_##name;
HD_TOKENISER_LIST(X)
#undef X

#endif
