/* Parses options by table. GNU habits: --name value, --name=value, -n value, -nvalue, -abc for flags, -- ends
   options; the last of a repeated option wins, unless its row says `many`. */
#include "cli/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/spelling.h"

const hd_option hd_no_options[] = {{0}};

static hd_status bad_range(const hd_option *o, const char *text, hd_err *err)
{
    return hd_err_set(err, HD_EARG, "--%s: %s is not between %.10g and %.10g", o->name, text, o->min, o->max);
}

static hd_status set_int(const hd_option *o, const char *text, int *into, hd_err *err)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end)
        return hd_err_set(err, HD_EARG, "--%s: '%s' is not a whole number", o->name, text);
    if ((double)value < o->min || (double)value > o->max) return bad_range(o, text, err);
    *into = (int)value;
    return HD_OK;
}

static hd_status set_float(const hd_option *o, const char *text, double *into, hd_err *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || isnan(value))
        return hd_err_set(err, HD_EARG, "--%s: '%s' is not a number", o->name, text);
    if (value < o->min || value > o->max) return bad_range(o, text, err);
    *into = value;
    return HD_OK;
}

static hd_status set_choice(const hd_option *o, const char *text, int *into, hd_err *err)
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
    return hd_err_set(err, HD_EARG, "--%s: '%s' is not one of %s", o->name, text, list);
}

static hd_status add_text(const hd_option *o, const char *text, hd_texts *into, hd_err *err)
{
    if (into->count == HD_OPTION_MOST)
        return hd_err_set(err, HD_EARG, "--%s: given more than %d times", o->name, HD_OPTION_MOST);
    into->text[into->count++] = text;
    return HD_OK;
}

static hd_status set_value(const hd_option *o, void *owner, const char *text, hd_err *err)
{
    void *field = (char *)owner + o->offset;
    switch (o->type) {
    case HD_OPTION_FLAG:
        *(bool *)field = true;
        return HD_OK;
    case HD_OPTION_INT:
        return set_int(o, text, field, err);
    case HD_OPTION_FLOAT:
        return set_float(o, text, field, err);
    case HD_OPTION_CHOICE:
        return set_choice(o, text, field, err);
    case HD_OPTION_TEXT:
    case HD_OPTION_FILE:
        if (o->many) return add_text(o, text, field, err);
        *(const char **)field = text;
        return HD_OK;
    }
    return HD_EARG;
}

static const hd_option *find_name(const hd_option_set sets[2], const char *name, size_t length, void **owner)
{
    for (int s = 0; s < 2; s++)
        for (const hd_option *o = sets[s].table; o->name; o++)
            if (strlen(o->name) == length && !memcmp(o->name, name, length)) {
                *owner = sets[s].into;
                return o;
            }
    return NULL;
}

static const hd_option *find_letter(const hd_option_set sets[2], char letter, void **owner)
{
    for (int s = 0; s < 2; s++)
        for (const hd_option *o = sets[s].table; o->name; o++)
            if (o->letter == letter) {
                *owner = sets[s].into;
                return o;
            }
    return NULL;
}

static hd_status unknown_name(const hd_option_set sets[2], const char *name, size_t length, hd_err *err)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)length, name);
    hd_spelling best = hd_spelling_of(typed);
    for (int s = 0; s < 2; s++)
        for (const hd_option *o = sets[s].table; o->name; o++)
            if (!o->hidden) hd_spelling_try(&best, o->name);
    if (!best.match) return hd_err_set(err, HD_EARG, "unknown option '--%s'", typed);
    return hd_err_set(err, HD_EARG, "unknown option '--%s', did you mean '--%s'?", typed, best.match);
}

/* The value of o: what follows in the same word, or the next word. */
static hd_status take_value(const hd_option *o, void *owner, const char *attached, const hd_words *words,
                            int *i, hd_err *err)
{
    if (!attached && *i + 1 == words->count)
        return hd_err_set(err, HD_EARG, "--%s needs a value %s", o->name, o->argument);
    return set_value(o, owner, attached ? attached : words->word[++*i], err);
}

static hd_status take_name(const hd_option_set sets[2], const hd_words *words, int *i, hd_err *err)
{
    const char *name = words->word[*i] + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    void *owner;
    const hd_option *o = find_name(sets, name, length, &owner);
    if (!o) return unknown_name(sets, name, length, err);
    if (o->type != HD_OPTION_FLAG) return take_value(o, owner, equals ? equals + 1 : NULL, words, i, err);
    if (equals) return hd_err_set(err, HD_EARG, "--%s takes no value", o->name);
    return set_value(o, owner, NULL, err);
}

static hd_status take_letters(const hd_option_set sets[2], const hd_words *words, int *i, hd_err *err)
{
    for (const char *letter = words->word[*i] + 1; *letter; letter++) {
        void *owner;
        const hd_option *o = find_letter(sets, *letter, &owner);
        if (!o) return hd_err_set(err, HD_EARG, "unknown option '-%c'", *letter);
        if (o->type != HD_OPTION_FLAG)
            return take_value(o, owner, letter[1] ? letter + 1 : NULL, words, i, err);
        set_value(o, owner, NULL, err);
    }
    return HD_OK;
}

static hd_status set_defaults(const hd_option_set *set, hd_err *err)
{
    hd_status s = HD_OK;
    for (const hd_option *o = set->table; !s && o->name; o++)
        if (o->fallback) s = set_value(o, set->into, o->fallback, err);
    return s;
}

hd_status hd_option_parse(const hd_option_set sets[2], hd_words *words, bool leading, hd_err *err)
{
    hd_status s = set_defaults(&sets[0], err);
    if (!s) s = set_defaults(&sets[1], err);
    int kept = 0;
    bool ended = false;
    for (int i = 0; !s && i < words->count; i++) {
        char *word = words->word[i];
        if (ended || word[0] != '-' || !word[1]) {
            words->word[kept++] = word;
            ended = ended || leading;
        } else if (!strcmp(word, "--")) {
            ended = true;
        } else if (word[1] == '-') {
            s = take_name(sets, words, &i, err);
        } else {
            s = take_letters(sets, words, &i, err);
        }
    }
    words->count = kept;
    return s;
}

const char *hd_option_form(const hd_option *o, char *buffer, size_t size)
{
    char letter[5] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(buffer, size, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
             o->argument ? o->argument : "");
    return buffer;
}

const char *hd_option_help(const hd_option *o, char *buffer, size_t size)
{
    if (!o->fallback) return o->help;
    snprintf(buffer, size, "%s (default %s)", o->help, o->fallback);
    return buffer;
}
