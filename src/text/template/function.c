/* Functions that templates may call, and calls. */
#include <string.h>
#include <time.h>

#include "text/template/value.h"

enum { RANGE_MOST = 100000 };

#define FUNCTION(name) static hd_jinja_value call_##name(hd_jinja_run *r, const hd_jinja_arguments *a)

FUNCTION(raise_exception)
{
    const hd_jinja_value *v = hd_jinja_argument(a, 0, "message");
    hd_jinja_string s =
        v ? hd_jinja_text_of(r, *v) : hd_jinja_literal("the template raised an exception").string;
    return hd_jinja_fail(r, "%.*s", s.size < 300 ? (int)s.size : 300, s.at);
}

FUNCTION(strftime_now)
{
    hd_jinja_string s = hd_jinja_text_argument(r, a, 0, "format", NULL);
    char format[128], text[512];
    time_t now = r->limit.now ? (time_t)r->limit.now : time(NULL);
    struct tm when;
    hd_marked m = {0};
    if (s.size >= sizeof format || memchr(s.at, 0, s.size))
        return hd_jinja_fail(r, "the format of a time is too long");
    memcpy(format, s.at, s.size);
    format[s.size] = 0;
    localtime_r(&now, &when);
    size_t size = strftime(text, sizeof text, format, &when);
    hd_marked_add(&m, text, NULL, size);
    return hd_jinja_taken(r, &m);
}

FUNCTION(namespace)
{
    hd_jinja_value v = hd_jinja_new_dict(r, HD_IS_NAMESPACE);
    const hd_jinja_value *from = hd_jinja_argument(a, 0, NULL);
    if (from && from->kind == HD_IS_DICT)
        for (size_t i = 0; i < from->dict->value.count && !hd_jinja_failed(r); i++)
            hd_jinja_set(r, v.dict, from->dict->key.at[i], from->dict->value.at[i]);
    for (size_t i = 0; i < a->named.value.count && !hd_jinja_failed(r); i++)
        hd_jinja_set(r, v.dict, a->named.key.at[i], a->named.value.at[i]);
    return v;
}

FUNCTION(dict)
{
    hd_jinja_value v = call_namespace(r, a);
    if (v.kind == HD_IS_NAMESPACE) v.kind = HD_IS_DICT;
    return v;
}

FUNCTION(range)
{
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    size_t n = a->given.count;
    int64_t first = n > 1 ? hd_jinja_int_argument(r, a, 0, "start", 0) : 0;
    int64_t end = hd_jinja_int_argument(r, a, n > 1, "stop", 0),
            step = hd_jinja_int_argument(r, a, 2, "step", 1);
    if (!n || n > 3 || !step)
        return hd_jinja_fail(r, "range takes one to three whole numbers, and no step of 0");
    for (int64_t i = first; (step > 0 ? i < end : i > end) && !hd_jinja_failed(r);) {
        if (all.list->count == RANGE_MOST)
            return hd_jinja_fail(r, "a range of more than %d numbers", RANGE_MOST);
        hd_jinja_add(r, all.list, hd_jinja_int(i));
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    return all;
}

#define FUNCTION_LIST(X) X(raise_exception) X(strftime_now) X(namespace) X(dict) X(range)

const hd_jinja_function *hd_jinja_function_of(const char *name, size_t size)
{
    static const hd_jinja_function known[] = {
#define X(name) {#name, call_##name},
        FUNCTION_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == size && !memcmp(known[i].name, name, size)) return &known[i];
    return NULL;
}

hd_jinja_value hd_jinja_call(hd_jinja_run *r, hd_jinja_value f, const hd_jinja_arguments *a)
{
    hd_jinja_value v = HD_JINJA_UNDEFINED;
    if (hd_jinja_failed(r)) return v;
    if (f.kind == HD_IS_UNDEFINED)
        return hd_jinja_fail(r, "'%.*s' is not defined and cannot be called", (int)(f.string.size % 64),
                             f.string.at ? f.string.at : "");
    if (f.kind < HD_IS_MACRO) return hd_jinja_fail(r, "a %s cannot be called", hd_jinja_kind_name(f));
    if (!hd_jinja_enter(r))
        v = HD_JINJA_UNDEFINED;
    else if (f.kind == HD_IS_FUNCTION)
        v = f.function->call(r, a);
    else if (f.kind == HD_IS_METHOD)
        v = f.method->method->call(r, f.method->self, a);
    else
        v = hd_jinja_call_macro(r, f.macro, a);
    hd_jinja_leave(r);
    return v;
}
