/* A tokenizer.json of T5 or XLM-R was made from a SentencePiece model and contains all of it: vocabulary
   and scores, the table that normalizes characters, and, in its pre-tokenizer, that words begin with U+2581.
   So the model is rebuilt from it. Files are hostile: the result is checked like any .model file. */
#include "text/published/unigram.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "text/sentencepiece/sentencepiece_view.h"

static hd_status refuse(const hd_tokenizer_json *j, const char *what)
{
    return hd_err_set(j->err, HD_EFORMAT, "%s: %s", j->path, what);
}

/* -- a protocol buffer -- */

static void put_varint(hd_text *to, uint64_t n)
{
    for (; n > 127; n >>= 7) hd_text_add(to, &(char){(char)(n | 128)}, 1);
    hd_text_add(to, &(char){(char)n}, 1);
}

static void put_number(hd_text *to, uint64_t field, uint64_t n)
{
    put_varint(to, field << 3);
    put_varint(to, n);
}

static void put_bytes(hd_text *to, uint64_t field, const char *bytes, size_t size)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, size);
    hd_text_add(to, bytes, size);
}

static hd_status put_piece(hd_text *model, hd_line text, float score, hd_spm_type type, hd_err *err)
{
    hd_text piece = {0};
    put_bytes(&piece, 1, text.text, text.size);
    put_varint(&piece, 2 << 3 | 5);
    hd_text_add(&piece, (const char *)&score, sizeof score);
    put_number(&piece, 3, type);
    hd_status s = hd_text_status(&piece, err);
    if (!s) put_bytes(model, 1, piece.data, piece.size);
    hd_text_release(&piece);
    return s;
}

/* -- normalizer -- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static hd_status put_table(const hd_tokenizer_json *j, const json_t *part, hd_text *out)
{
    const json_t *text = json_object_get(part, "precompiled_charsmap");
    const char *at = json_string_value(text);
    uint32_t group = 0;
    int bits = 0;
    if (!at) return refuse(j, "normalizer \"Precompiled\" has no \"precompiled_charsmap\"");
    for (; *at && *at != '='; at++) {
        int digit = digit_of(*at);
        if (digit < 0) return refuse(j, "\"precompiled_charsmap\" is not base64");
        group = group << 6 | (uint32_t)digit, bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        hd_text_add(out, &(char){(char)(group >> bits & 255)}, 1);
    }
    return hd_text_status(out, j->err);
}

/* Several spaces become one: SentencePiece does so itself, as it strips them at the ends of a text. */
static bool joins_spaces(const json_t *part)
{
    const char *pattern = json_string_value(json_object_get(json_object_get(part, "pattern"), "Regex"));
    const char *content = json_string_value(json_object_get(part, "content"));
    return pattern && content && !strcmp(pattern, " {2,}") &&
           (!strcmp(content, " ") || !strcmp(content, "\xe2\x96\x81"));
}

static hd_status read_normalizer(const hd_tokenizer_json *j, const json_t *part, bool inside, hd_text *table)
{
    enum { PRECOMPILED, REPLACE, SEQUENCE, STRIP };
    static const char *const known[] = {"Precompiled", "Replace", "Sequence", "Strip", NULL};
    const json_t *list = json_object_get(part, "normalizers");
    int which;
    hd_status s = hd_json_part(j, part, "normalizer", known, &which);
    if (s || which < 0 || which == STRIP) return s;
    if (which == PRECOMPILED)
        return table->size ? refuse(j, "two tables of characters") : put_table(j, part, table);
    if (which == REPLACE)
        return joins_spaces(part) ? HD_OK : refuse(j, "a normalizer \"Replace\" is not known");
    if (inside) return refuse(j, "a normalizer \"Sequence\" within another is not known");
    for (size_t i = 0; !s && i < json_array_size(list); i++)
        s = read_normalizer(j, json_array_get(list, i), true, table);
    return s;
}

/* -- pre_tokenizer -- */

static hd_status check_cut(const hd_tokenizer_json *j, const json_t *part, bool *marks)
{
    enum { METASPACE, WHITESPACE, SEQUENCE };
    static const char *const known[] = {"Metaspace", "WhitespaceSplit", "Sequence", NULL};
    const json_t *list = json_object_get(part, "pretokenizers");
    const char *mark = json_string_value(json_object_get(part, "replacement")),
               *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
    int which;
    hd_status s = hd_json_part(j, part, "pre_tokenizer", known, &which);
    if (!s && which == SEQUENCE)
        for (size_t i = 0; !s && i < json_array_size(list); i++)
            s = json_object_get(json_array_get(list, i), "pretokenizers")
                    ? refuse(j, "a pre_tokenizer \"Sequence\" within another is not known")
                    : check_cut(j, json_array_get(list, i), marks);
    if (s || which != METASPACE) return s;
    if (!mark || strcmp(mark, "\xe2\x96\x81") || (scheme && strcmp(scheme, "always")) ||
        json_is_false(json_object_get(part, "add_prefix_space")))
        return refuse(j, "pre_tokenizer \"Metaspace\" is known with U+2581 before every word only");
    *marks = true;
    return HD_OK;
}

/* -- model -- */

/* Whether the piece is a special token: no text is cut into it. */
static hd_status find_specials(const hd_tokenizer_json *j, const json_t *vocab, bool *special)
{
    const json_t *added = json_object_get(j->root, "added_tokens");
    if (added && !json_is_null(added) && !json_is_array(added))
        return refuse(j, "\"added_tokens\" is not a list of tokens");
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i), *id = json_object_get(token, "id");
        const char *content = json_string_value(json_object_get(token, "content"));
        json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
        if (!content || n < 0) return refuse(j, "an added token has no \"id\" or no \"content\"");
        const char *piece = json_string_value(json_array_get(json_array_get(vocab, (size_t)n), 0));
        if (!piece || strcmp(piece, content))
            return hd_err_set(j->err, HD_EFORMAT, "%s: the added token '%.60s' is not the piece of its id",
                              j->path, content);
        special[n] = true;
    }
    return HD_OK;
}

static hd_status put_pieces(const hd_tokenizer_json *j, const json_t *vocab, size_t unknown,
                            const bool *special, hd_text *model)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(vocab); i++) {
        const json_t *pair = json_array_get(vocab, i), *text = json_array_get(pair, 0),
                     *number = json_array_get(pair, 1);
        if (!json_is_string(text) || !json_string_length(text) || !json_is_number(number)) {
            s = hd_err_set(j->err, HD_EFORMAT, "%s: piece %zu is not a text and a score", j->path, i);
            break;
        }
        double value = json_number_value(number);
        if (!(fabs(value) < 1e30)) {
            s = hd_err_set(j->err, HD_EFORMAT, "%s: the score of piece %zu is too large", j->path, i);
            break;
        }
        const hd_line line = {json_string_value(text), json_string_length(text)};
        s = put_piece(model, line, (float)value,
                      i == unknown ? HD_SPM_UNKNOWN
                      : special[i] ? HD_SPM_CONTROL
                                   : HD_SPM_NORMAL,
                      j->err);
    }
    return s;
}

static void put_trainer(hd_text *model, size_t unknown)
{
    hd_text trainer = {0};
    put_number(&trainer, 3, HD_SPM_UNIGRAM);
    put_number(&trainer, 40, unknown);
    put_bytes(model, 2, trainer.data, trainer.size);
    if (trainer.missed) model->missed = trainer.missed;
    hd_text_release(&trainer);
}

static hd_status put_normalizer(hd_text *model, hd_line table, hd_err *err)
{
    hd_text normal = {0};
    if (table.size) put_bytes(&normal, 2, table.text, table.size);
    put_number(&normal, 3, 1);
    hd_status s = hd_text_status(&normal, err);
    if (!s) put_bytes(model, 3, normal.data, normal.size);
    hd_text_release(&normal);
    return s ? s : hd_text_status(model, err);
}

static hd_status put_model(const hd_tokenizer_json *j, const json_t *part, hd_text *model)
{
    const json_t *vocab = json_object_get(part, "vocab"), *id = json_object_get(part, "unk_id");
    size_t count = json_array_size(vocab);
    if (!count) return refuse(j, "the vocabulary is not a list of pieces and scores");
    if (!json_is_integer(id) || json_integer_value(id) < 0 || (size_t)json_integer_value(id) >= count)
        return refuse(j, "\"unk_id\" is no piece");
    if (json_is_true(json_object_get(part, "byte_fallback")))
        return refuse(j, "\"byte_fallback\" of the model Unigram is not known");
    bool *special = hd_mem_array(count, sizeof *special);
    if (!special) return hd_err_nomem(j->err, count);
    hd_status s = find_specials(j, vocab, special);
    if (!s) s = put_pieces(j, vocab, (size_t)json_integer_value(id), special, model);
    if (!s) put_trainer(model, (size_t)json_integer_value(id));
    hd_mem_free(special);
    return s;
}

hd_status hd_unigram_of_json(const hd_tokenizer_json *j, hd_text *model)
{
    static const char *const models[] = {"Unigram", NULL};
    const json_t *part = json_object_get(j->root, "model");
    hd_text table = {0};
    bool marks = false;
    int which;
    hd_status s = hd_json_part(j, part, "model", models, &which);
    if (!s) s = read_normalizer(j, json_object_get(j->root, "normalizer"), false, &table);
    if (!s) s = check_cut(j, json_object_get(j->root, "pre_tokenizer"), &marks);
    if (!s && !marks) s = refuse(j, "no pre_tokenizer: Metaspace is expected");
    if (!s) s = put_model(j, part, model);
    if (!s) s = put_normalizer(model, (hd_line){table.data, table.size}, j->err);
    hd_text_release(&table);
    return s;
}

hd_status hd_unigram_of_fairseq(hd_text *model, hd_line bytes, const char *path, hd_err *err)
{
    enum { OWN = 3 }; /* <unk>, <s> and </s> of the file */
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    hd_spm_view v = {0};
    hd_err why = {0};
    hd_status s = hd_spm_view_read(&v, bytes, &why);
    if (s) return hd_err_set(err, s, "%s: %s", path, why.text);
    if (v.kind != HD_SPM_UNIGRAM || v.byte_fallback || v.count <= OWN || v.piece[0].type != HD_SPM_UNKNOWN)
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: not a model of XLM-R: a Unigram vocabulary with <unk> is expected", path);
    for (size_t i = 0; !s && i < 4; i++)
        s = put_piece(model, (hd_line){first[i], strlen(first[i])}, 0,
                      i == 3 ? HD_SPM_UNKNOWN : HD_SPM_CONTROL, err);
    for (size_t i = OWN; !s && i < v.count; i++)
        s = put_piece(model, v.piece[i].text, v.piece[i].score, v.piece[i].type, err);
    if (!s) s = put_piece(model, (hd_line){"<mask>", 6}, 0, HD_SPM_CONTROL, err);
    if (!s) put_trainer(model, 3), s = put_normalizer(model, v.charsmap, err);
    hd_spm_view_release(&v);
    return s;
}
