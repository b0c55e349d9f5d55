/* A tokenizer.model without a tokenizer.json beside it, as older folders of Llama have it: it becomes the
   tokenizer.json that does the same. Easy to get wrong: these tokenizers put a start before a text even where
   no file says so, and a space before each stretch of text between special tokens. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hub/decoder/decoder.h"
#include "text/sentencepiece/sentencepiece_json.h"
#include "text/sentencepiece/sentencepiece_view.h"
#include "text/tokenizer_find.h"

enum { MOST = 1 << 24, WHOLE = JSON_COMPACT | JSON_REAL_PRECISION(17) };

static const char WHOLE_NAME[] = "tokenizer.json", CONFIG_NAME[] = "tokenizer_config.json";

typedef struct pieces {
    const hd_passage *p;
    hd_spm_file file;
    hd_spm_view view;
    hd_arena arena; /* of the next two */
    json_t *config; /* tokenizer_config.json; NULL: there is none */
    json_t *more;   /* added_tokens.json; NULL: there is none */
    hd_err *err;
} pieces;

static hd_status read_beside(pieces *r, const char *name, json_t **out)
{
    char path[HD_PATH];
    hd_status s = hd_path(path, r->p->from, name, r->err);
    if (s || access(path, F_OK)) return s;
    return hd_json_read(out, &r->arena, path, MOST, r->err);
}

/* -- tokenizer.json -- */

static json_t *token_of(long long id, json_t *content, bool normalized, bool special)
{
    json_t *token = json_pack("{s:I,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)id, "single_word", 0, "lstrip",
                              0, "rstrip", 0, "normalized", normalized, "special", special);
    hd_json_set(token, "content", content);
    return token;
}

/* The token of "added_tokens_decoder" with this id, or NULL. */
static const json_t *listed(const pieces *r, size_t id)
{
    char key[24];
    snprintf(key, sizeof key, "%zu", id);
    return json_object_get(json_object_get(r->config, "added_tokens_decoder"), key);
}

static bool has_blank(hd_line text)
{
    for (size_t i = 0; i + 3 <= text.size; i++)
        if (!memcmp(text.text + i, "\xe2\x96\x81", 3)) return true;
    return false;
}

static void add_own(const pieces *r, json_t *to)
{
    for (size_t i = 0; i < r->view.count; i++) {
        const hd_spm_type type = r->view.piece[i].type;
        const hd_line text = r->view.piece[i].text;
        if ((type != HD_SPM_CONTROL && type != HD_SPM_USER_DEFINED) || listed(r, i)) continue;
        hd_json_append(
            to, token_of((long long)i, json_stringn(text.text, text.size), false, type == HD_SPM_CONTROL));
    }
}

static void add_listed(const pieces *r, json_t *to)
{
    const char *key;
    json_t *one;
    json_object_foreach(json_object_get(r->config, "added_tokens_decoder"), key, one)
    {
        json_t *copy = json_deep_copy(one);
        hd_json_set(copy, "id", json_integer(strtoll(key, NULL, 10)));
        hd_json_append(to, copy);
    }
    json_object_foreach(r->more, key, one)
    {
        const long long id = json_integer_value(one);
        if (id >= 0 && !listed(r, (size_t)id) && (size_t)id >= r->view.count)
            hd_json_append(to, token_of(id, json_string(key), true, false));
    }
}

static hd_status put_whole(const pieces *r)
{
    hd_json_begin();
    json_t *root =
               json_pack("{s:s,s:n,s:n,s:n}", "version", "1.0", "truncation", "padding", "post_processor"),
           *added = json_array();
    add_own(r, added);
    add_listed(r, added);
    hd_json_set(root, "added_tokens", added);
    hd_status s = hd_spm_describe(&r->file, root, HD_SPM_DEFINED, r->err);
    if (!s) return hd_json_save(root, WHOLE, r->p->to, WHOLE_NAME, r->err);
    json_decref(root);
    return s;
}

/* -- tokenizer_config.json -- */

/* The first of these names that is a piece. */
static json_t *one_of(const pieces *r, const char *const names[2])
{
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < r->view.count; i++) {
            const hd_line text = r->view.piece[i].text;
            if (text.size == strlen(names[n]) && !memcmp(text.text, names[n], text.size))
                return json_string(names[n]);
        }
    return NULL;
}

static hd_status put_config(const pieces *r)
{
    static const struct {
        const char *key, *names[2]; /* of Llama, of Gemma */
    } tokens[] = {
        {"bos_token", {"<s>", "<bos>"}}, {"eos_token", {"</s>", "<eos>"}}, {"unk_token", {"<unk>", ""}}};
    hd_json_begin();
    json_t *root = json_pack("{s:s,s:b,s:b,s:b}", "tokenizer_class", "LlamaTokenizer", "add_bos_token", 1,
                             "add_eos_token", 0, "clean_up_tokenization_spaces", 0);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        json_t *name = one_of(r, tokens[i].names);
        if (name) hd_json_set(root, tokens[i].key, name);
    }
    if (r->config) hd_json_join(root, json_deep_copy(r->config));
    return hd_json_save(root, JSON_INDENT(2), r->p->to, CONFIG_NAME, r->err);
}

/* -- both -- */

/* Whether a tokenizer.json does the same. Pieces that its user defined are added tokens, as transformers has
   it; those of spaces would be looked for where there are no spaces any more. */
static bool is_plain(const hd_spm_view *v)
{
    bool plain = v->byte_fallback && !v->charsmap.size && !v->tidy;
    for (size_t i = 0; plain && i < v->count; i++)
        plain = v->piece[i].type != HD_SPM_USER_DEFINED || !has_blank(v->piece[i].text);
    return plain;
}

static hd_status open_made(const pieces *r, hd_tokenizer **out)
{
    char path[HD_PATH];
    hd_status s = put_whole(r);
    if (!s) s = put_config(r);
    if (!s) s = hd_path(path, r->p->to, WHOLE_NAME, r->err);
    return s ? s : hd_tokenizer_open_any(out, path, false, r->err);
}

static hd_status open_one(const pieces *r, hd_tokenizer **out, const char *path)
{
    if (r->view.kind != HD_SPM_BPE) return hd_tokenizer_open_any(out, path, false, r->err);
    if (is_plain(&r->view)) return open_made(r, out);
    return hd_err_set(
        r->err, HD_EFORMAT,
        "%s: heed reads such a file of BPE with byte fallback, without a normalization and pieces "
        "of spaces that its user defined: put the tokenizer.json that transformers makes of it "
        "beside it",
        path);
}

hd_status hd_decoder_open_pieces(hd_tokenizer **out, const hd_passage *p, const char *path, hd_err *err)
{
    pieces r = {.p = p, .err = err};
    hd_arena_init(&r.arena, hd_allocator_host, 0);
    hd_status s = hd_spm_file_open(&r.file, path, err);
    if (!s) s = hd_spm_view_read(&r.view, (hd_line){r.file.bytes.data, r.file.bytes.size}, err);
    if (!s) s = read_beside(&r, CONFIG_NAME, &r.config);
    if (!s) s = read_beside(&r, "added_tokens.json", &r.more);
    if (!s) s = open_one(&r, out, path);
    hd_spm_view_release(&r.view);
    hd_spm_file_release(&r.file);
    hd_arena_release(&r.arena);
    return s;
}
