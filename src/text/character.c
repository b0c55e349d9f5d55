/* Characters and their classes, from utf8proc's Unicode tables. */
#include "text/character.h"

#include <utf8proc.h>

#include "base/file/lines.h"

size_t hd_character(const char *text, size_t size, int32_t *point)
{
    if (!((uint8_t)*text & 0x80)) return *point = *text, 1;
    utf8proc_ssize_t used = utf8proc_iterate((const uint8_t *)text, (utf8proc_ssize_t)size, point);
    if (used <= 0) *point = -1;
    return used > 0 ? (size_t)used : 1;
}

bool hd_is_space(int32_t point)
{
    if (point < 0x85) return (point >= '\t' && point <= '\r') || point == ' ';
    return point == 0x85 || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
           point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

static bool is_between(int32_t point, utf8proc_category_t first, utf8proc_category_t last)
{
    utf8proc_category_t category = point < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(point);
    return point >= 0 && category >= first && category <= last;
}

bool hd_is_letter(int32_t point)
{
    if (point < 0x80) return (point | 32) >= 'a' && (point | 32) <= 'z';
    return is_between(point, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool hd_is_number(int32_t point)
{
    if (point < 0x80) return point >= '0' && point <= '9';
    return is_between(point, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool hd_is_punctuation(int32_t point)
{
    if (point < 0x80) return point > ' ' && point < 0x7f && !hd_is_letter(point) && !hd_is_number(point);
    return is_between(point, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool hd_is_accent(int32_t point)
{
    return point >= 0x80 && utf8proc_category(point) == UTF8PROC_CATEGORY_MN;
}

bool hd_is_mark(int32_t point)
{
    return point >= 0x80 && is_between(point, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool hd_is_symbol(int32_t point)
{
    return is_between(point, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO);
}

bool hd_is_upper(int32_t point)
{
    if (point < 0x80) return point >= 'A' && point <= 'Z';
    utf8proc_category_t category = utf8proc_category(point);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
}

bool hd_is_lower(int32_t point)
{
    if (point < 0x80) return point >= 'a' && point <= 'z';
    return utf8proc_category(point) == UTF8PROC_CATEGORY_LL;
}

bool hd_is_control(int32_t point)
{
    if (point < 0x80) return (point >= 0 && point < ' ') || point == 0x7f;
    return is_between(point, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool hd_is_word(int32_t point)
{
    return is_between(point, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) || /* letters, marks, Nd, Nl */
           is_between(point, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PC) || point == 0x200c ||
           point == 0x200d;
}

/* Number of bytes at `at`, which do not form a character, that could begin one; at least 1. */
static size_t broken(const uint8_t *at, size_t size)
{
    uint8_t first = at[0], low = 0x80, high = 0xbf;
    size_t want = first >= 0xc2 && first <= 0xdf   ? 2
                  : first >= 0xe0 && first <= 0xef ? 3
                  : first >= 0xf0 && first <= 0xf4 ? 4
                                                   : 1,
           n = 1;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
    for (; n < want && n < size && at[n] >= low && at[n] <= high; n++) low = 0x80, high = 0xbf;
    return n;
}

void hd_text_add_lossy(hd_text *to, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t good = hd_utf8_good(bytes + at, size - at);
        hd_text_add(to, bytes + at, good);
        at += good;
        if (at == size) break;
        hd_text_put(to, "\xef\xbf\xbd");
        at += broken((const uint8_t *)bytes + at, size - at);
    }
}

void hd_text_add_lower(hd_text *to, const char *text, size_t size)
{
    size_t used;
    for (size_t at = 0; at < size; at += used) {
        int32_t point;
        uint8_t bytes[4];
        used = hd_character(text + at, size - at, &point);
        if (point < 0)
            hd_text_add(to, text + at, used);
        else
            hd_text_add(to, (const char *)bytes,
                        (size_t)utf8proc_encode_char(utf8proc_tolower(point), bytes));
    }
}
