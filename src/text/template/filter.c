/* Filters: x | name(arguments). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/template/value.h"

#define FILTER(name) \
    static hd_jinja_value f_##name(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a)

/* -- texts -- */

FILTER(string)
{
    (void)a;
    hd_jinja_string s = hd_jinja_text_of(r, v);
    return hd_jinja_part(s, 0, s.size);
}

/* A method of strings, of the value as a string. */
static hd_jinja_value by_method(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a,
                                const char *name)
{
    hd_jinja_value s = f_string(r, v, a);
    return hd_jinja_failed(r) ? s : hd_jinja_method_of(s, name, strlen(name))->call(r, s, a);
}

FILTER(trim)
{
    return by_method(r, v, a, "strip");
}

FILTER(lower)
{
    return by_method(r, v, a, "lower");
}

FILTER(upper)
{
    return by_method(r, v, a, "upper");
}

FILTER(capitalize)
{
    return by_method(r, v, a, "capitalize");
}

FILTER(replace)
{
    hd_jinja_arguments texts = {.named = a->named}; /* what is replaced may be a number */
    for (size_t i = 0; i < a->given.count && !hd_jinja_failed(r); i++)
        hd_jinja_add(r, &texts.given, i < 2 ? f_string(r, a->given.at[i], a) : a->given.at[i]);
    return hd_jinja_failed(r) ? v : by_method(r, v, &texts, "replace");
}

FILTER(safe)
{
    (void)a;
    hd_jinja_string s = hd_jinja_text_of(r, v);
    return hd_jinja_part(s, 0, s.size);
}

FILTER(indent)
{
    hd_jinja_string s = hd_jinja_text_of(r, v);
    int64_t width = hd_jinja_int_argument(r, a, 0, "width", 4);
    const hd_jinja_value *first = hd_jinja_argument(a, 1, "first"), *blank = hd_jinja_argument(a, 2, "blank");
    hd_marked m = {0};
    bool begins = first && hd_jinja_truth(*first);
    for (size_t at = 0; at < s.size && hd_jinja_charge(r, 1); begins = true) {
        const char *hit = memchr(s.at + at, '\n', s.size - at);
        size_t end = hit ? (size_t)(hit - s.at) : s.size;
        for (int64_t i = 0;
             begins && (end > at || (blank && hd_jinja_truth(*blank))) && i < width && hd_jinja_charge(r, 1);
             i++)
            hd_marked_add(&m, " ", NULL, 1);
        hd_jinja_print(r, &m, hd_jinja_part(s, at, hit ? end + 1 : end), false);
        at = hit ? end + 1 : end;
    }
    return hd_jinja_taken(r, &m);
}

/* The member "a.b.0" of a value. */
static hd_jinja_value path(hd_jinja_run *r, hd_jinja_value v, hd_jinja_value name)
{
    if (name.kind != HD_IS_STRING) return hd_jinja_item(r, v, name);
    hd_jinja_string s = name.string;
    for (size_t at = 0; at <= s.size && !hd_jinja_failed(r);) {
        const char *dot = memchr(s.at + at, '.', s.size - at);
        size_t end = dot ? (size_t)(dot - s.at) : s.size;
        bool whole = end > at && end - at < 10;
        int64_t n = 0;
        for (size_t i = at; i < end && whole; i++) {
            whole = s.at[i] >= '0' && s.at[i] <= '9';
            n = n * 10 + (s.at[i] - '0');
        }
        v = hd_jinja_item(r, v, whole ? hd_jinja_int(n) : hd_jinja_part(s, at, end));
        at = end + 1;
    }
    return v;
}

FILTER(join)
{
    const hd_jinja_value *d = hd_jinja_argument(a, 0, "d");
    hd_jinja_string between = d ? hd_jinja_text_of(r, *d) : hd_jinja_literal("").string;
    const hd_jinja_value *attribute = hd_jinja_argument(a, 1, "attribute");
    const hd_jinja_list *l = hd_jinja_items(r, v);
    hd_marked m = {0};
    for (size_t i = 0; l && i < l->count && !hd_jinja_failed(r); i++) {
        if (i) hd_jinja_print(r, &m, hd_jinja_part(between, 0, between.size), false);
        hd_jinja_print(r, &m, attribute ? path(r, l->at[i], *attribute) : l->at[i], false);
    }
    return hd_jinja_taken(r, &m);
}

/* -- numbers -- */

FILTER(length)
{
    (void)a;
    if (v.kind == HD_IS_STRING) return hd_jinja_int((int64_t)hd_jinja_points(v.string));
    if (v.kind != HD_IS_ITERATOR && v.kind < HD_IS_NAMESPACE) {
        const hd_jinja_list *l = hd_jinja_items(r, v);
        return l ? hd_jinja_int((int64_t)l->count) : HD_JINJA_UNDEFINED;
    }
    return hd_jinja_fail(r, "a %s has no length", hd_jinja_kind_name(v));
}

FILTER(int)
{
    double x;
    int64_t n, otherwise = hd_jinja_int_argument(r, a, 0, "default", 0);
    if (hd_jinja_whole(v, &n)) return hd_jinja_int(n);
    if (v.kind == HD_IS_STRING) {
        hd_jinja_string s = hd_jinja_stripped(v.string, true, true, NULL);
        size_t sign = s.size && (*s.at == '+' || *s.at == '-');
        v = hd_jinja_real(NAN);
        if (hd_real_of(s.at + sign, s.size - sign, &x)) v.real = sign && *s.at == '-' ? -x : x;
    }
    if (!hd_jinja_number(v, &x) || !(x > -9e18 && x < 9e18)) return hd_jinja_int(otherwise);
    return hd_jinja_int((int64_t)x);
}

FILTER(float)
{
    double x = 0;
    const hd_jinja_value *otherwise = hd_jinja_argument(a, 0, "default");
    if (v.kind == HD_IS_STRING) {
        hd_jinja_string s = hd_jinja_stripped(v.string, true, true, NULL);
        if (hd_real_of(s.at, s.size, &x)) return hd_jinja_real(x);
    } else if (hd_jinja_number(v, &x))
        return hd_jinja_real(x);
    return otherwise && hd_jinja_number(*otherwise, &x) ? hd_jinja_real(x) : hd_jinja_real(0);
    (void)r;
}

FILTER(abs)
{
    (void)a;
    if (v.kind == HD_IS_REAL) return hd_jinja_real(fabs(v.real));
    int64_t n;
    if (!hd_jinja_whole(v, &n)) return hd_jinja_fail(r, "abs of a %s", hd_jinja_kind_name(v));
    return n < 0 ? hd_jinja_binary(r, '-', hd_jinja_int(0), v) : hd_jinja_int(n);
}

/* -- lists -- */

FILTER(default)
{
    const hd_jinja_value *otherwise = hd_jinja_argument(a, 0, "default_value"),
                         *falsy = hd_jinja_argument(a, 1, "boolean");
    (void)r;
    if (v.kind != HD_IS_UNDEFINED && !(falsy && hd_jinja_truth(*falsy) && !hd_jinja_truth(v))) return v;
    return otherwise ? *otherwise : hd_jinja_literal("");
}

static hd_jinja_value as_list(hd_jinja_run *r, hd_jinja_value v, hd_jinja_kind kind)
{
    const hd_jinja_list *l = hd_jinja_items(r, v);
    hd_jinja_value all = hd_jinja_new_list(r, kind);
    for (size_t i = 0; l && i < l->count && !hd_jinja_failed(r); i++) hd_jinja_add(r, all.list, l->at[i]);
    return all;
}

FILTER(list)
{
    (void)a;
    return as_list(r, v, HD_IS_LIST);
}

FILTER(items)
{
    if (v.kind == HD_IS_UNDEFINED) return hd_jinja_new_list(r, HD_IS_ITERATOR);
    if (v.kind != HD_IS_DICT) return hd_jinja_fail(r, "items of a %s", hd_jinja_kind_name(v));
    v = hd_jinja_method_of(v, "items", 5)->call(r, v, a);
    if (!hd_jinja_failed(r)) v.kind = HD_IS_ITERATOR;
    return v;
}

static hd_jinja_value end_item(hd_jinja_run *r, hd_jinja_value v, bool last)
{
    const hd_jinja_list *l = hd_jinja_items(r, v);
    return l && l->count ? l->at[last ? l->count - 1 : 0] : HD_JINJA_UNDEFINED;
}

FILTER(first)
{
    (void)a;
    return end_item(r, v, false);
}

FILTER(last)
{
    (void)a;
    return end_item(r, v, true);
}

FILTER(reverse)
{
    const hd_jinja_value back[3] = {HD_JINJA_NONE, HD_JINJA_NONE, hd_jinja_int(-1)};
    (void)a;
    if (v.kind != HD_IS_STRING) v = as_list(r, v, HD_IS_LIST);
    v = hd_jinja_slice(r, v, back);
    if (v.kind == HD_IS_LIST) v.kind = HD_IS_ITERATOR;
    return v;
}

/* What a value is sorted by. */
static hd_jinja_value sort_key(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_value *attribute, bool cased)
{
    static const hd_jinja_arguments none;
    if (attribute && attribute->kind != HD_IS_NONE) v = path(r, v, *attribute);
    return v.kind == HD_IS_STRING && !cased ? f_lower(r, v, &none) : v;
}

static hd_jinja_value sorted(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_value *attribute, bool cased,
                             bool back)
{
    const hd_jinja_list *l = hd_jinja_items(r, v);
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST), keys = hd_jinja_new_list(r, HD_IS_LIST);
    for (size_t i = 0; l && i < l->count && !hd_jinja_failed(r); i++) {
        hd_jinja_value key = sort_key(r, l->at[i], attribute, cased);
        size_t at = i;
        hd_jinja_add(r, all.list, l->at[i]);
        hd_jinja_add(r, keys.list, key);
        if (hd_jinja_failed(r)) break;
        for (int way; at; at--) {
            way = hd_jinja_order(r, keys.list->at[at - 1], key);
            if (back ? way >= 0 : way <= 0) break;
            keys.list->at[at] = keys.list->at[at - 1];
            all.list->at[at] = all.list->at[at - 1];
        }
        keys.list->at[at] = key, all.list->at[at] = l->at[i];
    }
    return all;
}

static bool flag(const hd_jinja_arguments *a, size_t place, const char *name)
{
    const hd_jinja_value *v = hd_jinja_argument(a, place, name);
    return v && hd_jinja_truth(*v);
}

FILTER(sort)
{
    return sorted(r, v, hd_jinja_argument(a, 2, "attribute"), flag(a, 1, "case_sensitive"),
                  flag(a, 0, "reverse"));
}

FILTER(dictsort)
{
    const hd_jinja_value *by = hd_jinja_argument(a, 1, "by");
    hd_jinja_value place = hd_jinja_int(by && hd_jinja_is_text(*by, "value"));
    v = f_items(r, v, &(hd_jinja_arguments){0});
    return sorted(r, v, &place, flag(a, 0, "case_sensitive"), flag(a, 2, "reverse"));
}

FILTER(unique)
{
    const hd_jinja_list *l = hd_jinja_items(r, v);
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_ITERATOR), keys = hd_jinja_new_list(r, HD_IS_LIST);
    for (size_t i = 0; l && i < l->count && !hd_jinja_failed(r); i++) {
        hd_jinja_value key =
            sort_key(r, l->at[i], hd_jinja_argument(a, 1, "attribute"), flag(a, 0, "case_sensitive"));
        if (hd_jinja_failed(r) || hd_jinja_contains(r, keys, key)) continue;
        hd_jinja_add(r, keys.list, key);
        hd_jinja_add(r, all.list, l->at[i]);
    }
    return all;
}

/* Arguments from number `from` on. */
static hd_jinja_arguments rest(const hd_jinja_arguments *a, size_t from)
{
    hd_jinja_arguments b = *a;
    if (from > a->given.count) from = a->given.count;
    if (from) b.given.at += from;
    b.given.count -= from;
    return b;
}

/* Items, or those of their members, that pass a test, or that do not. */
static hd_jinja_value selected(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a, bool member,
                               bool wanted)
{
    const hd_jinja_value *name = hd_jinja_argument(a, member, NULL),
                         *what = member ? hd_jinja_argument(a, 0, NULL) : NULL;
    const hd_jinja_list *l = hd_jinja_items(r, v);
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_ITERATOR);
    hd_jinja_arguments more = rest(a, member + 1u);
    if (member && !what) return hd_jinja_fail(r, "the name of a member is missing");
    if (name && name->kind != HD_IS_STRING) return hd_jinja_fail(r, "the name of a test must be a string");
    for (size_t i = 0; l && i < l->count && hd_jinja_charge(r, 1); i++) {
        hd_jinja_value x = what ? path(r, l->at[i], *what) : l->at[i];
        bool is = name ? hd_jinja_test(r, name->string.at, name->string.size, x, &more) : hd_jinja_truth(x);
        if (is == wanted) hd_jinja_add(r, all.list, l->at[i]);
    }
    return all;
}

FILTER(select)
{
    return selected(r, v, a, false, true);
}

FILTER(reject)
{
    return selected(r, v, a, false, false);
}

FILTER(selectattr)
{
    return selected(r, v, a, true, true);
}

FILTER(rejectattr)
{
    return selected(r, v, a, true, false);
}

FILTER(map)
{
    const hd_jinja_value *name = hd_jinja_argument(a, 0, NULL),
                         *member = hd_jinja_argument(a, SIZE_MAX, "attribute");
    const hd_jinja_value *otherwise = hd_jinja_argument(a, SIZE_MAX, "default");
    const hd_jinja_list *l = hd_jinja_items(r, v);
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_ITERATOR);
    hd_jinja_arguments more = rest(a, 1);
    if (!member && (!name || name->kind != HD_IS_STRING))
        return hd_jinja_fail(r, "map takes the name of a filter, or attribute=");
    for (size_t i = 0; l && i < l->count && hd_jinja_charge(r, 1); i++) {
        hd_jinja_value x = member ? path(r, l->at[i], *member)
                                  : hd_jinja_filter(r, name->string.at, name->string.size, l->at[i], &more);
        hd_jinja_add(r, all.list, x.kind == HD_IS_UNDEFINED && otherwise ? *otherwise : x);
    }
    return all;
}

/* clang-format off */
#define FILTER_LIST(X)                                                                                 \
    X(string) X(trim) X(lower) X(upper) X(capitalize) X(replace) X(safe) X(indent) X(join) X(length)   \
    X(int) X(float) X(abs) X(default) X(list) X(items) X(first) X(last) X(reverse) X(sort) X(dictsort) \
    X(unique) X(select) X(reject) X(selectattr) X(rejectattr) X(map)
/* clang-format on */

hd_jinja_value hd_jinja_filter(hd_jinja_run *r, const char *name, size_t size, hd_jinja_value v,
                               const hd_jinja_arguments *a)
{
    static const hd_jinja_method known[] = {
#define X(name) {#name, f_##name},
        FILTER_LIST(X)
#undef X
            {"tojson", hd_jinja_tojson},
        {"count", f_length},
        {"d", f_default},
        {NULL, NULL}};
    const hd_jinja_method *m = hd_jinja_find(known, name, size);
    if (!m) return hd_jinja_fail(r, "the filter '%.*s' is not supported", (int)(size % 64), name);
    v = hd_jinja_enter(r) ? m->call(r, v, a) : HD_JINJA_UNDEFINED;
    hd_jinja_leave(r);
    return v;
}
