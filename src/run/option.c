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

static hd_status read_flag(const hd_option *o, void *field, const char *text, hd_err *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    (void)o;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(words[i], text)) return *(bool *)field = i % 2, HD_OK;
    return hd_err_set(err, HD_EARG, "'%s' is not true or false", text);
}

static hd_status read_whole(const hd_option *o, void *field, const char *text, hd_err *err)
{
    char *end;
    long long value = strtoll(text, &end, 10); /* what is too large comes as the largest */
    if (end == text || *end) return hd_err_set(err, HD_EARG, "'%s' is not a whole number", text);
    if (value < (int64_t)o->min || value > (int64_t)o->max) /* as doubles, 2^53 + 1 would be 2^53 */
        return hd_err_set(err, HD_EARG, "%s is not between %.0f and %.0f", text, o->min, o->max);
    if (o->size == sizeof(int))
        *(int *)field = (int)value;
    else
        *(int64_t *)field = value;
    return HD_OK;
}

static hd_status read_float(const hd_option *o, void *field, const char *text, hd_err *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || isnan(value)) return hd_err_set(err, HD_EARG, "'%s' is not a number", text);
    if (value < o->min || value > o->max)
        return hd_err_set(err, HD_EARG, "%s is not between %.10g and %.10g", text, o->min, o->max);
    if (o->size == sizeof(float))
        *(float *)field = (float)value;
    else
        *(double *)field = value;
    return HD_OK;
}

static hd_status read_choice(const hd_option *o, void *field, const char *text, hd_err *err)
{
    char list[256] = "";
    for (int i = 0; o->choices[i]; i++) {
        if (!strcmp(o->choices[i], text)) return *(int *)field = i, HD_OK;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", o->choices[i]);
    }
    return hd_err_set(err, HD_EARG, "'%s' is not one of %s", text, list);
}

static hd_status read_text(const hd_option *o, void *field, const char *text, hd_err *err)
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

static hd_status (*const readers[])(const hd_option *o, void *field, const char *text, hd_err *err) = {
    [HD_OPTION_FLAG] = read_flag,     [HD_OPTION_WHOLE] = read_whole, [HD_OPTION_FLOAT] = read_float,
    [HD_OPTION_CHOICE] = read_choice, [HD_OPTION_TEXT] = read_text,   [HD_OPTION_FILE] = read_text,
};

hd_status hd_option_read(const hd_option *o, void *field, const char *text, hd_err *err)
{
    if (o->gone) return hd_err_set(err, HD_EARG, "gone: %s", o->gone);
    return readers[o->type](o, field, text, err);
}

/* ---- values as text ---- */

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
    for (int i = 0; i < list->count; i++) {
        hd_text_put(to, i ? ", " : "[");
        put_quoted(to, list->text[i]);
    }
    if (list->count) hd_text_put(to, "]");
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
    const void *field = (const char *)into + o->offset;
    if (o->many || o->most)
        put_list(to, field);
    else if (o->type == HD_OPTION_FLAG)
        hd_text_put(to, *(const bool *)field ? "true" : "false");
    else if (o->type == HD_OPTION_WHOLE)
        hd_text_print(to, "%" PRId64, o->size == sizeof(int) ? *(const int *)field : *(const int64_t *)field);
    else if (o->type == HD_OPTION_FLOAT)
        put_number(to, o->size == sizeof(float) ? (double)*(const float *)field : *(const double *)field);
    else if (o->type == HD_OPTION_CHOICE)
        hd_text_put(to, o->choices[*(const int *)field]);
    else if (*(const char *const *)field)
        put_quoted(to, *(const char *const *)field);
}

bool hd_option_line(hd_text *to, const hd_option *o, const void *into)
{
    hd_text value = {0};
    hd_option_value(&value, o, into);
    bool any = value.size;
    if (any) hd_text_print(to, "%s: %s", o->name, value.data);
    if (value.missed) to->missed = value.missed;
    hd_text_release(&value);
    return any;
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

hd_option_place hd_option_find(const hd_option_set *set, const char *name)
{
    for (; set; set = set->next)
        for (const hd_option *o = set->table; o->name; o++)
            if (!strcmp(o->name, name)) return place_of(set, o);
    return (hd_option_place){0};
}

hd_status hd_option_set_defaults(const hd_option_set *set, hd_err *err)
{
    hd_status s = HD_OK;
    for (; set; set = set->next)
        for (const hd_option *o = set->table; !s && o->name; o++)
            if (o->fallback) s = hd_option_read(o, place_of(set, o).field, o->fallback, err);
    return s;
}

bool hd_option_same(const hd_option *o, const void *a, const void *b, hd_text value[2], hd_err *err)
{
    hd_text own[2] = {{0}, {0}}, *text = value ? value : own;
    hd_option_value(&text[0], o, a);
    hd_option_value(&text[1], o, b);
    bool same = !hd_text_status(&text[0], err) && !hd_text_status(&text[1], err) &&
                !strcmp(text[0].data ? text[0].data : "", text[1].data ? text[1].data : "");
    for (int i = 0; i < 2 && (same || !value); i++) hd_text_release(&text[i]);
    return same;
}

void hd_option_copy(const hd_option *o, void *to, const void *from)
{
    memcpy((char *)to + o->offset, (const char *)from + o->offset, o->size);
}
