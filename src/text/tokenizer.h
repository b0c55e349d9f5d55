/* Tokenizers: text to ids and back, with their vocabulary. A tokenizer is immutable; any number of threads
   may share one. Every vocabulary made here has <pad> <unk> <s> </s>, ids 0 to 3; a SentencePiece model made
   elsewhere keeps its ids, and those of the four that it lacks get ids after its last. The tokenizer of a
   published checkpoint keeps its vocabulary as it is: see hd_tokenizer_special. */
#ifndef HD_TEXT_TOKENIZER_H
#define HD_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file/folder.h"
#include "base/json.h"
#include "base/file/lines.h"
#include "base/log.h"
#include "base/text.h"
#include "text/tally.h"
#include "text/tokenizer_list.h"

typedef enum hd_tokenizer_kind {
#define X(name, summary) HD_TOKENIZER_##name,
    HD_TOKENIZER_LIST(X)
#undef X
        HD_TOKENIZERS
} hd_tokenizer_kind;

const char *hd_tokenizer_name(hd_tokenizer_kind kind);
const char *hd_tokenizer_summary(hd_tokenizer_kind kind);
int hd_tokenizer_find(const char *name); /* the kind; -1 when there is none of that name */

/* In vocabularies made here. */
enum { HD_PAD_ID, HD_UNK_ID, HD_START_ID, HD_END_ID, HD_SPECIALS };
extern const char *const hd_special_piece[HD_SPECIALS];

/* There is always an end, and the start may be the same token; -1: the vocabulary has none. */
typedef struct hd_special {
    int32_t pad, unk, start, end, mask;
    bool mask_strips; /* the mask takes the spaces before it */
} hd_special;

/* Lines to learn a vocabulary from. next: false at the end; the line is valid until the next call. */
typedef struct hd_feed {
    bool (*next)(void *context, hd_line *line);
    void *context;
} hd_feed;

enum { HD_SUBWORDS = 8000 };

typedef struct hd_tokenizer_opt {
    size_t vocab; /* most pieces, the specials among them; 0: HD_SUBWORDS, for words and characters all there
                     are */
    bool unigram; /* sentencepiece: a unigram model instead of byte-pair encoding */
    double coverage;   /* sentencepiece: share of the characters that get a piece of their own; 0: 0.9995 */
    uint64_t least;    /* words, characters: how often a piece must be seen; 0: once */
    size_t counted;    /* words, characters: distinct pieces that are counted at once; 0: 4 million. If
                          there are more, the rarest so far are dropped, with a message to the log */
    const hd_log *log; /* may be NULL; gets a message when the text supports fewer pieces than requested */
} hd_tokenizer_opt;

typedef struct hd_tokenizer hd_tokenizer;

/* Kinds that come with published checkpoints are opened, not learned. */
bool hd_tokenizer_learns(hd_tokenizer_kind kind);

/* The same lines and options give the same vocabulary. */
hd_status hd_tokenizer_train(hd_tokenizer **out, hd_tokenizer_kind kind, hd_feed lines,
                             const hd_tokenizer_opt *opt, hd_err *err);
/* sentencepiece reads any .model file, words and characters one piece a line (vocab.h), the others the
   file that hd_tokenizer_file names and the files beside it that belong to it, or a tokenizer.json. An
   invalid file is refused with a text that names it, the line and the remedy. If there is no file of this
   name, the one that an earlier version wrote (hd_tokenizer_before) is opened. */
hd_status hd_tokenizer_open(hd_tokenizer **out, hd_tokenizer_kind kind, const char *path, hd_err *err);
/* Also the files beside it if the kind has more than one: under their original names, whatever the name in
   path. */
hd_status hd_tokenizer_save(const hd_tokenizer *t, const char *path, hd_err *err);
void hd_tokenizer_free(hd_tokenizer *t);         /* accepts NULL */
void hd_tokenizer_free_pair(hd_tokenizer *t[2]); /* which may be one and the same; sets both to NULL */

/* The name of its file in a model folder: for the source, the target, or both. */
typedef enum hd_tokenizer_place { HD_OF_SOURCE, HD_OF_TARGET, HD_OF_BOTH, HD_PLACES } hd_tokenizer_place;
const char *hd_tokenizer_file(hd_tokenizer_kind kind, hd_tokenizer_place place);
/* A file of a model's folder or a key of its config.json as version 0.1 spelled it, "tokeniser"; NULL: the
 * same. */
const char *hd_tokenizer_before(const char *name, char buffer[HD_PATH]);

hd_tokenizer_kind hd_tokenizer_kind_of(const hd_tokenizer *t);
hd_special hd_tokenizer_special(const hd_tokenizer *t);
/* The number of end tokens between the texts of a pair: 1, for RoBERTa 2. */
size_t hd_tokenizer_between(const hd_tokenizer *t);
/* Whether newlines are characters of a text like others. Otherwise the end token stands for them. */
bool hd_tokenizer_keeps_lines(const hd_tokenizer *t);
/* Ids that a model never writes, and how many: <pad>, <unk> and the start, if they exist and are not the
   end. Published models may write <unk>. */
size_t hd_tokenizer_unwritten(const hd_tokenizer *t, int32_t out[3]);
size_t hd_tokenizer_size(const hd_tokenizer *t);      /* V: all ids are smaller */
const char *hd_tokenizer_from(const hd_tokenizer *t); /* the file with its pieces; "": it was learned */

/* A hash that tells tokenizers apart: of the pieces, and of how each of them and some difficult texts are
   cut. */
hd_status hd_tokenizer_hash(const hd_tokenizer *t, uint64_t *hash, hd_err *err);

/* The piece of an id in the vocabulary, "▁the" or "<0x41>"; NULL for an invalid id. Lives as long as t. */
const char *hd_tokenizer_piece(const hd_tokenizer *t, int32_t id);
int32_t hd_tokenizer_id(const hd_tokenizer *t, const char *piece); /* -1: not in the vocabulary */

/* A piece of a text: bytes begin .. end-1 of it. Byte pieces of a character without a piece of its own
   share its bytes: the last one has them, the others are empty. Byte-level BPE cuts within characters. */
typedef struct hd_piece {
    int32_t id;
    uint32_t begin, end;
    int8_t text; /* 0: the first, 1: the second, -1: none, a special token around them */
    int8_t type; /* the token type of models of pairs */
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
bool hd_pieces_add(hd_pieces *p, hd_piece piece); /* false: no memory */
/* Adds a special token around texts. */
hd_status hd_pieces_add_around(hd_pieces *p, int32_t id, int type, hd_err *err);
/* Shifts the offsets of the pieces from number `from` on: their text begins at this byte of a longer one. */
void hd_pieces_move(hd_pieces *p, size_t from, size_t by);
void hd_ids_release(hd_ids *ids);
hd_status hd_ids_reserve(hd_ids *ids, size_t more, hd_err *err); /* room for so many more */
hd_status hd_ids_add(hd_ids *ids, int32_t id, hd_err *err);
hd_status hd_ids_add_pieces(hd_ids *ids, const hd_pieces *p, hd_err *err);

/* Any bytes are accepted: invalid UTF-8 becomes <unk> or U+FFFD. No special is added. Both append to out;
   offsets are those in this text. */
hd_status hd_tokenizer_encode(const hd_tokenizer *t, const char *text, size_t size, hd_pieces *out,
                              hd_err *err);
hd_status hd_tokenizer_encode_ids(const hd_tokenizer *t, const char *text, size_t size, hd_ids *out,
                                  hd_err *err);

/* Bytes begin to end-1 of a text. */
typedef struct hd_byte_span {
    size_t begin, end;
} hd_byte_span;

/* The same for a text of which a user typed some spans, in order: there special tokens and other tags that
   are tokens are read as the characters they are written with. */
hd_status hd_tokenizer_encode_typed(const hd_tokenizer *t, const char *text, size_t size,
                                    const hd_byte_span *typed, size_t spans, hd_ids *out, hd_err *err);

/* The token that a model expects in front of a text that it continues; -1: none. */
int32_t hd_tokenizer_lead(const hd_tokenizer *t);

/* The same for a text that was encoded before, or partly: its unknown words are not counted again. */
hd_status hd_tokenizer_encode_again(const hd_tokenizer *t, const char *text, size_t size, hd_pieces *out,
                                    hd_err *err);

/* Counts of what was encoded so far, and how much of it is <unk>. Thread-safe. */
hd_unknown hd_tokenizer_unknown(const hd_tokenizer *t);

/* A text, or a pair (second not NULL), as the model takes it: with [CLS] and [SEP], or followed by </s>.
   Special tokens have begin and end 0. */
hd_status hd_tokenizer_encode_framed(const hd_tokenizer *t, hd_line first, const hd_line *second,
                                     hd_pieces *out, hd_err *err);

/* Converts the offsets of the pieces of one of the two texts, which is given, from bytes to characters.
   Parts of a character get all of it; an invalid byte is one character. */
void hd_pieces_count_characters(hd_pieces *p, int which, hd_line text);

/* Appends the text of the ids, in UTF-8. <pad>, <s> and </s> have none; half a character becomes U+FFFD;
   an invalid id reads like <unk>. */
hd_status hd_tokenizer_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out,
                              hd_err *err);

/* -- for the files of this folder -- */

/* Receives the pieces of a text in order; false: out of memory, stop. */
typedef struct hd_piece_sink {
    bool (*put)(void *context, hd_piece piece);
    void *context;
} hd_piece_sink;

/* The special tokens around one text or two. */
enum { HD_FRAME_FIRST = -1, HD_FRAME_SECOND = -2, HD_FRAME_MOST = 16, HD_LEAD_END = -2 };

typedef struct hd_text_frame {
    struct {
        int32_t id; /* or HD_FRAME_FIRST, HD_FRAME_SECOND */
        int8_t type;
    } at[HD_FRAME_MOST];
    size_t count;
} hd_text_frame;

bool hd_frame_add(hd_text_frame *f, int32_t id, int type); /* false: it is full */

typedef struct hd_tokenizer_type {
    const char *file[HD_PLACES];
    bool keeps_lines;
    bool writes_all; /* models of it may write every token */
    /* NULL: it is not learned */
    hd_status (*train)(hd_tokenizer *t, hd_feed lines, const hd_tokenizer_opt *opt, hd_err *err);
    hd_status (*open)(hd_tokenizer *t, const char *path, hd_err *err);
    hd_status (*save)(const hd_tokenizer *t, const char *path, hd_err *err);
    void (*release)(hd_tokenizer *t); /* half-built ones too */
    hd_status (*encode)(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err);
    /* hd_tokenizer_encode_typed; NULL: no token is found in texts by its name */
    hd_status (*encode_typed)(const hd_tokenizer *t, const char *text, size_t size, const hd_byte_span *typed,
                              size_t spans, hd_piece_sink to, hd_err *err);
    hd_status (*decode)(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err);
    /* Sets "normalizer", "pre_tokenizer", "decoder" and "model" of a tokenizer.json that cuts texts as it
       does; failed allocations are reported by hd_json_missed. continues: decoded texts follow others and
       keep the space before their first word. NULL: not possible. */
    hd_status (*describe)(const hd_tokenizer *t, json_t *root, bool continues, hd_err *err);
    /* For types that do not set hd_tokenizer.vocab; id is valid. */
    const char *(*piece)(const hd_tokenizer *t, int32_t id);
    int32_t (*id)(const hd_tokenizer *t, const char *piece);
    const struct hd_list_rules *list; /* of text/list.h, which words and characters share */
} hd_tokenizer_type;

struct hd_tokenizer {
    hd_tokenizer_kind kind;
    const hd_tokenizer_type *type;
    size_t size;
    hd_special special;
    hd_text_frame
        frame[2]; /* for one text, for a pair; if the type leaves both empty an end follows each text */
    int32_t lead; /* hd_tokenizer_lead; the type may change it, HD_LEAD_END: the end */
    void *state;  /* the type's own */
    const struct hd_vocab *vocab; /* its pieces, if they are in one; part of the state */
    char from[HD_PATH]; /* the file it was opened from; a type sets another file if that has the pieces */
    hd_tally *tally;
};

#define X(name, summary) extern const hd_tokenizer_type hd_tokenizer_##name;
HD_TOKENIZER_LIST(X)
#undef X

#endif
