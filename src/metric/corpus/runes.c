/* Text as code points. Easy to get wrong: lower-casing is not letter by letter. The capital I with a dot
   becomes two code points, and what a capital sigma becomes depends on its neighbors. */
#include "metric/corpus/runes.h"

#include <utf8proc.h>

#include "base/mem.h"

enum { DOTTED_I = 0x130, DOT_ABOVE = 0x307, CAPITAL_SIGMA = 0x3a3, SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2 };

void hd_runes_release(hd_runes *r)
{
    hd_mem_free(r->at);
    *r = (hd_runes){0};
}

hd_status hd_runes_reserve(hd_runes *r, size_t count, hd_err *err)
{
    return hd_mem_reserve(&r->at, &r->room, count + 1, sizeof *r->at, err);
}

hd_status hd_runes_decode(hd_runes *r, hd_line utf8, hd_err *err)
{
    const uint8_t *text = (const uint8_t *)utf8.text;
    hd_status s = hd_runes_reserve(r, utf8.size, err);
    if (s) return s;
    size_t count = 0;
    for (size_t i = 0; i < utf8.size;) {
        utf8proc_int32_t point = text[i];
        utf8proc_ssize_t used =
            point < 0x80 ? 1 : utf8proc_iterate(text + i, (utf8proc_ssize_t)(utf8.size - i), &point);
        if (used <= 0) return hd_err_set(err, HD_EFORMAT, "not UTF-8: byte 0x%02x at offset %zu", text[i], i);
        r->at[count++] = (uint32_t)point;
        i += (size_t)used;
    }
    r->count = count;
    return HD_OK;
}

bool hd_rune_is_space(uint32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

void hd_runes_strip_end(hd_runes *r)
{
    while (r->count && hd_rune_is_space(r->at[r->count - 1])) r->count--;
}

/* ---- lower case ---- */

/* Unicode's Case_Ignorable: marks, formats, modifiers, and the signs that may stand inside a word. */
static bool is_ignorable(uint32_t c)
{
    static const uint16_t inside[] = {0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                      0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (inside[i] == c) return true;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return false;
    }
}

/* Unicode's Cased, as far as it is not ignorable: letters with case, and numbers and signs made of them. */
static bool is_cased(uint32_t c)
{
    static const uint32_t more[][2] = {{0xaa, 0xaa},      {0xba, 0xba},       {0x2160, 0x217f},
                                       {0x24b6, 0x24e9},  {0x1f130, 0x1f149}, {0x1f150, 0x1f169},
                                       {0x1f170, 0x1f189}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (c >= more[i][0] && c <= more[i][1]) return true;
    utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    return is == UTF8PROC_CATEGORY_LU || is == UTF8PROC_CATEGORY_LL || is == UTF8PROC_CATEGORY_LT;
}

/* At the end of a word: something cased before it and nothing cased behind, ignorable signs aside. */
static bool is_final(const hd_runes *text, size_t at)
{
    size_t before = at, behind = at + 1;
    while (before && is_ignorable(text->at[before - 1])) before--;
    if (!before || !is_cased(text->at[before - 1])) return false;
    while (behind < text->count && is_ignorable(text->at[behind])) behind++;
    return behind == text->count || !is_cased(text->at[behind]);
}

hd_status hd_runes_lower(hd_runes *to, const hd_runes *from, hd_err *err)
{
    size_t room = from->count;
    for (size_t i = 0; i < from->count; i++) room += from->at[i] == DOTTED_I;
    hd_status s = hd_runes_reserve(to, room, err);
    if (s) return s;
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++) {
        uint32_t c = from->at[i];
        if (c < 0x80) {
            to->at[count++] = c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
        } else if (c == DOTTED_I) {
            to->at[count++] = 'i';
            to->at[count++] = DOT_ABOVE;
        } else if (c == CAPITAL_SIGMA) {
            to->at[count++] = is_final(from, i) ? FINAL_SIGMA : SIGMA;
        } else {
            to->at[count++] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
        }
    }
    to->count = count;
    return HD_OK;
}
