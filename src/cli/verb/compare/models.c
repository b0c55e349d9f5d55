/* Models to be trained side by side. */
#include "cli/verb/compare/compare.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "cli/train/train.h"
#include "task/language/training.h"
#include "train/checkpoint.h"
#include "train/duration.h"

/* -- reading -- */

static hd_option_place place_of(const hd_asked_model *m, const char *option)
{
    const hd_option_set set = {hd_train_table, (void *)&m->options, m->given, NULL};
    return hd_option_find(&set, option);
}

static hd_lm_kind kind_of(const hd_asked_model *m)
{
    return (hd_lm_kind)m->options.model;
}

static hd_status give(hd_asked_model *m, const char *option, const char *value, hd_err *err)
{
    hd_option_place at = place_of(m, option);
    hd_status s = hd_option_read(at.option, at.field, value, err);
    if (!s) *at.given = HD_GIVEN_HERE;
    return s;
}

static hd_status no_setting(const hd_asked_model *m, const char *setting, hd_err *err)
{
    const char *kind = hd_lm_names[kind_of(m)];
    hd_spelling near = hd_spelling_of(setting);
    for (const hd_option *o = hd_train_table; o->name; o++)
        if (hd_language_has(kind_of(m), o)) hd_spelling_try(&near, o->name);
    if (near.match)
        return hd_err_set(err, HD_EARG, "--models: %s has no setting '%s', did you mean '%s'?", kind, setting,
                          near.match);
    return hd_err_set(err, HD_EARG, "--models: %s has no setting '%s'", kind, setting);
}

/* "order=3"; it becomes part of the name. */
static hd_status read_setting(hd_asked_model *m, char *setting, hd_err *err)
{
    char *value = strchr(setting, '=');
    hd_err why = {0};
    size_t used = strlen(m->name);
    if (!value || value == setting || !value[1])
        return hd_err_set(err, HD_EARG, "--models: '%s' in %s(...) is not NAME=VALUE", setting,
                          hd_lm_names[kind_of(m)]);
    if (used + strlen(setting) + 2 > sizeof m->name)
        return hd_err_set(err, HD_EARG, "--models: the settings of %s are too long for a folder name",
                          hd_lm_names[kind_of(m)]);
    m->name[used++] = '-';
    for (const char *c = setting; *c; c++)
        m->name[used++] = (char)(isalnum((unsigned char)*c) || strchr("=.+-_", *c) ? *c : '_');
    *value++ = 0;
    hd_option_place at = place_of(m, setting);
    if (!at.option || !hd_language_has(kind_of(m), at.option)) return no_setting(m, setting, err);
    if (hd_option_given(at.given))
        return hd_err_set(err, HD_EARG, "--models: %s has '%s' twice", hd_lm_names[kind_of(m)], setting);
    if (!give(m, setting, value, &why)) return HD_OK;
    return hd_err_set(err, HD_EARG, "--models: %s(%s=%s): %s", hd_lm_names[kind_of(m)], setting, value,
                      why.text);
}

static hd_status read_kind(hd_asked_model *m, const char *kind, hd_err *err)
{
    hd_err why = {0};
    if (give(m, "model", kind, &why)) return hd_err_set(err, HD_EARG, "--models: %s", why.text);
    snprintf(m->name, sizeof m->name, "%s", kind);
    return HD_OK;
}

/* "ngram(order=3 smoothing=add-k)", whose parentheses match. */
static hd_status read_model(hd_models *all, char *spelled, hd_err *err)
{
    static const char between[] = " \t,";
    hd_asked_model *m = &all->at[all->count++];
    size_t rows = hd_option_count(hd_train_table), size = strlen(spelled);
    char *open = strchr(spelled, '(');
    if (open && (spelled[size - 1] != ')' || strchr(open + 1, '(')))
        return hd_err_set(err, HD_EARG, "--models: '%s' is not MODEL or MODEL(NAME=VALUE ...)", spelled);
    m->given = hd_arena_array(&all->memory, rows, sizeof *m->given, err);
    if (!m->given) return HD_ENOMEM;
    const hd_option_set set = {hd_train_table, &m->options, m->given, NULL};
    hd_words none = {NULL, 0};
    hd_status s = hd_option_parse(&set, &none, false, err);
    if (!s) s = give(m, "task", "lm", err);
    if (open) *open = 0, spelled[size - 1] = 0;
    if (!s) s = read_kind(m, spelled, err);
    char *next = NULL;
    for (char *word = open && !s ? strtok_r(open + 1, between, &next) : NULL; word && !s;
         word = strtok_r(NULL, between, &next))
        s = read_setting(m, word, err);
    for (size_t i = 0; !s && i + 1 < all->count; i++)
        if (!strcmp(all->at[i].name, m->name))
            s = hd_err_set(err, HD_EARG,
                           "--models: %s is there twice: give models of one kind different settings, as in "
                           "ngram(order=3),ngram(order=6)",
                           m->name);
    return s;
}

/* The text up to the next comma outside of parentheses, which is cut off; *rest is what is behind it. */
static char *cut_model(char *text, char **rest)
{
    int depth = 0;
    char *end = text;
    while (*end && (*end != ',' || depth)) depth += (*end == '(') - (*end == ')'), end++;
    *rest = *end ? end + 1 : NULL;
    *end = 0;
    while (isspace((unsigned char)*text)) text++;
    while (end > text && isspace((unsigned char)end[-1])) *--end = 0;
    return text;
}

hd_status hd_models_read(hd_models *out, const char *spelled, hd_err *err)
{
    size_t size = strlen(spelled) + 1, most = 1;
    *out = (hd_models){0};
    hd_arena_init(&out->memory, hd_allocator_host, 0);
    for (const char *c = spelled; *c; c++) most += *c == ',';
    out->at = hd_mem_array(most, sizeof *out->at);
    char *copy = hd_arena_take(&out->memory, size);
    hd_status s = out->at && copy ? HD_OK : hd_err_nomem(err, most * sizeof *out->at);
    if (!s) memcpy(copy, spelled, size);
    for (char *rest = copy; !s && rest;) s = read_model(out, cut_model(rest, &rest), err);
    return s;
}

void hd_models_release(hd_models *m)
{
    hd_mem_free(m->at);
    hd_arena_release(&m->memory);
    *m = (hd_models){0};
}

hd_status hd_models_give(hd_models *m, const char *option, const char *value, bool *taken, hd_err *err)
{
    *taken = false;
    for (size_t i = 0; i < m->count; i++) {
        hd_asked_model *a = &m->at[i];
        hd_err why = {0};
        if (!hd_language_has(kind_of(a), place_of(a, option).option)) continue;
        *taken = true;
        if (!hd_option_given(place_of(a, option).given) && give(a, option, value, &why))
            return hd_err_set(err, HD_EARG, "--%s: %s", option, why.text);
    }
    return HD_OK;
}

/* -- training -- */

/* What the folder holds of the model that is asked for. */
typedef enum standing { NOTHING, BEGUN, RESUMABLE, FINISHED } standing;

static hd_status look(standing *out, const hd_asked_model *m, hd_err *err)
{
    char path[HD_PATH];
    hd_err why = {0};
    *out = NOTHING;
    hd_status s = hd_path(path, m->folder, "training.yml", err);
    if (s || access(path, F_OK)) return s;
    s = hd_train_same(&m->options, m->given, &why);
    if (s)
        return hd_err_set(err, HD_EFILE, "%s: %s (--overwrite here, or another --out)", m->folder, why.text);
    *out = hd_duration_load(m->folder).finished ? FINISHED
           : hd_checkpoint_exists(m->folder)    ? RESUMABLE
                                                : BEGUN;
    return HD_OK;
}

static hd_status train(hd_command *c, hd_asked_model *m, bool overwrite, hd_err *err)
{
    standing now = NOTHING;
    hd_train_options o = m->options;
    o.out = m->options.out = m->folder;
    hd_status s = overwrite ? HD_OK : look(&now, m, err);
    if (s) return s;
    if (now == FINISHED) {
        hd_log_say(&c->log, HD_INFO, "%s: already trained, used as it is", m->folder);
        return HD_OK;
    }
    hd_log_say(&c->log, HD_INFO, "%s: %s", m->folder, now == RESUMABLE ? "resuming" : "training");
    o.resume = now == RESUMABLE;
    o.overwrite = overwrite || now == BEGUN;
    return hd_train_run(c, &o, m->given, err);
}

hd_status hd_models_train(hd_command *c, hd_models *m, const char *out, bool overwrite, hd_err *err)
{
    hd_status s = hd_folder_make(out, NULL, err);
    for (size_t i = 0; !s && !c->exit && i < m->count; i++) {
        hd_err why = {0};
        hd_asked_model *a = &m->at[i];
        s = hd_path(a->folder, out, a->name, err);
        if (!s) s = train(c, a, overwrite, err);
        if (s || !hd_signals_noted()) continue;
        hd_err_set(&why, HD_EARG, "stopped; everything is saved: give the same command to continue");
        hd_command_fail(c, &why);
        c->exit = hd_signals_status();
    }
    return s;
}
