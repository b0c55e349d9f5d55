/* The part that words and characters share: a tokenizer whose vocabulary is a list of pieces. They differ in
   how a text is cut and how pieces are joined. */
#ifndef HD_TEXT_LIST_H
#define HD_TEXT_LIST_H

#include "text/character.h"
#include "text/vocab.h"

/* Bytes of the next piece of text[0..size-1], size > 0, behind *skip bytes that belong to none; 0: there is
 * none. */
typedef size_t hd_list_cut(const char *text, size_t size, size_t *skip);

/* Learns the vocabulary: every piece of every line, ranked. */
hd_status hd_list_train(hd_tokenizer *t, hd_feed lines, hd_list_cut *cut, const hd_tokenizer_opt *opt,
                        hd_err *err);
hd_status hd_list_open(hd_tokenizer *t, const char *path, hd_vocab_check *check, hd_err *err);
hd_status hd_list_save(const hd_tokenizer *t, const char *path, hd_err *err);
void hd_list_release(hd_tokenizer *t);
hd_status hd_list_encode(const hd_tokenizer *t, const char *text, size_t size, hd_list_cut *cut,
                         hd_piece_sink to, hd_err *err);
/* The pieces one behind the other with `joint` between them; `unknown` for <unk> and what is no id. */
hd_status hd_list_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, const char *joint,
                         const char *unknown, hd_text *out, hd_err *err);
/* Cut by a regular expression of Oniguruma that matches a piece. Takes the decoder over. */
hd_status hd_list_describe(const hd_tokenizer *t, json_t *root, const char *piece, json_t *decoder);
const char *hd_list_piece(const hd_tokenizer *t, int32_t id);
int32_t hd_list_id(const hd_tokenizer *t, const char *piece);

#endif
