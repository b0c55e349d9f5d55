/* Options as text. */
#include "cli/frame/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void *field_of(const hd_option *o, const void *into)
{
    return (const char *)into + o->offset;
}

/* Controls are written by their numbers, and so are the two line ends beyond ASCII, which YAML folds. */
static void put_quoted(hd_text *to, const char *text)
{
    hd_text_put(to, "\"");
    for (; *text; text++) {
        const unsigned char *c = (const unsigned char *)text;
        if (*c == '"' || *c == '\\')
            hd_text_print(to, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            hd_text_print(to, "\\x%02x", *c);
        else if (*c == 0xc2 && c[1] < 0xa0)
            hd_text_print(to, "\\x%02x", c[1]), text++;
        else if (*c == 0xe2 && c[1] == 0x80 && (c[2] | 1) == 0xa9)
            hd_text_print(to, "\\u20%02x", c[2] - 0x80), text += 2;
        else
            hd_text_add(to, text, 1);
    }
    hd_text_put(to, "\"");
}

static void put_list(hd_text *to, const hd_texts *list)
{
    if (!list->count) return;
    hd_text_put(to, "[");
    for (int i = 0; i < list->count; i++) {
        if (i) hd_text_put(to, ", ");
        put_quoted(to, list->text[i]);
    }
    hd_text_put(to, "]");
}

/* As few digits as read back to the same number. */
static void put_number(hd_text *to, double x)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    hd_text_put(to, text);
}

void hd_settings_value(hd_text *to, const hd_option *o, const void *into)
{
    const void *field = field_of(o, into);
    if (o->many || o->most) {
        put_list(to, field);
        return;
    }
    switch (o->type) {
    case HD_OPTION_FLAG:
        hd_text_put(to, *(const bool *)field ? "true" : "false");
        break;
    case HD_OPTION_INT:
        hd_text_print(to, "%d", *(const int *)field);
        break;
    case HD_OPTION_LONG:
        hd_text_print(to, "%" PRId64, *(const int64_t *)field);
        break;
    case HD_OPTION_FLOAT:
        put_number(to, *(const double *)field);
        break;
    case HD_OPTION_CHOICE:
        hd_text_put(to, o->choices[*(const int *)field]);
        break;
    case HD_OPTION_TEXT:
    case HD_OPTION_FILE:
        if (*(const char *const *)field) put_quoted(to, *(const char *const *)field);
        break;
    }
}

bool hd_settings_named(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list)) return true;
    return false;
}

void hd_settings_write(hd_text *to, const hd_option *table, const void *into, const char *const *but)
{
    for (const hd_option *o = table; o->name; o++) {
        hd_text value = {0};
        if (hd_settings_named(o->name, but)) continue;
        hd_settings_value(&value, o, into);
        if (value.size) hd_text_print(to, "%s: %s\n", o->name, value.data);
        if (value.missed) to->missed = value.missed;
        hd_text_release(&value);
    }
}

void hd_settings_copy(const hd_option *o, void *to, const void *from)
{
    memcpy((char *)to + o->offset, field_of(o, from), hd_option_size(o));
}
