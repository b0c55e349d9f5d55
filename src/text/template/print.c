/* Values as texts: str() and repr() as Python writes them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/character.h"
#include "text/template/value.h"

bool hd_jinja_is_space(int32_t point)
{
    return hd_is_space(point) || (point >= 0x1C && point <= 0x1F);
}

void hd_jinja_put_point(hd_text *to, int32_t point)
{
    char b[4];
    uint32_t p = (uint32_t)point;
    size_t n = p < 0x80 ? 1 : p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; p >>= 6) b[i] = (char)(0x80 | (p & 0x3F));
    b[0] = (char)(n == 1 ? p : (0xF00u >> n & 0xFFu) | p);
    hd_text_add(to, b, n);
}

size_t hd_jinja_points(hd_jinja_string s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.size; i++) n += (s.at[i] & 0xC0) != 0x80;
    return n;
}

size_t hd_jinja_byte_of(hd_jinja_string s, size_t point)
{
    size_t i = 0;
    for (; i < s.size; i++)
        if ((s.at[i] & 0xC0) != 0x80 && !point--) break;
    return i;
}

static bool strips(const char *at, size_t size, int32_t point, const hd_jinja_string *set)
{
    return set ? memmem(set->at, set->size, at, size) != NULL : hd_jinja_is_space(point);
}

hd_jinja_string hd_jinja_stripped(hd_jinja_string s, bool left, bool right, const hd_jinja_string *set)
{
    size_t from = 0, to = s.size;
    int32_t point;
    while (left && from < to) {
        size_t n = hd_character(s.at + from, to - from, &point);
        if (!strips(s.at + from, n, point, set)) break;
        from += n;
    }
    while (right && to > from) {
        size_t last = to - 1;
        while (last > from && (s.at[last] & 0xC0) == 0x80) last--;
        hd_character(s.at + last, to - last, &point);
        if (!strips(s.at + last, to - last, point, set)) break;
        to = last;
    }
    return hd_jinja_part(s, from, to).string;
}

static void put(hd_marked *to, const char *text)
{
    hd_marked_add(to, text, NULL, strlen(text));
}

/* The shortest digits that read as the same number. */
void hd_jinja_put_real(hd_marked *to, double x, bool json)
{
    char text[64], digits[96];
    if (isnan(x) || isinf(x)) {
        put(to, isnan(x) ? json ? "NaN" : "nan"
                : x < 0  ? json ? "-Infinity" : "-inf"
                : json   ? "Infinity"
                         : "inf");
        return;
    }
    int n = 1;
    for (double back = NAN; n <= 17; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, x);
        if (hd_real_of(text, strlen(text), &back) && !(back < x || back > x)) break;
    }
    char *e = strchr(text, 'e');
    int exponent = atoi(e + 1);
    if (exponent < -4 || exponent >= 16) {
        *e = 0;
        snprintf(digits, sizeof digits, "%se%c%02d", text, exponent < 0 ? '-' : '+', abs(exponent));
        put(to, digits);
        return;
    }
    int places = n - 1 - exponent;
    snprintf(digits, sizeof digits, "%.*f", places > 0 ? places : 1, x);
    put(to, digits);
}

void hd_jinja_put_int(hd_marked *to, int64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)n);
    put(to, text);
}

/* A string in quotes. What stands for a byte has its mark. */
static void put_quoted(hd_marked *to, hd_jinja_string s)
{
    bool single = memchr(s.at, '\'', s.size) && !memchr(s.at, '"', s.size);
    char quote = single ? '"' : '\'';
    hd_marked_fill(to, &quote, 1, HD_MARK_TEMPLATE);
    for (size_t i = 0, n; i < s.size; i += n) {
        int32_t point;
        char text[16] = "", c = s.at[i];
        n = hd_character(s.at + i, s.size - i, &point);
        if (c == '\n' || c == '\r' || c == '\t')
            snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c == '\\' || c == quote)
            snprintf(text, sizeof text, "\\%c", c);
        else if (point < 0x20 || point == 0x7F || (point > 0x7F && point < 0x100 && hd_is_control(point)))
            snprintf(text, sizeof text, "\\x%02x", (unsigned)point);
        else if (point == 0xA0)
            snprintf(text, sizeof text, "\\xa0");
        char mark = s.mark ? s.mark[i] : HD_MARK_TEMPLATE;
        if (*text)
            hd_marked_fill(to, text, strlen(text), mark);
        else
            hd_marked_fill(to, s.at + i, n, mark);
    }
    hd_marked_fill(to, &quote, 1, HD_MARK_TEMPLATE);
}

static void print_list(hd_jinja_run *r, hd_marked *to, const hd_jinja_list *l, const char *brackets)
{
    hd_marked_add(to, brackets, NULL, 1);
    for (size_t i = 0; i < l->count && !hd_jinja_failed(r); i++) {
        if (i) put(to, ", ");
        hd_jinja_print(r, to, l->at[i], true);
    }
    if (l->count == 1 && *brackets == '(') put(to, ",");
    hd_marked_add(to, brackets + 1, NULL, 1);
}

static void print_dict(hd_jinja_run *r, hd_marked *to, const hd_jinja_dict *d)
{
    put(to, "{");
    for (size_t i = 0; i < d->value.count && !hd_jinja_failed(r); i++) {
        if (i) put(to, ", ");
        hd_jinja_print(r, to, d->key.at[i], true);
        put(to, ": ");
        hd_jinja_print(r, to, d->value.at[i], true);
    }
    put(to, "}");
}

void hd_jinja_print(hd_jinja_run *r, hd_marked *to, hd_jinja_value v, bool quoted)
{
    if (hd_jinja_enter(r) && hd_jinja_charge(r, v.kind == HD_IS_STRING ? v.string.size / 64 : 0))
        switch (v.kind) {
        case HD_IS_UNDEFINED:
            put(to, quoted ? "Undefined" : "");
            break;
        case HD_IS_NONE:
            put(to, "None");
            break;
        case HD_IS_BOOL:
            put(to, v.truth ? "True" : "False");
            break;
        case HD_IS_INT:
            hd_jinja_put_int(to, v.whole);
            break;
        case HD_IS_REAL:
            hd_jinja_put_real(to, v.real, false);
            break;
        case HD_IS_STRING:
            if (quoted)
                put_quoted(to, v.string);
            else
                hd_marked_add(to, v.string.at, v.string.mark, v.string.size);
            break;
        case HD_IS_LIST:
        case HD_IS_ITERATOR:
            print_list(r, to, v.list, "[]");
            break;
        case HD_IS_TUPLE:
            print_list(r, to, v.list, "()");
            break;
        case HD_IS_DICT:
            print_dict(r, to, v.dict);
            break;
        default:
            hd_jinja_fail(r, "a %s cannot be printed", hd_jinja_kind_name(v));
        }
    if (to->text.size > r->limit.bytes)
        hd_err_set(r->err, HD_ELIMIT, "%s, line %d: the text gets longer than %zu bytes", r->name, r->line,
                   r->limit.bytes);
    hd_jinja_leave(r);
}

hd_jinja_string hd_jinja_text_of(hd_jinja_run *r, hd_jinja_value v)
{
    if (v.kind == HD_IS_STRING) return v.string;
    hd_marked to = {0};
    hd_jinja_print(r, &to, v, false);
    return hd_jinja_taken(r, &to).string;
}
