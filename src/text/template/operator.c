/* Operators, members, items and slices. Whole numbers have 64 bits: what does not fit is an error. */
#include <math.h>
#include <string.h>

#include "text/template/value.h"

static hd_jinja_value unfit(hd_jinja_run *r, int op, hd_jinja_value a, hd_jinja_value b)
{
    char sign[3] = {(char)op, (char)(op >> 8), 0};
    if (a.kind == HD_IS_UNDEFINED || b.kind == HD_IS_UNDEFINED) {
        hd_jinja_string name = a.kind == HD_IS_UNDEFINED ? a.string : b.string;
        return hd_jinja_fail(r, "'%s' of a value that is not defined: '%.*s'", sign, (int)(name.size % 64),
                             name.at ? name.at : "");
    }
    return hd_jinja_fail(r, "'%s' of a %s and a %s", sign, hd_jinja_kind_name(a), hd_jinja_kind_name(b));
}

static int64_t floor_divided(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static hd_jinja_value whole_power(hd_jinja_run *r, int64_t a, int64_t b)
{
    int64_t p = 1;
    for (; b > 0; b--) {
        if (__builtin_mul_overflow(p, a, &p)) return hd_jinja_fail(r, "a number gets too large");
        if (p == 0 || p == 1) break;
        if (p == -1) return hd_jinja_int(b % 2 ? -1 : 1);
    }
    return hd_jinja_int(p);
}

static hd_jinja_value of_wholes(hd_jinja_run *r, int op, int64_t a, int64_t b)
{
    int64_t c = 0;
    bool over = false;
    switch (op) {
    case '+':
        over = __builtin_add_overflow(a, b, &c);
        break;
    case '-':
        over = __builtin_sub_overflow(a, b, &c);
        break;
    case '*':
        over = __builtin_mul_overflow(a, b, &c);
        break;
    case HD_SIGN2('*', '*'):
        return b < 0 ? hd_jinja_real(pow((double)a, (double)b)) : whole_power(r, a, b);
    default:
        if (!b) return hd_jinja_fail(r, "a division by zero");
        if (op == '/') return hd_jinja_real((double)a / (double)b);
        if (b == -1) return op == '%' ? hd_jinja_int(0) : of_wholes(r, '-', 0, a);
        c = floor_divided(a, b);
        if (op == '%') c = a - c * b;
    }
    return over ? hd_jinja_fail(r, "a number gets too large") : hd_jinja_int(c);
}

static hd_jinja_value of_reals(hd_jinja_run *r, int op, double a, double b)
{
    switch (op) {
    case '+':
        return hd_jinja_real(a + b);
    case '-':
        return hd_jinja_real(a - b);
    case '*':
        return hd_jinja_real(a * b);
    case HD_SIGN2('*', '*'):
        return hd_jinja_real(pow(a, b));
    default:
        break;
    }
    if (!(b < 0 || b > 0)) return hd_jinja_fail(r, "a division by zero");
    if (op == '/') return hd_jinja_real(a / b);
    if (op != '%') return hd_jinja_real(floor(a / b));
    double rest = fmod(a, b);
    if (!(rest < 0 || rest > 0)) return hd_jinja_real(copysign(rest, b));
    return hd_jinja_real((rest < 0) != (b < 0) ? rest + b : rest);
}

static hd_jinja_value joined(hd_jinja_run *r, hd_jinja_value a, hd_jinja_value b)
{
    if (a.kind == HD_IS_STRING) {
        if (!a.string.size || !b.string.size) return a.string.size ? a : b;
        hd_marked m = {0};
        hd_jinja_print(r, &m, a, false);
        hd_jinja_print(r, &m, b, false);
        return hd_jinja_taken(r, &m);
    }
    hd_jinja_value v = hd_jinja_new_list(r, a.kind);
    for (size_t i = 0; i < a.list->count && !hd_jinja_failed(r); i++) hd_jinja_add(r, v.list, a.list->at[i]);
    for (size_t i = 0; i < b.list->count && !hd_jinja_failed(r); i++) hd_jinja_add(r, v.list, b.list->at[i]);
    return v;
}

static hd_jinja_value repeated(hd_jinja_run *r, hd_jinja_value v, int64_t times)
{
    hd_marked m = {0};
    bool text = v.kind == HD_IS_STRING;
    hd_jinja_value all = text ? v : hd_jinja_new_list(r, v.kind);
    for (int64_t t = 0; t < times && (text ? v.string.size : v.list->count) && hd_jinja_charge(r, 1); t++) {
        if (text)
            hd_jinja_print(r, &m, v, false);
        else
            for (size_t i = 0; i < v.list->count && !hd_jinja_failed(r); i++)
                hd_jinja_add(r, all.list, v.list->at[i]);
    }
    return text ? hd_jinja_taken(r, &m) : all;
}

hd_jinja_value hd_jinja_binary(hd_jinja_run *r, int op, hd_jinja_value a, hd_jinja_value b)
{
    int64_t m, n;
    double x, y;
    if (hd_jinja_failed(r)) return HD_JINJA_UNDEFINED;
    if (hd_jinja_whole(a, &m) && hd_jinja_whole(b, &n)) return of_wholes(r, op, m, n);
    if (hd_jinja_number(a, &x) && hd_jinja_number(b, &y)) return of_reals(r, op, x, y);
    bool rows = a.kind == HD_IS_STRING || a.kind == HD_IS_LIST || a.kind == HD_IS_TUPLE;
    if (op == '+' && a.kind == b.kind && rows) return joined(r, a, b);
    if (op == '*' && rows && hd_jinja_whole(b, &n)) return repeated(r, a, n);
    if (op == '*' && (b.kind == HD_IS_STRING || b.kind == HD_IS_LIST || b.kind == HD_IS_TUPLE) &&
        hd_jinja_whole(a, &n))
        return repeated(r, b, n);
    return unfit(r, op, a, b);
}

bool hd_jinja_compare(hd_jinja_run *r, int op, hd_jinja_value a, hd_jinja_value b)
{
    if (op == 'i' || op == 'n') return hd_jinja_contains(r, b, a) == (op == 'i');
    if (op == HD_SIGN2('=', '=')) return hd_jinja_equal(r, a, b);
    if (op == HD_SIGN2('!', '=')) return !hd_jinja_equal(r, a, b);
    if ((a.kind == HD_IS_REAL && isnan(a.real)) || (b.kind == HD_IS_REAL && isnan(b.real))) return false;
    int way = hd_jinja_order(r, a, b);
    if (op == '<') return way < 0;
    if (op == '>') return way > 0;
    return op == HD_SIGN2('<', '=') ? way <= 0 : way >= 0;
}

static hd_jinja_value undefined(hd_jinja_run *r, const char *name, size_t size)
{
    char *copy = hd_jinja_take(r, size + 1, 1);
    if (copy) memcpy(copy, name, size);
    return (hd_jinja_value){.kind = HD_IS_UNDEFINED, .string = {copy, NULL, copy ? size : 0}};
}

static hd_jinja_value bound(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_method *m)
{
    hd_jinja_bound *b = hd_jinja_take(r, 1, sizeof *b);
    if (b) *b = (hd_jinja_bound){v, m};
    return b ? (hd_jinja_value){.kind = HD_IS_METHOD, .method = b} : HD_JINJA_UNDEFINED;
}

static hd_jinja_value lookup(hd_jinja_run *r, hd_jinja_value v, const char *name, size_t size,
                             bool item_first)
{
    if (hd_jinja_failed(r)) return v;
    if (v.kind == HD_IS_UNDEFINED)
        return hd_jinja_fail(r, "'%.*s' of a value that is not defined: '%.*s'", (int)(size % 64), name,
                             (int)(v.string.size % 64), v.string.at ? v.string.at : "");
    if (v.kind == HD_IS_LOOP) return hd_jinja_loop_member(r, v.loop, name, size);
    if ((v.kind == HD_IS_DICT || v.kind == HD_IS_NAMESPACE) && !hd_jinja_charge(r, v.dict->key.count / 8))
        return HD_JINJA_UNDEFINED;
    const hd_jinja_value *item =
        v.kind == HD_IS_DICT || v.kind == HD_IS_NAMESPACE ? hd_jinja_get_name(v.dict, name, size) : NULL;
    const hd_jinja_method *m = hd_jinja_method_of(v, name, size);
    if (m && !(item && item_first)) return bound(r, v, m);
    return item ? *item : undefined(r, name, size);
}

hd_jinja_value hd_jinja_member(hd_jinja_run *r, hd_jinja_value v, const char *name, size_t size)
{
    return lookup(r, v, name, size, false);
}

hd_jinja_value hd_jinja_item(hd_jinja_run *r, hd_jinja_value v, hd_jinja_value index)
{
    int64_t n;
    if (index.kind == HD_IS_STRING) return lookup(r, v, index.string.at, index.string.size, true);
    if (v.kind == HD_IS_UNDEFINED) return lookup(r, v, "[]", 2, true);
    if (v.kind == HD_IS_DICT) {
        const hd_jinja_value *item = hd_jinja_get(r, v.dict, index);
        return item ? *item : undefined(r, "item", 4);
    }
    bool rows = v.kind == HD_IS_STRING || v.kind == HD_IS_LIST || v.kind == HD_IS_TUPLE;
    if (!rows || !hd_jinja_whole(index, &n)) return undefined(r, "item", 4);
    size_t count = v.kind == HD_IS_STRING ? hd_jinja_points(v.string) : v.list->count;
    hd_jinja_charge(r, v.kind == HD_IS_STRING ? v.string.size / 64 : 0);
    if (n < 0) n += (int64_t)count;
    if (n < 0 || (uint64_t)n >= count) return undefined(r, "item", 4);
    if (v.kind != HD_IS_STRING) return v.list->at[n];
    return hd_jinja_part(v.string, hd_jinja_byte_of(v.string, (size_t)n),
                         hd_jinja_byte_of(v.string, (size_t)n + 1));
}

static int64_t clipped(int64_t n, int64_t least, int64_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Python's rules for a slice of `count` items. False: the parts are no whole numbers, or it failed. */
static bool slice_bounds(hd_jinja_run *r, const hd_jinja_value part[3], int64_t count, int64_t at[3])
{
    at[2] = 1;
    for (int i = 0; i < 3; i++)
        if (part[i].kind != HD_IS_NONE && !hd_jinja_whole(part[i], &at[i])) return false;
    if (!at[2]) return hd_jinja_fail(r, "the step of a slice is 0"), false;
    bool back = at[2] < 0;
    at[2] = clipped(at[2], -count - 1, count + 1);
    for (int i = 0; i < 2; i++) {
        int64_t least = back ? -1 : 0, most = back ? count - 1 : count;
        if (part[i].kind == HD_IS_NONE)
            at[i] = (i == 0) == back ? most : least;
        else
            at[i] = clipped(at[i] < 0 ? clipped(at[i], -count - 1, 0) + count : at[i], least, most);
    }
    return true;
}

hd_jinja_value hd_jinja_slice(hd_jinja_run *r, hd_jinja_value v, const hd_jinja_value part[3])
{
    int64_t at[3] = {0};
    hd_jinja_value all;
    if (hd_jinja_failed(r) || v.kind == HD_IS_UNDEFINED)
        return hd_jinja_fail(r, "a slice of a value that is not defined: '%.*s'", (int)(v.string.size % 64),
                             v.string.at ? v.string.at : "");
    if (v.kind != HD_IS_STRING && v.kind != HD_IS_LIST && v.kind != HD_IS_TUPLE)
        return undefined(r, "slice", 5);
    bool text = v.kind == HD_IS_STRING;
    int64_t count = (int64_t)(text ? hd_jinja_points(v.string) : v.list->count);
    if (!slice_bounds(r, part, count, at)) return undefined(r, "slice", 5);
    if (text && at[2] == 1)
        return at[0] >= at[1] ? hd_jinja_literal("")
                              : hd_jinja_part(v.string, hd_jinja_byte_of(v.string, (size_t)at[0]),
                                              hd_jinja_byte_of(v.string, (size_t)at[1]));
    const hd_jinja_list *items = hd_jinja_items(r, v);
    hd_marked m = {0};
    all = hd_jinja_new_list(r, v.kind);
    for (int64_t i = at[0]; items && (at[2] > 0 ? i < at[1] : i > at[1]) && hd_jinja_charge(r, 1);
         i += at[2]) {
        if (text)
            hd_jinja_print(r, &m, items->at[i], false);
        else
            hd_jinja_add(r, all.list, items->at[i]);
    }
    return text ? hd_jinja_taken(r, &m) : all;
}
