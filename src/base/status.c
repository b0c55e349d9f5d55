/* Status codes and error text. Messages quote names out of hostile files, so the text is always made one line
   of valid UTF-8 that can go to a terminal or into JSON. Easy to get wrong: a later error must not replace
   the first. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

const char *hd_status_text(hd_status s)
{
    static const char *const text[] = {
#define X(name, words) [HD_##name] = words,
        HD_STATUS_LIST(X)
#undef X
    };
    return (size_t)s < sizeof text / sizeof *text ? text[s] : "unknown status";
}

/* Bytes of the printable UTF-8 character at s; 0 when there is none. Stops at the final NUL, which continues
   nothing. */
static size_t printable(const unsigned char *s)
{
    if (*s < 0x80) return *s >= 0x20 && *s != 0x7f;
    if (*s < 0xc2 || *s > 0xf4) return 0;
    size_t length = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    /* overlong forms, surrogates, beyond U+10FFFF, and the control characters U+0080..9F */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f) || (s[0] == 0xc2 && s[1] < 0xa0))
        return 0;
    return length;
}

static void make_printable(char *text)
{
    for (unsigned char *s = (unsigned char *)text; *s;) {
        size_t length = printable(s);
        if (!length) *s = '?';
        s += length ? length : 1;
    }
}

hd_status hd_err_setv(hd_err *err, hd_status s, const char *format, va_list args)
{
    if (!err || err->status != HD_OK || s == HD_OK) return s;
    err->status = s;
    int length = vsnprintf(err->text, sizeof err->text, format, args);
    if (length < 0) snprintf(err->text, sizeof err->text, "%s", hd_status_text(s));
    /* marked before the cleaning, which then also removes the half of a character the cut may have left */
    if (length >= (int)sizeof err->text) memcpy(err->text + sizeof err->text - 4, "...", 4);
    make_printable(err->text);
    return s;
}

hd_status hd_err_set(hd_err *err, hd_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hd_err_setv(err, s, format, args);
    va_end(args);
    return s;
}

hd_status hd_err_nomem(hd_err *err, size_t bytes)
{
    return hd_err_set(err, HD_ENOMEM, "out of memory: %zu bytes requested", bytes);
}
