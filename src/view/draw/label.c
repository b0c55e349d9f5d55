/* Labels. Easy to get wrong: they are cut between characters, never inside one. */
#include "view/draw/label.h"

#include <stdio.h>
#include <string.h>

static size_t character(const char *s)
{
    size_t n = 1;
    while ((s[n] & 0xC0) == 0x80) n++;
    return n;
}

/* What shows a character that cannot be seen, into buf; NULL: itself. */
static const char *picture(const char *s, bool at_end, bool ascii, char buf[8])
{
    unsigned char c = (unsigned char)*s;
    if (c == ' ') return !at_end ? NULL : ascii ? "_" : "␣";
    if (c == '\n') return ascii ? "\\n" : "↵";
    if (c == '\t') return ascii ? "\\t" : "⇥";
    if (c >= ' ' && c != 0x7F) return NULL;
    snprintf(buf, 8, "\\x%02x", c);
    return buf;
}

static bool fits(const char *s, const hd_label_opt *o)
{
    return !o->width || o->width(o->context, s) <= o->most;
}

const char *hd_label_of(char buf[HD_LABEL], const char *token, const hd_label_opt *o)
{
    enum { ROOM = HD_LABEL - 8 }; /* for an ellipsis and the zero byte */
    const char *dots = o->ascii ? "~" : "…", *s = token;
    size_t at = 0;
    while (*s) {
        char sign[8];
        size_t used = character(s);
        const char *instead = picture(s, s == token || !s[used], o->ascii, sign);
        size_t bytes = instead ? strlen(instead) : used;
        if (at + bytes > ROOM) break;
        memcpy(buf + at, instead ? instead : s, bytes);
        at += bytes, s += used;
    }
    buf[at] = 0;
    if (!*s && fits(buf, o)) return buf;
    for (strcpy(buf + at, dots); at && !fits(buf, o); strcpy(buf + at, dots)) do
            at--;
        while (at && (buf[at] & 0xC0) == 0x80);
    return buf;
}
