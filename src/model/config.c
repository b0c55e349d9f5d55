/* Reading and writing config.json. Files are hostile: every value is checked before it is used. */
#include "model/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/seal.h"
#include "text/tokenizer_find.h"

enum { MOST_CONFIG = 1 << 20, MOST_FILE = 1 << 24 };

static const char PADDED[] = "padded";

void hd_model_config_refuse(hd_model_config *c, const char *format, ...)
{
    char text[400];
    va_list args;
    if (c->status) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->status = hd_err_set(c->err, HD_EFORMAT, "%s: %s", c->path, text);
}

void hd_model_config_read(hd_model_config *c, const char *folder, const char *maker, hd_err *err)
{
    c->object = NULL, c->err = err;
    hd_arena_init(&c->arena, hd_allocator_host, 0);
    c->status = hd_path(c->path, folder, "config.json", err);
    bool folder_lacks = !c->status && access(folder, F_OK) && errno == ENOENT;
    int why = !c->status && access(c->path, F_OK) ? errno : 0; /* what is not told here opening it says */
    if (folder_lacks) c->status = hd_err_set(err, HD_EFILE, "%s: there is no such folder", folder);
    if (!c->status && why == ENOTDIR)
        c->status = hd_err_set(err, HD_EFILE, "%s: is a file, not the folder of a model", folder);
    if (!c->status && why == ENOENT)
        c->status =
            hd_err_set(err, HD_EFILE, "%s: holds no model (no config.json): %s makes one", folder, maker);
    if (!c->status) c->status = hd_json_read(&c->object, &c->arena, c->path, MOST_CONFIG, err);
}

void hd_model_config_read_file(hd_model_config *c, const char *folder, const char *name, hd_err *err)
{
    c->object = NULL, c->err = err;
    hd_arena_init(&c->arena, hd_allocator_host, 0);
    c->status = hd_path(c->path, folder, name, err);
    if (!c->status && !access(c->path, F_OK))
        c->status = hd_json_read(&c->object, &c->arena, c->path, MOST_FILE, err);
}

void hd_model_config_open(hd_model_config *c, const char *folder, hd_err *err)
{
    hd_model_config_read(c, folder, "`heed train`", err);
    if (hd_model_config_whole(c, "format", 1, 1 << 20) != 1)
        hd_model_config_refuse(c, "\"format\" is of a newer heed: this one reads format 1");
    if (!c->status) c->status = hd_seal_check(folder, c->object, err);
}

hd_status hd_model_config_seal(const char *folder, hd_err *err)
{
    /* all small files that the tokenizers and tasks have; the weights hold their own checksum, since they are
       replaced by themselves while a model learns */
    static const char *const names[] = {
        "tokenizer.model",
        "tokenizer.txt",
        "source.model",
        "source.txt",
        "target.model",
        "target.txt",
        "source.spm",
        "target.spm",
        "spiece.model",
        "vocab.json",
        "merges.txt",
        "vocab.txt",
        "tokenizer.json",
        "labels.txt",
        "tokenizer_config.json",
        "ngram.bin",
        "added_tokens.json",
        "special_tokens_map.json",
        NULL,
    };
    return hd_seal_folder(folder, names, err);
}

void hd_model_config_release(hd_model_config *c)
{
    hd_arena_release(&c->arena);
}

hd_model_config hd_model_config_inside(const hd_model_config *c, const char *key)
{
    hd_model_config inside = *c;
    inside.object = json_object_get(c->object, key);
    return inside;
}

void hd_model_config_leave(hd_model_config *c, const hd_model_config *inside)
{
    if (!c->status) c->status = inside->status;
}

static const json_t *member(hd_model_config *c, const char *key, bool fits, const json_t *v, const char *what)
{
    if (!v)
        hd_model_config_refuse(c, "\"%s\" is missing: %s", key, what);
    else if (!fits)
        hd_model_config_refuse(c, "\"%s\" is not %s", key, what);
    return c->status ? NULL : v;
}

long long hd_model_config_whole(hd_model_config *c, const char *key, long long least, long long most)
{
    const json_t *v = hd_tokenizer_member(c->object, key);
    v = member(c, key, json_is_integer(v), v, "a whole number");
    long long n = v ? json_integer_value(v) : least;
    if (v && (n < least || n > most)) hd_model_config_refuse(c, "\"%s\" is %lld, which no model has", key, n);
    return c->status ? least : n;
}

double hd_model_config_real(hd_model_config *c, const char *key, double most)
{
    return hd_model_config_between(c, key, 0, most);
}

double hd_model_config_between(hd_model_config *c, const char *key, double least, double most)
{
    const json_t *v = hd_tokenizer_member(c->object, key);
    v = member(c, key, json_is_number(v), v, "a number");
    double x = v ? json_number_value(v) : 0;
    if (v && !(x >= least && x <= most))
        hd_model_config_refuse(c, "\"%s\" is %g, which no model has", key, x);
    return c->status ? 0 : x;
}

bool hd_model_config_switch(hd_model_config *c, const char *key)
{
    const json_t *v = hd_tokenizer_member(c->object, key);
    return json_is_true(member(c, key, json_is_boolean(v), v, "true or false"));
}

const char *hd_model_config_text(hd_model_config *c, const char *key)
{
    const json_t *v = hd_tokenizer_member(c->object, key);
    v = member(c, key, json_is_string(v), v, "a text");
    return v ? json_string_value(v) : "";
}

bool hd_model_config_has(const hd_model_config *c, const char *key)
{
    const json_t *v = hd_tokenizer_member(c->object, key);
    return v && !json_is_null(v);
}

int hd_model_config_name(hd_model_config *c, const char *key, const char *const *names, int count)
{
    const char *v = hd_model_config_text(c, key);
    for (int i = 0; !c->status && i < count; i++)
        if (!strcmp(names[i], v)) return i;
    hd_model_config_refuse(c, "there is no %s \"%.40s\"", key, v);
    return 0;
}

hd_stages hd_model_config_stages(hd_model_config *c, const char *key)
{
    hd_stages s = {0};
    hd_err why = {0};
    const char *text = hd_model_config_text(c, key);
    if (!c->status && hd_stages_read(&s, text, &why)) hd_model_config_refuse(c, "\"%s\": %s", key, why.text);
    return s;
}

hd_tokenizer_kind hd_model_config_tokenizer_kind(hd_model_config *c, const char *key)
{
    const char *name = hd_model_config_text(c, key);
    int kind = hd_tokenizer_find(name);
    if (kind < 0) hd_model_config_refuse(c, "there is no tokenizer \"%.40s\"", name);
    return kind < 0 ? (hd_tokenizer_kind)0 : (hd_tokenizer_kind)kind;
}

hd_unary hd_model_config_activation(hd_model_config *c, const char *key)
{
    const char *name = hd_model_config_text(c, key);
    int found = hd_unary_find(name);
    if (found < 0) hd_model_config_refuse(c, "there is no activation \"%.40s\"", name);
    return found < 0 ? HD_IDENTITY : (hd_unary)found;
}

/* Where one of that kind lies. */
static hd_status tokenizer_path(char to[HD_PATH], const char *folder, hd_tokenizer_kind kind, hd_err *err)
{
    return hd_path(to, folder, hd_tokenizer_file(kind, HD_OF_BOTH), err);
}

hd_tokenizer *hd_model_config_tokenizer(hd_model_config *c, const char *folder)
{
    char path[HD_PATH];
    hd_tokenizer *t = NULL;
    hd_tokenizer_kind kind = hd_model_config_tokenizer_kind(c, "tokenizer");
    if (!c->status) c->status = tokenizer_path(path, folder, kind, c->err);
    if (!c->status) c->status = hd_tokenizer_open(&t, kind, path, c->err);
    return t;
}

hd_status hd_tokenizer_refuse(const hd_tokenizer *t, size_t pieces, const char *key, size_t vocab,
                              hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT,
                      "%s: has %zu pieces%s, but \"%s\" in config.json is %zu: the tokenizer belongs to "
                      "another model, or was cut short",
                      hd_tokenizer_from(t), pieces, pieces > hd_tokenizer_size(t) ? " with [MASK]" : "", key,
                      vocab);
}

void hd_model_config_check_vocab(hd_model_config *c, size_t vocab, const hd_tokenizer *t, size_t pieces)
{
    bool padded = hd_model_config_has(c, PADDED) && hd_model_config_switch(c, PADDED);
    if (!c->status && (vocab < pieces || (vocab > pieces && !padded)))
        c->status = hd_tokenizer_refuse(t, pieces, "vocabulary", vocab, c->err);
}

void hd_model_config_put_padded(hd_text *to, size_t vocab, size_t pieces)
{
    if (vocab > pieces) hd_text_print(to, ",\n \"%s\": true", PADDED);
}

void hd_model_config_put_tokenizer(hd_text *to, const hd_tokenizer *t)
{
    hd_text_print(to, ",\n \"tokenizer\": \"%s\"", hd_tokenizer_name(hd_tokenizer_kind_of(t)));
}

const char *hd_model_config_digits(char to[HD_REAL_TEXT], double x)
{
    int n = 1;
    do snprintf(to, HD_REAL_TEXT, "%.*g", n, x);
    while (n++ < 9 && strtof(to, NULL) != (float)x);
    return to;
}

void hd_model_config_put_real(hd_text *to, const char *key, double x)
{
    char digits[HD_REAL_TEXT];
    hd_model_config_digits(digits, x);
    char *comma = strchr(digits, ',');
    if (comma) *comma = '.';
    hd_text_print(to, ",\n \"%s\": %s", key, digits);
}
