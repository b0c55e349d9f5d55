/* Pieces of JSON and XML. Plain runs are copied whole; only what must be escaped is looked at. */
#include "view/draw/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *hd_decimal(char buf[HD_DECIMAL], const char *format, double v)
{
    snprintf(buf, HD_DECIMAL, format, v);
    char *comma = strchr(buf, ',');
    if (comma) *comma = '.';
    return buf;
}

void hd_markup_number(hd_text *to, double v, int digits)
{
    char buf[HD_DECIMAL], format[16];
    snprintf(format, sizeof format, "%%.%dg", digits);
    hd_text_put(to, isfinite(v) ? hd_decimal(buf, format, v == 0 ? 0 : v) : "null"); /* no "-0" */
}

void hd_markup_json_bytes(hd_text *to, const char *s, size_t size, bool inside_html)
{
    const char *run = s, *end = s + size;
    hd_text_put(to, "\"");
    for (; s < end; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = c >= 0x20 && c != '"' && c != '\\' && !(inside_html && c == '<');
        if (plain) continue;
        hd_text_add(to, run, (size_t)(s - run));
        run = s + 1;
        if (c == '"' || c == '\\')
            hd_text_add(to, (const char[]){'\\', (char)c}, 2);
        else
            hd_text_print(to, "\\u%04x", c);
    }
    hd_text_add(to, run, (size_t)(end - run));
    hd_text_put(to, "\"");
}

void hd_markup_json(hd_text *to, const char *s, bool inside_html)
{
    if (s)
        hd_markup_json_bytes(to, s, strlen(s), inside_html);
    else
        hd_text_put(to, "null");
}

/* What stands for the character at s, whose bytes are counted in *used; NULL: itself. */
static const char *escape(const char *s, size_t *used)
{
    unsigned char c = (unsigned char)*s;
    *used = 1;
    if (c == '&') return "&amp;";
    if (c == '<') return "&lt;";
    if (c == '>') return "&gt;";
    if (c == '"') return "&quot;";
    if (c == '\t') return "&#9;";
    if (c == '\n') return "&#10;";
    if (c == '\r') return "&#13;";
    if (c < 0x20) return "\xEF\xBF\xBD";
    if (c == 0xEF && (!strncmp(s, "\xEF\xBF\xBE", 3) || !strncmp(s, "\xEF\xBF\xBF", 3))) /* no characters */
        return *used = 3, "\xEF\xBF\xBD";
    return NULL;
}

void hd_markup_xml(hd_text *to, const char *s)
{
    const char *run = s;
    while (*s) {
        size_t used;
        const char *instead = escape(s, &used);
        if (instead) {
            hd_text_add(to, run, (size_t)(s - run));
            hd_text_put(to, instead);
            run = s + used;
        }
        s += used;
    }
    hd_text_add(to, run, (size_t)(s - run));
}
