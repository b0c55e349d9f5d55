/* What a request asks for. */
#include "serve/parse/params.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file/lines.h"
#include "serve/parse/percent.h"

static const char FORM[] = ""; /* the name of the member that forms have */

/* NULL: no memory. */
static json_t *unix_lines(const char *value, size_t size)
{
    hd_text text = {0};
    for (size_t i = 0; i < size; i++)
        if (value[i] != '\r' || i + 1 == size || value[i + 1] != '\n') hd_text_add(&text, value + i, 1);
    json_t *made = text.missed ? NULL : json_stringn(text.data ? text.data : "", text.size);
    hd_text_release(&text);
    return made;
}

hd_status hd_params_add(json_t *to, const char *name, size_t name_size, const char *value, size_t size,
                        hd_err *err)
{
    char key[HD_PARAMS_NAME + 1];
    if (name_size > HD_PARAMS_NAME) return hd_err_set(err, HD_ELIMIT, "a name of a field is too long");
    if (json_object_size(to) >= HD_PARAMS_MOST) return hd_err_set(err, HD_ELIMIT, "too many fields");
    memcpy(key, name, name_size);
    key[name_size] = 0;
    if (json_object_get(to, key)) return HD_OK;
    if (memchr(value, 0, size) || hd_utf8_good(value, size) < size ||
        hd_utf8_good(key, name_size) < name_size || strlen(key) != name_size)
        return hd_err_set(err, HD_EFORMAT, "a field is not UTF-8");
    json_t *made = memchr(value, '\r', size) ? unix_lines(value, size) : json_stringn(value, size);
    return made && !json_object_set_new(to, key, made) ? HD_OK : hd_err_nomem(err, size);
}

typedef struct pair { /* room for those of a form, one after the other */
    hd_text key, value;
} pair;

static hd_status add_pair(json_t *to, pair *p, const char *text, size_t size, hd_err *err)
{
    const char *sign = memchr(text, '=', size);
    size_t name = sign ? (size_t)(sign - text) : size, value = sign ? size - name - 1 : 0;
    hd_text *key = &p->key, *made = &p->value;
    key->size = made->size = 0;
    bool good =
        hd_percent_decode(key, text, name, true) && (!sign || hd_percent_decode(made, sign + 1, value, true));
    hd_status s =
        good ? hd_text_status(key, err) : hd_err_set(err, HD_EFORMAT, "a field is not escaped well");
    if (!s) s = hd_text_status(made, err);
    if (!s && key->size)
        s = hd_params_add(to, key->data, key->size, made->data ? made->data : "", made->size, err);
    return s;
}

hd_status hd_params_add_form(json_t *to, const char *text, size_t size, hd_err *err)
{
    hd_status s = HD_OK;
    pair p = {0};
    for (const char *end = text + size; !s && text < end;) {
        const char *mark = memchr(text, '&', (size_t)(end - text));
        size_t length = (size_t)((mark ? mark : end) - text);
        if (length) s = add_pair(to, &p, text, length, err);
        text += length + 1;
    }
    hd_text_release(&p.key);
    hd_text_release(&p.value);
    return s;
}

/* Whether brackets stand in more brackets than a parser that calls itself should follow. */
static bool too_deep(const char *text, size_t size)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '[' || text[i] == '{') && ++depth > HD_PARAMS_DEPTH)
            return true;
        else if (!quoted && (text[i] == ']' || text[i] == '}') && depth)
            depth--;
    }
    return false;
}

hd_status hd_params_json(json_t **out, hd_arena *arena, const char *body, size_t size, hd_err *err)
{
    json_error_t e;
    if (too_deep(body, size)) return hd_err_set(err, HD_EFORMAT, "Invalid JSON format: too deep");
    json_t *root = hd_json_load_config(arena, body, size, &e); /* with numbers of any length */
    if (!root && hd_json_missed()) return hd_err_nomem(err, hd_json_missed());
    if (!json_is_object(root)) return hd_err_set(err, HD_EFORMAT, "Invalid JSON format");
    *out = root;
    return HD_OK;
}

static void forget(void *root)
{
    json_decref(root);
}

/* "application/json; charset=utf-8" and "application/problem+json" are JSON. */
static bool is_json(const char *type)
{
    size_t size = strcspn(type, "; \t");
    return (size == 16 && !strncasecmp(type, "application/json", size)) ||
           (size > 5 && !strncasecmp(type + size - 5, "+json", 5));
}

hd_status hd_params_read(json_t **out, hd_arena *arena, const char *type, const char *query, const char *body,
                         size_t size, hd_err *err)
{
    static const char multipart[] = "multipart/form-data";
    if (type && is_json(type)) return hd_params_json(out, arena, body, size, err);
    json_t *root = json_object();
    if (!root || !hd_arena_at_end(arena, forget, root))
        return json_decref(root), hd_err_nomem(err, sizeof *root);
    if (json_object_set_new(root, FORM, json_string("form"))) return hd_err_nomem(err, sizeof *root);
    hd_status s = hd_params_add_form(root, query, strlen(query), err);
    if (!s && type && !strncasecmp(type, multipart, sizeof multipart - 1))
        s = hd_params_add_multipart(root, type, body, size, err);
    else if (!s)
        s = hd_params_add_form(root, body, size, err);
    if (!s) *out = root;
    return s;
}

const char *hd_params_text(const json_t *params, const char *name)
{
    return json_string_value(json_object_get(params, name));
}

bool hd_params_is_form(const json_t *params)
{
    return json_object_get(params, FORM);
}

bool hd_params_integer(const json_t *value, int64_t *out)
{
    const double most = 9.2e18, x = json_number_value(value);
    if (json_is_integer(value)) return *out = (int64_t)json_integer_value(value), true;
    if (!json_is_real(value) || !(x > -most && x < most)) return false;
    *out = (int64_t)x;
    return !((double)*out < x || (double)*out > x);
}

/* "-12" */
static bool read_digits(const char *text, int64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)text[*text == '-'])) return false;
    *out = strtoll(text, &end, 10);
    return !*end;
}

bool hd_params_whole(const json_t *params, const char *name, long least, long most, long fallback, long *out)
{
    const json_t *v = json_object_get(params, name);
    const char *text = hd_params_is_form(params) ? json_string_value(v) : NULL;
    int64_t n;
    *out = fallback;
    if (!v || json_is_null(v) || (text && !*text)) return true;
    if (!(text ? read_digits(text, &n) : hd_params_integer(v, &n)) || n < least || n > most) return false;
    *out = (long)n;
    return true;
}
