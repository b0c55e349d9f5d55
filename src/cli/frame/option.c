/* Parses options by table. GNU habits: --name value, --name=value, -n value, -nvalue, -abc for flags, -- ends
   options; the last of a repeated option wins, unless its row says `many`. --no-name takes a flag back. */
#include "cli/frame/option.h"

#include <stdio.h>
#include <string.h>

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static hd_option_place find_letter(const hd_option_set *set, char letter)
{
    for (const hd_option_set *of = set; of; of = of->next)
        for (const hd_option *o = of->table; o->name; o++)
            if (o->letter == letter) return hd_option_find(set, o->name);
    return (hd_option_place){0};
}

static hd_status give(hd_option_place at, const char *text, hd_err *err)
{
    hd_err why = {0};
    if (hd_option_read(at.option, at.field, text, &why))
        return hd_err_set(err, HD_EARG, "--%s: %s", at.option->name, why.text);
    if (at.given) *at.given = HD_GIVEN_HERE;
    return HD_OK;
}

/* The values of one that takes several at once: the words behind it up to the next option. */
static hd_status take_several(hd_option_place at, const char *attached, const hd_words *words, int *i,
                              hd_err *err)
{
    const hd_option *o = at.option;
    char form[80];
    if (!o->many && ((hd_texts *)at.field)->count)
        return hd_err_set(err, HD_EARG, "--%s: given twice; its values follow one another: %s", o->name,
                          hd_option_form(o, form, sizeof form));
    if (attached) return give(at, attached, err);
    hd_status s = HD_OK;
    int n = 0;
    for (; !s && n < o->most && *i + 1 < words->count && !is_option(words->word[*i + 1]); n++)
        s = give(at, words->word[++*i], err);
    return n ? s : hd_err_set(err, HD_EARG, "--%s needs a value %s", o->name, o->argument);
}

/* The value of an option: what follows in the same word, or the next word. */
static hd_status take_value(const hd_option_set *set, hd_option_place at, const char *attached,
                            const hd_words *words, int *i, hd_err *err)
{
    if (at.option->most) return take_several(at, attached, words, i, err);
    if (!attached && *i + 1 == words->count)
        return hd_err_set(err, HD_EARG, "--%s needs a value %s", at.option->name, at.option->argument);
    const char *value = attached ? attached : words->word[++*i];
    const char *today = hd_option_renamed(set, at.option->name, value);
    if (today)
        return hd_err_set(err, HD_EARG, "--%s %s is now called --%s %s", at.option->name, value, today,
                          value);
    return give(at, value, err);
}

static hd_status unknown_name(const hd_option_set *set, const char *name, hd_err *err)
{
    char suggestion[HD_OPTION_SUGGESTION];
    const char *today = hd_option_renamed(set, name, NULL);
    if (today) return hd_err_set(err, HD_EARG, "--%s is now called --%s", name, today);
    return hd_err_set(err, HD_EARG, "unknown option '--%s'%s", name,
                      hd_option_suggestion(set, name, "--", suggestion));
}

static hd_status is_gone(const hd_option *o, hd_err *err)
{
    return hd_err_set(err, HD_EARG, "--%s is gone: %s", o->name, o->gone);
}

static hd_status take_name(const hd_option_set *set, const hd_words *words, int *i, hd_err *err)
{
    const char *word = words->word[*i] + 2, *equals = strchr(word, '=');
    char name[HD_OPTION_NAME];
    snprintf(name, sizeof name, "%.*s", (int)(equals ? (size_t)(equals - word) : strlen(word)), word);
    hd_option_place at = hd_option_find(set, name);
    bool back = !at.option && !strncmp(name, "no-", 3);
    if (back) at = hd_option_find(set, name + 3);
    if (!at.option || (back && at.option->type != HD_OPTION_FLAG)) return unknown_name(set, name, err);
    if (at.option->gone) return is_gone(at.option, err);
    if (at.option->type != HD_OPTION_FLAG)
        return take_value(set, at, equals ? equals + 1 : NULL, words, i, err);
    if (equals) return hd_err_set(err, HD_EARG, "--%s takes no value", name);
    return give(at, back ? "false" : "true", err);
}

static hd_status take_letters(const hd_option_set *set, const hd_words *words, int *i, hd_err *err)
{
    for (const char *letter = words->word[*i] + 1; *letter; letter++) {
        hd_option_place at = find_letter(set, *letter);
        if (!at.option) return hd_err_set(err, HD_EARG, "unknown option '-%c'", *letter);
        if (at.option->gone) return is_gone(at.option, err);
        if (at.option->type != HD_OPTION_FLAG)
            return take_value(set, at, letter[1] ? letter + 1 : NULL, words, i, err);
        give(at, "true", err);
    }
    return HD_OK;
}

hd_status hd_option_parse(const hd_option_set *set, hd_words *words, bool leading, hd_err *err)
{
    hd_status s = hd_option_set_defaults(set, err);
    int kept = 0;
    bool ended = false;
    for (int i = 0; !s && i < words->count; i++) {
        char *word = words->word[i];
        if (ended || !is_option(word)) {
            words->word[kept++] = word;
            ended = ended || leading;
        } else if (!strcmp(word, "--")) {
            ended = true;
        } else if (word[1] == '-') {
            s = take_name(set, words, &i, err);
        } else {
            s = take_letters(set, words, &i, err);
        }
    }
    words->count = kept;
    return s;
}

/* ---- help ---- */

const char *hd_option_form(const hd_option *o, char *buffer, size_t size)
{
    char letter[5] = "", more[40] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    if (o->most == 2) snprintf(more, sizeof more, " [%s]", o->argument);
    if (o->most > 2) snprintf(more, sizeof more, "...");
    snprintf(buffer, size, "%s--%s%s%s%s", letter, o->name, o->argument ? " " : "",
             o->argument ? o->argument : "", more);
    return buffer;
}

const char *hd_option_help(const hd_option *o, const char *fallback, char *buffer, size_t size)
{
    if (!*fallback) return o->help;
    snprintf(buffer, size, "%s (default %s)", o->help, fallback);
    return buffer;
}
