/* What values are beside one another: true, equal, ordered, one in another; and tests (x is name), which ask
   that. As in Python, 1, 1.0 and true are equal, and a list is no tuple. */
#include <math.h>
#include <string.h>

#include "text/character.h"
#include "text/template/value.h"

const char *hd_jinja_kind_name(hd_jinja_value v)
{
    static const char *const name[] = {"undefined value", "none", "boolean", "integer",  "float",
                                       "string",          "list", "tuple",   "iterator", "dict",
                                       "namespace",       "loop", "macro",   "function", "method"};
    return name[v.kind];
}

bool hd_jinja_is_list(hd_jinja_value v)
{
    return v.kind == HD_IS_LIST || v.kind == HD_IS_TUPLE || v.kind == HD_IS_ITERATOR;
}

bool hd_jinja_is_text(hd_jinja_value v, const char *text)
{
    return v.kind == HD_IS_STRING && v.string.size == strlen(text) &&
           !memcmp(v.string.at, text, v.string.size);
}

bool hd_jinja_truth(hd_jinja_value v)
{
    switch (v.kind) {
    case HD_IS_UNDEFINED:
    case HD_IS_NONE:
        return false;
    case HD_IS_BOOL:
        return v.truth;
    case HD_IS_INT:
        return v.whole;
    case HD_IS_REAL:
        return v.real < 0 || v.real > 0 || isnan(v.real);
    case HD_IS_STRING:
        return v.string.size;
    case HD_IS_LIST:
    case HD_IS_TUPLE:
        return v.list->count;
    case HD_IS_DICT:
        return v.dict->key.count;
    default:
        return true;
    }
}

bool hd_jinja_whole(hd_jinja_value v, int64_t *n)
{
    if (v.kind == HD_IS_BOOL)
        *n = v.truth;
    else if (v.kind == HD_IS_INT)
        *n = v.whole;
    else
        return false;
    return true;
}

bool hd_jinja_number(hd_jinja_value v, double *x)
{
    int64_t n;
    if (v.kind == HD_IS_REAL)
        *x = v.real;
    else if (hd_jinja_whole(v, &n))
        *x = (double)n;
    else
        return false;
    return true;
}

static bool equal_lists(hd_jinja_run *r, const hd_jinja_list *a, const hd_jinja_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) same = hd_jinja_equal(r, a->at[i], b->at[i]);
    return same;
}

static bool equal_dicts(hd_jinja_run *r, const hd_jinja_dict *a, const hd_jinja_dict *b)
{
    bool same = a->key.count == b->key.count;
    for (size_t i = 0; same && i < a->key.count; i++) {
        const hd_jinja_value *other = hd_jinja_get(r, b, a->key.at[i]);
        same = other && hd_jinja_equal(r, a->value.at[i], *other);
    }
    return same;
}

static bool equal_within(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b)
{
    double x, y;
    int64_t m, n;
    if (hd_jinja_whole(a, &m) && hd_jinja_whole(b, &n)) return m == n;
    if (hd_jinja_number(a, &x) && hd_jinja_number(b, &y)) return !(x < y || x > y || isnan(x) || isnan(y));
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case HD_IS_UNDEFINED:
    case HD_IS_NONE:
        return true;
    case HD_IS_STRING:
        hd_jinja_charge(r, a.string.size / 64);
        return a.string.size == b.string.size && !memcmp(a.string.at, b.string.at, a.string.size);
    case HD_IS_LIST:
    case HD_IS_TUPLE:
        return equal_lists(r, a.list, b.list);
    case HD_IS_DICT:
        return equal_dicts(r, a.dict, b.dict);
    default:
        return a.list == b.list; /* the same pointer, of whatever kind */
    }
}

bool hd_jinja_equal(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b)
{
    bool same = hd_jinja_enter(r) && equal_within(r, a, b);
    hd_jinja_leave(r);
    return same && !hd_jinja_failed(r);
}

static int order_within(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b)
{
    double x, y;
    int64_t m, n;
    if (hd_jinja_whole(a, &m) && hd_jinja_whole(b, &n)) return (m > n) - (m < n);
    if (hd_jinja_number(a, &x) && hd_jinja_number(b, &y)) return (x > y) - (x < y);
    if (a.kind == HD_IS_STRING && b.kind == HD_IS_STRING) {
        size_t size = a.string.size < b.string.size ? a.string.size : b.string.size;
        int way = memcmp(a.string.at, b.string.at, size);
        return way ? way : (a.string.size > b.string.size) - (a.string.size < b.string.size);
    }
    if (a.kind == b.kind && (a.kind == HD_IS_LIST || a.kind == HD_IS_TUPLE)) {
        for (size_t i = 0; i < a.list->count && i < b.list->count && !hd_jinja_failed(r); i++)
            if (!hd_jinja_equal(r, a.list->at[i], b.list->at[i]))
                return hd_jinja_order(r, a.list->at[i], b.list->at[i]);
        return (a.list->count > b.list->count) - (a.list->count < b.list->count);
    }
    hd_jinja_fail(r, "a %s and a %s cannot be ordered", hd_jinja_kind_name(a), hd_jinja_kind_name(b));
    return 0;
}

int hd_jinja_order(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b)
{
    int way = hd_jinja_enter(r) ? order_within(r, a, b) : 0;
    hd_jinja_leave(r);
    return way;
}

bool hd_jinja_contains(hd_jinja_run *r, hd_jinja_value in, hd_jinja_value what)
{
    if (in.kind == HD_IS_STRING) {
        if (what.kind != HD_IS_STRING) {
            hd_jinja_fail(r, "a string contains strings alone, not a %s", hd_jinja_kind_name(what));
            return false;
        }
        hd_jinja_charge(r, in.string.size / 64);
        return memmem(in.string.at, in.string.size, what.string.at, what.string.size);
    }
    if (in.kind == HD_IS_DICT) return hd_jinja_get(r, in.dict, what);
    const hd_jinja_list *l = hd_jinja_items(r, in);
    for (size_t i = 0; l && i < l->count && !hd_jinja_failed(r); i++)
        if (hd_jinja_equal(r, l->at[i], what)) return true;
    return false;
}

const hd_jinja_list *hd_jinja_items(hd_jinja_run *r, hd_jinja_value v)
{
    static const hd_jinja_list nothing;
    if (hd_jinja_failed(r)) return NULL;
    if (hd_jinja_is_list(v)) return v.list;
    if (v.kind == HD_IS_DICT) return &v.dict->key;
    if (v.kind == HD_IS_UNDEFINED) return &nothing;
    if (v.kind != HD_IS_STRING) {
        hd_jinja_fail(r, "a %s has no items to go through", hd_jinja_kind_name(v));
        return NULL;
    }
    hd_jinja_value all = hd_jinja_new_list(r, HD_IS_LIST);
    for (size_t i = 0, n; i < v.string.size && !hd_jinja_failed(r); i += n) {
        int32_t point;
        n = hd_character(v.string.at + i, v.string.size - i, &point);
        hd_jinja_add(r, all.list, hd_jinja_part(v.string, i, i + n));
    }
    return hd_jinja_failed(r) ? NULL : all.list;
}

/* -- tests: x is name(arguments) -- */

#define TEST(name, condition)                                                                      \
    static hd_jinja_value t_##name(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_arguments *a) \
    {                                                                                              \
        (void)r, (void)a;                                                                          \
        return hd_jinja_bool(condition);                                                           \
    }

static hd_jinja_value other(hd_jinja_run *r, const hd_jinja_arguments *a)
{
    const hd_jinja_value *v = hd_jinja_argument(a, 0, NULL);
    return v ? *v : hd_jinja_fail(r, "a test needs an argument");
}

static bool divisible(hd_jinja_run *r, hd_jinja_value v, hd_jinja_value by, int64_t rest)
{
    hd_jinja_value left = hd_jinja_binary(r, '%', v, by);
    return hd_jinja_equal(r, left, hd_jinja_int(rest));
}

static bool in_one_case(hd_jinja_run *r, hd_jinja_value v, const char *how)
{
    static const hd_jinja_arguments none;
    hd_jinja_string s = hd_jinja_text_of(r, v);
    hd_jinja_value same = hd_jinja_part(s, 0, s.size), swapped;
    if (hd_jinja_failed(r)) return false;
    swapped = hd_jinja_method_of(same, how, 5)->call(r, same, &none);
    hd_jinja_value lower = hd_jinja_method_of(same, "lower", 5)->call(r, same, &none);
    hd_jinja_value upper = hd_jinja_method_of(same, "upper", 5)->call(r, same, &none);
    return hd_jinja_equal(r, same, swapped) && !hd_jinja_equal(r, lower, upper); /* it has letters */
}

#define TEST_LIST(X)                                                                           \
    X(defined, v.kind != HD_IS_UNDEFINED)                                                      \
    X(undefined, v.kind == HD_IS_UNDEFINED)                                                    \
    X(string, v.kind == HD_IS_STRING)                                                          \
    X(none, v.kind == HD_IS_NONE)                                                              \
    X(mapping, v.kind == HD_IS_DICT)                                                           \
    X(iterable, v.kind == HD_IS_UNDEFINED || (v.kind >= HD_IS_STRING && v.kind <= HD_IS_DICT)) \
    X(sequence, v.kind == HD_IS_UNDEFINED || v.kind == HD_IS_STRING || v.kind == HD_IS_LIST || \
                    v.kind == HD_IS_TUPLE || v.kind == HD_IS_DICT)                             \
    X(boolean, v.kind == HD_IS_BOOL)                                                           \
    X(yes, v.kind == HD_IS_BOOL && v.truth)                                                    \
    X(no, v.kind == HD_IS_BOOL && !v.truth)                                                    \
    X(integer, v.kind == HD_IS_INT)                                                            \
    X(float, v.kind == HD_IS_REAL)                                                             \
    X(number, v.kind == HD_IS_INT || v.kind == HD_IS_REAL || v.kind == HD_IS_BOOL)             \
    X(callable, v.kind >= HD_IS_MACRO)                                                         \
    X(odd, divisible(r, v, hd_jinja_int(2), 1))                                                \
    X(even, divisible(r, v, hd_jinja_int(2), 0))                                               \
    X(divisibleby, divisible(r, v, other(r, a), 0))                                            \
    X(lower, in_one_case(r, v, "lower"))                                                       \
    X(upper, in_one_case(r, v, "upper"))                                                       \
    X(in, hd_jinja_contains(r, other(r, a), v))                                                \
    X(eq, hd_jinja_equal(r, v, other(r, a)))                                                   \
    X(ne, !hd_jinja_equal(r, v, other(r, a)))                                                  \
    X(lt, hd_jinja_compare(r, '<', v, other(r, a)))                                            \
    X(le, hd_jinja_compare(r, HD_SIGN2('<', '='), v, other(r, a)))                             \
    X(gt, hd_jinja_compare(r, '>', v, other(r, a)))                                            \
    X(ge, hd_jinja_compare(r, HD_SIGN2('>', '='), v, other(r, a)))

#define X(name, condition) TEST(name, condition)
TEST_LIST(X)
#undef X

bool hd_jinja_test(hd_jinja_run *r, const char *name, size_t size, hd_jinja_value v,
                   const hd_jinja_arguments *a)
{
    static const hd_jinja_method known[] = {
#define X(name, condition) {#name, t_##name},
        TEST_LIST(X)
#undef X
            {"true", t_yes},
        {"false", t_no},
        {"equalto", t_eq},
        {"==", t_eq},
        {"!=", t_ne},
        {"lessthan", t_lt},
        {"greaterthan", t_gt},
        {NULL, NULL}};
    const hd_jinja_method *m = hd_jinja_find(known, name, size);
    if (!m) hd_jinja_fail(r, "the test '%.*s' is not supported", (int)(size % 64), name);
    return m && !hd_jinja_failed(r) && hd_jinja_truth(m->call(r, v, a));
}
