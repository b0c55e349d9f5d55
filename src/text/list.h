/* The part that words and characters share: a tokenizer whose vocabulary is a list of pieces. They differ in
   how a text is cut and how pieces are joined. */
#ifndef HD_TEXT_LIST_H
#define HD_TEXT_LIST_H

#include "text/character.h"
#include "text/vocab.h"

/* Length of the next piece of text[0..size-1], size > 0, after *skip bytes that belong to no piece; 0:
   there is none. */
typedef size_t hd_list_cut(const char *text, size_t size, size_t *skip);

typedef struct hd_list_rules {
    hd_list_cut *cut;
    hd_vocab_check *check; /* a piece of the file */
    const char *joint;     /* between two pieces of a decoded text */
    const char *unknown;   /* what <unk> and invalid ids decode to */
} hd_list_rules;

/* The functions of a type with .list: learning a vocabulary (every piece of every line, ranked), opening
   one, encoding and decoding. */
hd_status hd_list_train(hd_tokenizer *t, hd_feed lines, const hd_tokenizer_opt *opt, hd_err *err);
hd_status hd_list_open(hd_tokenizer *t, const char *path, hd_err *err);
hd_status hd_list_save(const hd_tokenizer *t, const char *path, hd_err *err);
void hd_list_release(hd_tokenizer *t);
hd_status hd_list_encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err);
hd_status hd_list_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err);
/* Cut by an Oniguruma regular expression that matches a piece. Takes ownership of the decoder. */
hd_status hd_list_describe(const hd_tokenizer *t, json_t *root, const char *piece, json_t *decoder);

#define HD_LIST_TYPE(rules, describe_it)                                                                     \
    {                                                                                                        \
        .file = {"source.txt", "target.txt", "tokenizer.txt"}, .train = hd_list_train, .open = hd_list_open, \
        .save = hd_list_save, .release = hd_list_release, .encode = hd_list_encode,                          \
        .decode = hd_list_decode, .describe = describe_it, .list = rules                                     \
    }

#endif
