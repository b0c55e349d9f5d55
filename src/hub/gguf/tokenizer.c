/* The tokenizer of a GGUF file as tokenizer.json and tokenizer_config.json. Easy to get wrong: a vocabulary
   of SentencePiece has scores in place of merges: every way to put a piece together from two others is one,
   that of the highest score first. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hub/gguf/unpack.h"
#include "text/published/bpe/cut.h"
#include "text/vocab.h"

enum { NORMAL = 1, CONTROL = 3, DEFINED = 4, FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(17) };

static const char BLANK[] = "\xe2\x96\x81";

/* How texts are cut: what llama.cpp calls it, and the patterns. */
static const struct {
    const char *name;
    const char *pattern[3];
    bool digits, compose, whole; /* every digit alone; NFC; a word that is a piece is not cut */
} cuts[] = {
    {"default", {HD_PATTERN_GPT2}, false, false, false},
    {"gpt-2", {HD_PATTERN_GPT2}, false, false, false},
    {"smollm", {HD_PATTERN_GPT2}, true, false, false},
    {"llama-bpe", {HD_PATTERN_LLAMA3}, false, false, true},
    {"llama3", {HD_PATTERN_LLAMA3}, false, false, true},
    {"llama-v3", {HD_PATTERN_LLAMA3}, false, false, true},
    {"qwen2", {HD_PATTERN_QWEN}, false, true, false},
    {"deepseek-r1-qwen", {HD_PATTERN_QWEN}, false, true, false},
    {"tekken", {HD_PATTERN_TEKKEN}, false, false, true},
    {"deepseek-v3", {HD_PATTERN_NUMBERS, HD_PATTERN_CHINESE, HD_PATTERN_DEEPSEEK}, false, false, false},
};

typedef struct reading {
    const hd_gguf_model *m;
    hd_vocab vocab;
    int32_t *type;
    float *score; /* of SentencePiece */
    hd_err *err;
} reading;

static hd_status refuse(const reading *r, const char *what)
{
    return hd_err_set(r->err, HD_EFORMAT, "%s: %s", hd_gguf_file(r->m->file), what);
}

static bool is_text(hd_line text, const char *name)
{
    return text.size == strlen(name) && !memcmp(text.text, name, text.size);
}

static hd_line text_of(const reading *r, const char *key)
{
    hd_line text = {"", 0};
    hd_gguf_text(hd_gguf_find(r->m->file, key), &text);
    return text;
}

/* -- pieces -- */

static hd_status read_pieces(reading *r)
{
    const hd_gguf_value *list = hd_gguf_find(r->m->file, "tokenizer.ggml.tokens");
    hd_gguf_value rest = list ? *list : (hd_gguf_value){0}, item;
    hd_status s = HD_OK;
    hd_line text;
    if (!rest.list || rest.type != HD_GGUF_TEXT || !rest.count)
        return refuse(r, "no \"tokenizer.ggml.tokens\": without a vocabulary a model cannot be imported");
    if (rest.count > r->m->vocab) return refuse(r, "it has more tokens than rows of 'token_embd.weight'");
    while (!s && hd_gguf_next(&rest, &item)) {
        hd_gguf_text(&item, &text);
        if (!text.size || memchr(text.text, 0, text.size) || hd_utf8_good(text.text, text.size) != text.size)
            return refuse(r, "a token is empty or not UTF-8");
        const size_t before = r->vocab.count;
        s = hd_vocab_add(&r->vocab, text.text, text.size, r->err);
        if (!s && r->vocab.count == before) return refuse(r, "a token is there twice");
    }
    return s;
}

/* A list of so many numbers as the vocabulary has pieces. */
static hd_status read_numbers(reading *r, const char *key, bool optional,
                              void (*put)(reading *, size_t, double))
{
    const hd_gguf_value *list = hd_gguf_find(r->m->file, key);
    hd_gguf_value rest = list ? *list : (hd_gguf_value){0}, item;
    double x = 0;
    if (!list && optional) return HD_OK;
    if (!rest.list || rest.count != r->vocab.count)
        return hd_err_set(r->err, HD_EFORMAT, "%s: \"%s\" is no list as long as the vocabulary",
                          hd_gguf_file(r->m->file), key);
    for (size_t i = 0; hd_gguf_next(&rest, &item); i++) {
        if (!hd_gguf_real(&item, &x))
            return hd_err_set(r->err, HD_EFORMAT, "%s: \"%s\" is no list of numbers",
                              hd_gguf_file(r->m->file), key);
        put(r, i, x);
    }
    return HD_OK;
}

static void put_type(reading *r, size_t i, double x)
{
    r->type[i] = x >= 0 && x < 100 ? (int32_t)x : NORMAL;
}

static void put_score(reading *r, size_t i, double x)
{
    r->score[i] = x == x ? (float)x : 0;
}

static const char *piece_at(const reading *r, int64_t id)
{
    return id >= 0 && (size_t)id < r->vocab.count ? hd_vocab_piece(&r->vocab, (int32_t)id) : NULL;
}

static json_t *vocabulary(const reading *r)
{
    json_t *all = json_object();
    for (size_t i = 0; i < r->vocab.count; i++)
        hd_json_set(all, hd_vocab_piece(&r->vocab, (int32_t)i), json_integer((json_int_t)i));
    return all;
}

static json_t *added(const reading *r)
{
    json_t *all = json_array();
    for (size_t i = 0; i < r->vocab.count; i++)
        if (r->type[i] == CONTROL || r->type[i] == DEFINED)
            hd_json_append(all, json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)i, "content",
                                          hd_vocab_piece(&r->vocab, (int32_t)i), "single_word", 0, "lstrip",
                                          0, "rstrip", 0, "normalized", 0, "special", r->type[i] == CONTROL));
    return all;
}

/* -- merges -- */

static hd_status listed_merges(const reading *r, json_t *to)
{
    const hd_gguf_value *list = hd_gguf_find(r->m->file, "tokenizer.ggml.merges");
    hd_gguf_value rest = list ? *list : (hd_gguf_value){0}, item;
    hd_line text;
    if (!rest.list || rest.type != HD_GGUF_TEXT) return refuse(r, "no \"tokenizer.ggml.merges\"");
    while (hd_gguf_next(&rest, &item)) {
        hd_gguf_text(&item, &text);
        json_t *merge = json_stringn(text.text, text.size);
        if (!merge) return refuse(r, "a merge is not UTF-8");
        hd_json_append(to, merge);
    }
    return HD_OK;
}

typedef struct join {
    int32_t left, right;
    float score;
} join;

static int by_score(const void *a, const void *b)
{
    const join *left = a, *right = b;
    if (left->score != right->score) return left->score > right->score ? -1 : 1;
    if (left->left != right->left) return left->left < right->left ? -1 : 1;
    return (left->right > right->right) - (left->right < right->right);
}

typedef struct joins {
    join *at;
    size_t count, room;
} joins;

static hd_status join_piece(const reading *r, int32_t id, joins *to)
{
    const char *piece = hd_vocab_piece(&r->vocab, id);
    const size_t size = strlen(piece);
    hd_status s = HD_OK;
    for (size_t cut = 1; !s && cut < size; cut++) {
        if (((uint8_t)piece[cut] & 0xc0) == 0x80) continue;
        const int32_t left = hd_vocab_find(&r->vocab, piece, cut),
                      right = hd_vocab_find(&r->vocab, piece + cut, size - cut);
        if (left < 0 || right < 0) continue;
        s = hd_mem_reserve(&to->at, &to->room, to->count + 1, sizeof *to->at, r->err);
        if (!s) to->at[to->count++] = (join){left, right, r->score[id]};
    }
    return s;
}

/* A run of spaces that is one piece by definition, as Gemma has them: it is never found as such a token,
   since that is looked for where spaces are spaces. */
static bool is_blanks(const reading *r, int32_t id)
{
    const char *piece = hd_vocab_piece(&r->vocab, id);
    if (r->type[id] != DEFINED || !*piece) return false;
    while (!strncmp(piece, BLANK, sizeof BLANK - 1)) piece += sizeof BLANK - 1;
    return !*piece;
}

static hd_status scored_merges(const reading *r, json_t *to)
{
    joins all = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < r->vocab.count; i++)
        if (r->type[i] == NORMAL || is_blanks(r, (int32_t)i)) s = join_piece(r, (int32_t)i, &all);
    if (!s && all.count) qsort(all.at, all.count, sizeof *all.at, by_score);
    for (size_t i = 0; !s && i < all.count; i++)
        hd_json_append(to, json_pack("[s,s]", hd_vocab_piece(&r->vocab, all.at[i].left),
                                     hd_vocab_piece(&r->vocab, all.at[i].right)));
    hd_mem_free(all.at);
    return s;
}

/* -- the parts -- */

static json_t *byte_level(bool prefix)
{
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", prefix, "trim_offsets", 1,
                     "use_regex", 0);
}

static hd_status put_bytes(const reading *r, json_t *root, json_t *model)
{
    const hd_line name = text_of(r, "tokenizer.ggml.pre");
    size_t i = 0;
    while (name.size && i < sizeof cuts / sizeof *cuts && !is_text(name, cuts[i].name)) i++;
    if (i == sizeof cuts / sizeof *cuts)
        return hd_err_set(
            r->err, HD_EFORMAT,
            "%s: \"tokenizer.ggml.pre\" is \"%.*s\", which is not known: import the model's folder",
            hd_gguf_file(r->m->file), name.size > 40 ? 40 : (int)name.size, name.text);
    json_t *list = json_array();
    if (cuts[i].digits)
        hd_json_append(list, json_pack("{s:s,s:b}", "type", "Digits", "individual_digits", 1));
    for (int k = 0; k < 3 && cuts[i].pattern[k]; k++)
        hd_json_append(list, json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex",
                                       cuts[i].pattern[k], "behavior", "Isolated", "invert", 0));
    hd_json_append(list, byte_level(false));
    hd_json_set(root, "normalizer", cuts[i].compose ? json_pack("{s:s}", "type", "NFC") : json_null());
    hd_json_set(root, "pre_tokenizer", json_pack("{s:s,s:o}", "type", "Sequence", "pretokenizers", list));
    hd_json_set(root, "decoder", byte_level(true));
    hd_json_set(model, "ignore_merges", json_boolean(cuts[i].whole));
    json_t *merges = json_array();
    hd_status s = listed_merges(r, merges);
    hd_json_set(model, "merges", merges);
    return s;
}

static hd_status put_characters(const reading *r, json_t *root, json_t *model)
{
    bool prefix = true;
    hd_gguf_switch(hd_gguf_find(r->m->file, "tokenizer.ggml.add_space_prefix"), &prefix);
    const char *unknown = piece_at(r, hd_gguf_token(r->m->file, "unknown_token_id"));
    json_t *normal = json_array(), *decoders = json_array(), *merges = json_array();
    if (prefix) hd_json_append(normal, json_pack("{s:s,s:s}", "type", "Prepend", "prepend", BLANK));
    hd_json_append(normal, json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", "String", " ",
                                     "content", BLANK));
    hd_json_append(decoders, json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", "String", BLANK,
                                       "content", " "));
    hd_json_append(decoders, json_pack("{s:s}", "type", "ByteFallback"));
    hd_json_append(decoders, json_pack("{s:s}", "type", "Fuse"));
    if (prefix)
        hd_json_append(
            decoders, json_pack("{s:s,s:s,s:i,s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0));
    hd_json_set(root, "normalizer", json_pack("{s:s,s:o}", "type", "Sequence", "normalizers", normal));
    hd_json_set(root, "pre_tokenizer", json_null());
    hd_json_set(root, "decoder", json_pack("{s:s,s:o}", "type", "Sequence", "decoders", decoders));
    hd_json_set(model, "unk_token", json_string(unknown ? unknown : hd_vocab_piece(&r->vocab, 0)));
    hd_json_set(model, "byte_fallback", json_true());
    hd_json_set(model, "fuse_unk", json_true());
    hd_status s = scored_merges(r, merges);
    hd_json_set(model, "merges", merges);
    return s;
}

static hd_status put_whole(const reading *r, bool characters)
{
    hd_json_begin();
    json_t *root =
               json_pack("{s:s,s:n,s:n,s:n}", "version", "1.0", "truncation", "padding", "post_processor"),
           *model = json_pack("{s:s}", "type", "BPE");
    hd_json_set(root, "added_tokens", added(r));
    hd_json_set(model, "vocab", vocabulary(r));
    hd_status s = characters ? put_characters(r, root, model) : put_bytes(r, root, model);
    hd_json_set(root, "model", model);
    if (!s) return hd_json_save(root, FLAGS, r->m->folder, "tokenizer.json", r->err);
    json_decref(root);
    return s;
}

static hd_status put_config(const reading *r, bool characters)
{
    static const char *const keys[][2] = {{"bos_token", "bos_token_id"},
                                          {"eos_token", "eos_token_id"},
                                          {"unk_token", "unknown_token_id"},
                                          {"pad_token", "padding_token_id"}};
    const hd_line chat = text_of(r, "tokenizer.chat_template");
    bool bos = characters, eos = false;
    hd_gguf_switch(hd_gguf_find(r->m->file, "tokenizer.ggml.add_bos_token"), &bos);
    hd_gguf_switch(hd_gguf_find(r->m->file, "tokenizer.ggml.add_eos_token"), &eos);
    hd_json_begin();
    json_t *root = json_pack("{s:s,s:b,s:b,s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                             "add_bos_token", bos, "add_eos_token", eos, "clean_up_tokenization_spaces", 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *piece = piece_at(r, hd_gguf_token(r->m->file, keys[i][1]));
        if (piece) hd_json_set(root, keys[i][0], json_string(piece));
    }
    if (chat.size) hd_json_set(root, "chat_template", json_stringn(chat.text, chat.size));
    return hd_json_save(root, JSON_INDENT(2), r->m->folder, "tokenizer_config.json", r->err);
}

hd_status hd_gguf_put_tokenizer(const hd_gguf_model *m, hd_err *err)
{
    reading r = {.m = m, .err = err};
    const hd_line kind = text_of(&r, "tokenizer.ggml.model");
    const bool characters = is_text(kind, "llama"), bytes = is_text(kind, "gpt2");
    hd_status s = characters || bytes
                      ? read_pieces(&r)
                      : hd_err_set(err, HD_EFORMAT,
                                   "%s: \"tokenizer.ggml.model\" is \"%.*s\"; heed reads gpt2 and llama",
                                   hd_gguf_file(m->file), kind.size > 40 ? 40 : (int)kind.size, kind.text);
    if (!s) {
        r.type = hd_mem_array(r.vocab.count, sizeof *r.type);
        r.score = hd_mem_array(r.vocab.count, sizeof *r.score);
        if (!r.type || !r.score) s = hd_err_nomem(err, r.vocab.count * sizeof *r.type);
    }
    for (size_t i = 0; !s && i < r.vocab.count; i++) r.type[i] = NORMAL;
    if (!s) s = read_numbers(&r, "tokenizer.ggml.token_type", true, put_type);
    if (!s && characters) s = read_numbers(&r, "tokenizer.ggml.scores", false, put_score);
    if (!s) s = put_whole(&r, characters);
    if (!s) s = put_config(&r, characters);
    hd_mem_free(r.type);
    hd_mem_free(r.score);
    hd_vocab_release(&r.vocab);
    return s;
}
