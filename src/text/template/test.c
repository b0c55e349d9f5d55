/* Tests: x is name(arguments). */
#include "text/template/value.h"

#include <string.h>

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
