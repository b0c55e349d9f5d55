/* Making values, and what the rendering has for all: limits, failures, memory. */
#include "text/template/value.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { DEPTH = 200, BYTES_A_STEP = 64 };

hd_jinja_value hd_jinja_fail(hd_jinja_run *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hd_err_set(r->err, HD_EARG, "%s, line %d: %s", r->name, r->line, text);
    return HD_JINJA_UNDEFINED;
}

bool hd_jinja_failed(const hd_jinja_run *r)
{
    return r->err->status;
}

bool hd_jinja_charge(hd_jinja_run *r, size_t steps)
{
    if (hd_jinja_failed(r)) return false;
    if (steps > r->limit.steps - r->steps)
        hd_err_set(r->err, HD_ELIMIT, "%s, line %d: the template takes more than %zu steps", r->name, r->line,
                   r->limit.steps);
    else
        r->steps += steps;
    return !hd_jinja_failed(r);
}

bool hd_jinja_enter(hd_jinja_run *r)
{
    r->depth++;
    if (r->depth > DEPTH)
        hd_err_set(r->err, HD_ELIMIT, "%s, line %d: nested more than %d deep", r->name, r->line, DEPTH);
    return hd_jinja_charge(r, 1);
}

void hd_jinja_leave(hd_jinja_run *r)
{
    r->depth--;
}

void *hd_jinja_take(hd_jinja_run *r, size_t count, size_t size)
{
    size_t bytes;
    if (hd_jinja_failed(r)) return NULL;
    if (!hd_size_mul(count, size, &bytes) || bytes > r->limit.memory - r->memory) {
        hd_err_set(r->err, HD_ELIMIT, "%s, line %d: the template takes more than %zu bytes of memory",
                   r->name, r->line, r->limit.memory);
        return NULL;
    }
    r->memory += bytes + HD_ALIGN <= r->limit.memory - r->memory ? bytes + HD_ALIGN : bytes;
    return hd_jinja_charge(r, bytes / BYTES_A_STEP)
               ? hd_arena_array(&r->arena, count ? count : 1, size, r->err)
               : NULL;
}

hd_jinja_value hd_jinja_bool(bool b)
{
    return (hd_jinja_value){.kind = HD_IS_BOOL, .truth = b};
}

hd_jinja_value hd_jinja_int(int64_t n)
{
    return (hd_jinja_value){.kind = HD_IS_INT, .whole = n};
}

hd_jinja_value hd_jinja_real(double x)
{
    return (hd_jinja_value){.kind = HD_IS_REAL, .real = x};
}

hd_jinja_value hd_jinja_literal(const char *text)
{
    return (hd_jinja_value){.kind = HD_IS_STRING, .string = {text, NULL, strlen(text)}};
}

hd_jinja_value hd_jinja_part(hd_jinja_string s, size_t from, size_t to)
{
    return (hd_jinja_value){.kind = HD_IS_STRING,
                            .string = {s.at + from, s.mark ? s.mark + from : NULL, to - from}};
}

hd_jinja_value hd_jinja_taken(hd_jinja_run *r, hd_marked *m)
{
    size_t size = m->text.size;
    hd_jinja_value v = hd_jinja_literal("");
    hd_marked_status(m, r->err);
    char *at = size ? hd_jinja_take(r, size, 2) : NULL;
    if (at) {
        memcpy(at, m->text.data, size);
        memcpy(at + size, m->mark.data, size);
        bool plain = true;
        for (size_t i = 0; plain && i < size; i++) plain = m->mark.data[i] == HD_MARK_TEMPLATE;
        v.string = (hd_jinja_string){at, plain ? NULL : at + size, size};
    }
    hd_marked_release(m);
    return v;
}

hd_jinja_value hd_jinja_new_list(hd_jinja_run *r, hd_jinja_kind kind)
{
    hd_jinja_list *l = hd_jinja_take(r, 1, sizeof *l);
    return l ? (hd_jinja_value){.kind = kind, .list = l} : HD_JINJA_UNDEFINED;
}

hd_jinja_value hd_jinja_new_dict(hd_jinja_run *r, hd_jinja_kind kind)
{
    hd_jinja_dict *d = hd_jinja_take(r, 1, sizeof *d);
    return d ? (hd_jinja_value){.kind = kind, .dict = d} : HD_JINJA_UNDEFINED;
}

void hd_jinja_add(hd_jinja_run *r, hd_jinja_list *to, hd_jinja_value v)
{
    if (hd_jinja_failed(r)) return;
    if (to->count == to->room) {
        size_t room = to->room ? 2 * to->room : 4;
        hd_jinja_value *at = hd_jinja_take(r, room, sizeof *at);
        if (!at) return;
        if (to->count) memcpy(at, to->at, to->count * sizeof *at);
        to->at = at, to->room = room;
    }
    to->at[to->count++] = v;
}

hd_jinja_value hd_jinja_pair(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b)
{
    hd_jinja_value v = hd_jinja_new_list(r, HD_IS_TUPLE);
    if (hd_jinja_failed(r)) return v;
    hd_jinja_add(r, v.list, a);
    hd_jinja_add(r, v.list, b);
    return v;
}

const hd_jinja_value *hd_jinja_get_name(const hd_jinja_dict *d, const char *name, size_t size)
{
    for (size_t i = 0; i < d->value.count; i++) {
        const hd_jinja_value *k = &d->key.at[i];
        if (k->kind == HD_IS_STRING && k->string.size == size && !memcmp(k->string.at, name, size))
            return &d->value.at[i];
    }
    return NULL;
}

const hd_jinja_value *hd_jinja_get(hd_jinja_run *r, const hd_jinja_dict *d, hd_jinja_value key)
{
    if (!hd_jinja_charge(r, d->key.count / 8)) return NULL;
    if (key.kind == HD_IS_STRING) return hd_jinja_get_name(d, key.string.at, key.string.size);
    for (size_t i = 0; i < d->value.count; i++)
        if (hd_jinja_equal(r, d->key.at[i], key)) return &d->value.at[i];
    return NULL;
}

void hd_jinja_set(hd_jinja_run *r, hd_jinja_dict *d, hd_jinja_value key, hd_jinja_value v)
{
    if (key.kind == HD_IS_LIST || key.kind == HD_IS_DICT) {
        hd_jinja_fail(r, "a %s cannot be a key", hd_jinja_kind_name(key));
        return;
    }
    hd_jinja_value *old = (hd_jinja_value *)hd_jinja_get(r, d, key);
    if (old)
        *old = v;
    else {
        hd_jinja_add(r, &d->key, key);
        hd_jinja_add(r, &d->value, v);
    }
}

static hd_jinja_value string_of_json(hd_jinja_run *r, const char *text, size_t size, char mark)
{
    char *at = hd_jinja_take(r, size + 1, mark ? 2 : 1);
    if (!at) return HD_JINJA_UNDEFINED;
    memcpy(at, text, size);
    if (mark) memset(at + size, mark, size);
    return (hd_jinja_value){.kind = HD_IS_STRING, .string = {at, mark ? at + size : NULL, size}};
}

/* Names of members are the input's, too: those of a tool's parameters are printed. A role is no answer. */
static hd_jinja_value dict_of_json(hd_jinja_run *r, const json_t *j, char mark)
{
    const char *key, *role = json_string_value(json_object_get(j, "role"));
    json_t *item;
    hd_jinja_value v = hd_jinja_new_dict(r, HD_IS_DICT);
    char own = role && !strcmp(role, "assistant") && mark ? HD_MARK_ANSWER : mark;
    json_object_foreach((json_t *)j, key, item)
    {
        hd_jinja_value name = string_of_json(r, key, strlen(key), mark);
        hd_jinja_value value = hd_jinja_of_json(r, item, strcmp(key, "role") ? own : mark);
        if (hd_jinja_failed(r)) break;
        hd_jinja_add(r, &v.dict->key, name);
        hd_jinja_add(r, &v.dict->value, value);
    }
    return v;
}

hd_jinja_value hd_jinja_of_json(hd_jinja_run *r, const json_t *j, char mark)
{
    hd_jinja_value v = HD_JINJA_NONE;
    if (hd_jinja_enter(r)) switch (json_typeof(j)) {
        case JSON_OBJECT:
            v = dict_of_json(r, j, mark);
            break;
        case JSON_ARRAY:
            v = hd_jinja_new_list(r, HD_IS_LIST);
            for (size_t i = 0; !hd_jinja_failed(r) && i < json_array_size(j); i++)
                hd_jinja_add(r, v.list, hd_jinja_of_json(r, json_array_get(j, i), mark));
            break;
        case JSON_STRING:
            v = string_of_json(r, json_string_value(j), json_string_length(j), mark);
            break;
        case JSON_INTEGER:
            v = hd_jinja_int(json_integer_value(j));
            break;
        case JSON_REAL:
            v = hd_jinja_real(json_real_value(j));
            break;
        case JSON_TRUE:
            v = hd_jinja_bool(true);
            break;
        case JSON_FALSE:
            v = hd_jinja_bool(false);
            break;
        case JSON_NULL:
            break;
        }
    hd_jinja_leave(r);
    return v;
}

const hd_jinja_value *hd_jinja_argument(const hd_jinja_arguments *a, size_t place, const char *name)
{
    if (place < a->given.count) return &a->given.at[place];
    return name ? hd_jinja_get_name(&a->named, name, strlen(name)) : NULL;
}

hd_jinja_string hd_jinja_text_argument(hd_jinja_run *r, const hd_jinja_arguments *a, size_t place,
                                       const char *name, const char *otherwise)
{
    const hd_jinja_value *v = hd_jinja_argument(a, place, name);
    if (v && v->kind == HD_IS_STRING) return v->string;
    if (v || !otherwise) hd_jinja_fail(r, "the argument '%s' must be a string", name);
    return hd_jinja_literal(otherwise ? otherwise : "").string;
}

int64_t hd_jinja_int_argument(hd_jinja_run *r, const hd_jinja_arguments *a, size_t place, const char *name,
                              int64_t otherwise)
{
    const hd_jinja_value *v = hd_jinja_argument(a, place, name);
    int64_t n = otherwise;
    if (v && v->kind != HD_IS_NONE && !hd_jinja_whole(*v, &n))
        hd_jinja_fail(r, "the argument '%s' must be a whole number", name);
    return n;
}
