/* Rows of options: their values read from text and written as text. */
#include "run/option.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const hd_option hd_no_options[] = {{0}};

/* ---- values from text ---- */

static hd_status read_flag(const char *text, bool *into, hd_err *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(words[i], text)) return *into = i % 2, HD_OK;
    return hd_err_set(err, HD_EARG, "'%s' is not true or false", text);
}

static hd_status read_whole(const hd_option *o, const char *text, void *into, hd_err *err)
{
    char *end;
    long long value = strtoll(text, &end, 10); /* what is too large comes as the largest */
    if (end == text || *end) return hd_err_set(err, HD_EARG, "'%s' is not a whole number", text);
    if (value < (int64_t)o->min || value > (int64_t)o->max) /* as doubles, 2^53 + 1 would be 2^53 */
        return hd_err_set(err, HD_EARG, "%s is not between %.0f and %.0f", text, o->min, o->max);
    if (o->size == sizeof(int))
        *(int *)into = (int)value;
    else
        *(int64_t *)into = value;
    return HD_OK;
}

static hd_status read_float(const hd_option *o, const char *text, void *into, hd_err *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || isnan(value)) return hd_err_set(err, HD_EARG, "'%s' is not a number", text);
    if (value < o->min || value > o->max)
        return hd_err_set(err, HD_EARG, "%s is not between %.10g and %.10g", text, o->min, o->max);
    if (o->size == sizeof(float))
        *(float *)into = (float)value;
    else
        *(double *)into = value;
    return HD_OK;
}

static hd_status read_choice(const hd_option *o, const char *text, int *into, hd_err *err)
{
    char list[256] = "";
    for (int i = 0; o->choices[i]; i++) {
        if (!strcmp(o->choices[i], text)) {
            *into = i;
            return HD_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", o->choices[i]);
    }
    return hd_err_set(err, HD_EARG, "'%s' is not one of %s", text, list);
}

static hd_status read_text(const hd_option *o, const char *text, void *field, hd_err *err)
{
    if (!o->many && !o->most) return *(const char **)field = text, HD_OK;
    hd_texts *into = field;
    if (o->many && into->count == HD_OPTION_MOST)
        return hd_err_set(err, HD_EARG, "given more than %d times", HD_OPTION_MOST);
    if (!o->many && into->count == o->most)
        return hd_err_set(err, HD_EARG, "takes at most %d values", o->most);
    into->text[into->count++] = text;
    return HD_OK;
}

hd_status hd_option_read(const hd_option *o, void *field, const char *text, hd_err *err)
{
    if (o->gone) return hd_err_set(err, HD_EARG, "gone: %s", o->gone);
    switch (o->type) {
    case HD_OPTION_FLAG:
        return read_flag(text, field, err);
    case HD_OPTION_WHOLE:
        return read_whole(o, text, field, err);
    case HD_OPTION_FLOAT:
        return read_float(o, text, field, err);
    case HD_OPTION_CHOICE:
        return read_choice(o, text, field, err);
    case HD_OPTION_TEXT:
    case HD_OPTION_FILE:
        return read_text(o, text, field, err);
    }
    return HD_EARG;
}

/* ---- rows ---- */

size_t hd_option_count(const hd_option *table)
{
    size_t count = 0;
    while (table[count].name) count++;
    return count;
}

static hd_option_place place_of(const hd_option_set *set, const hd_option *o)
{
    return (hd_option_place){o, (char *)set->into + o->offset,
                             set->given ? set->given + (o - set->table) : NULL};
}

hd_option_place hd_option_find(const hd_option_set sets[2], const char *name, size_t length)
{
    for (int s = 0; s < 2; s++)
        for (const hd_option *o = sets[s].table; o->name; o++)
            if (strlen(o->name) == length && !memcmp(o->name, name, length)) return place_of(&sets[s], o);
    return (hd_option_place){0};
}

hd_status hd_option_set_defaults(const hd_option_set *of, hd_err *err)
{
    hd_status s = HD_OK;
    for (const hd_option *o = of->table; !s && o->name; o++)
        if (o->fallback) s = hd_option_read(o, place_of(of, o).field, o->fallback, err);
    return s;
}

/* ---- values as text ---- */

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

void hd_option_value(hd_text *to, const hd_option *o, const void *into)
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
    case HD_OPTION_WHOLE:
        hd_text_print(to, "%" PRId64, o->size == sizeof(int) ? *(const int *)field : *(const int64_t *)field);
        break;
    case HD_OPTION_FLOAT:
        put_number(to, o->size == sizeof(float) ? (double)*(const float *)field : *(const double *)field);
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

bool hd_option_differs(const hd_option *o, const void *a, const void *b)
{
    hd_text one = {0}, other = {0};
    hd_option_value(&one, o, a);
    hd_option_value(&other, o, b);
    bool differ =
        one.missed || other.missed || strcmp(one.data ? one.data : "", other.data ? other.data : "") != 0;
    hd_text_release(&one);
    hd_text_release(&other);
    return differ;
}

void hd_option_copy(const hd_option *o, void *to, const void *from)
{
    memcpy((char *)to + o->offset, field_of(o, from), o->size);
}
