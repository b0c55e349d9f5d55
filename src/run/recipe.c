/* Fills in the options of a run. Order matters: what a model of --from brings comes before presets, values
   that follow from others after them, and only then is it known which options have no effect. */
#include "run/recipe.h"

#include <stdio.h>

#include "train/optimizer.h"
#include "train/schedule.h"

static hd_option_place find(const hd_option_set sets[2], const char *option)
{
    return hd_option_find(sets, option, strlen(option));
}

/* -- tasks -- */

bool hd_recipe_has_task(const hd_option *row, int task)
{
    return !row->tasks || row->tasks >> task & 1;
}

static hd_status check_task(const hd_option_set sets[2], hd_err *err)
{
    int task = ((const hd_train_options *)sets[0].into)->task, owner = 0;
    for (const hd_option *row = sets[0].table; row->name; row++) {
        if (!hd_train_given(sets, row->name) || hd_recipe_has_task(row, task)) continue;
        while (!hd_recipe_has_task(row, owner)) owner++;
        return hd_err_set(err, HD_EARG, "--%s is an option of --task %s, not of %s", row->name,
                          hd_train_tasks[owner], hd_train_tasks[task]);
    }
    return HD_OK;
}

/* -- a model to begin with -- */

/* Whether a row of the options has the value that the text says, and how both are written. */
static bool is(const hd_option *row, const hd_train_options *o, const char *value, hd_text *has,
               hd_text *other, hd_err *err)
{
    hd_train_options then = {0};
    if (value && hd_option_read(row, (char *)&then + row->offset, value, err)) return false;
    hd_option_value(has, row, o);
    hd_option_value(other, row, &then);
    return hd_text_status(has, err) == HD_OK && hd_text_status(other, err) == HD_OK &&
           !strcmp(has->data ? has->data : "", other->data ? other->data : "");
}

hd_status hd_taking_say(hd_taking *t, const char *option, const char *value, hd_err *err)
{
    hd_option_place at = find(t->sets, option);
    hd_err why = {0};
    hd_text given = {0}, model = {0};
    hd_status s = HD_OK;
    t->said[at.option - t->sets[0].table] = true;
    if (!hd_option_given(at.given)) {
        *at.given = HD_GIVEN_MODEL;
        s = hd_option_read(at.option, at.field, value, err);
    } else if (at.option->from != HD_FROM_DEFAULT && !is(at.option, t->options, value, &given, &model, &why))
        s = why.status ? hd_err_set(err, why.status, "%s", why.text)
                       : hd_err_set(err, HD_EARG, "--%s is %s, but in the model of --from %s it is %s",
                                    option, given.data, t->options->from, model.data);
    hd_text_release(&given);
    hd_text_release(&model);
    return s;
}

hd_status hd_taking_number(hd_taking *t, const char *option, size_t value, hd_err *err)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return hd_taking_say(t, option, text, err);
}

hd_status hd_taking_switch(hd_taking *t, const char *option, bool value, hd_err *err)
{
    return hd_taking_say(t, option, value ? "true" : "false", err);
}

hd_status hd_taking_real(hd_taking *t, const char *option, double value, hd_err *err)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return hd_taking_say(t, option, text, err);
}

hd_status hd_taking_activation(hd_taking *t, hd_unary act, hd_err *err)
{
    return act == HD_IDENTITY ? HD_OK : hd_taking_say(t, "activation", hd_unary_name(act), err);
}

/* What is the model's alone. */
static bool fixed(const hd_option *row)
{
    return row->from == HD_FROM_MODEL || row->from == HD_FROM_SIZE || row->from == HD_FROM_TOKENIZER;
}

static hd_status take(const hd_recipe *r, const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_taking t = {.sets = sets, .options = o};
    hd_status s = HD_OK;
    for (const hd_option *row = sets[0].table; !s && row->name; row++)
        if (row->from == HD_FROM_TOKENIZER && hd_train_given(sets, row->name))
            s = hd_err_set(err, HD_EARG, "--%s does not go with --from %s: the tokenizer is the model's",
                           row->name, o->from);
    if (!s) s = r->take(&t, err);
    for (const hd_option *row = sets[0].table; !s && row->name; row++)
        if (fixed(row) && !t.said[row - sets[0].table] && hd_train_given(sets, row->name))
            s = hd_err_set(err, HD_EARG, "--%s does not go with --from %s: the model has its own", row->name,
                           o->from);
    return s;
}

/* -- presets -- */

bool hd_recipe_limited(const hd_option_set sets[2])
{
    return hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
}

/* A preset that is a published model is of its size. */
static hd_status check_size(const hd_option *row, const hd_train_options *o, hd_preset preset,
                            const char *value, hd_err *err)
{
    hd_err why = {0};
    hd_text model = {0}, other = {0};
    hd_status s = HD_OK;
    if (!is(row, o, value, &model, &other, &why))
        s = why.status
                ? hd_err_set(err, why.status, "%s", why.text)
                : hd_err_set(err, HD_EARG, "--preset %s has --%s %s, but in the model of --from %s it is %s",
                             hd_presets[preset].name, row->name, other.data, o->from, model.data);
    hd_text_release(&model);
    hd_text_release(&other);
    return s;
}

/* Gives a row that is not given what the preset has for it. asked: --preset was given. */
static hd_status apply(const hd_option_set sets[2], const hd_option *row, hd_preset preset, bool asked,
                       hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    hd_option_place at = find(sets, row->name);
    bool named = false;
    const char *value = hd_preset_value(preset, row->name, &named);
    if (!value || hd_option_given(at.given)) return HD_OK;
    if (row->keep == HD_KEEP_LIMIT && hd_recipe_limited(sets)) return HD_OK;
    if (o->from && row->from == HD_FROM_SIZE && asked && named && hd_presets[preset].published)
        return check_size(row, o, preset, value, err);
    if (o->from && (fixed(row) || *at.given == HD_GIVEN_MODEL)) return HD_OK;
    *at.given = asked && named ? HD_GIVEN_PRESET : HD_GIVEN_NOT;
    return hd_option_read(row, at.field, value, err);
}

static hd_status check_preset(const hd_train_options *o, hd_err *err)
{
    char list[160] = "";
    if (hd_presets[o->preset].task == o->task) return HD_OK;
    for (int p = 0; p < HD_PRESETS; p++) {
        size_t used = strlen(list);
        if (hd_presets[p].task == o->task)
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", hd_preset_names[p]);
    }
    return hd_err_set(err, HD_EARG, "--preset %s is for --task %s; those of --task %s are %s",
                      hd_preset_names[o->preset], hd_train_tasks[hd_presets[o->preset].task],
                      hd_train_tasks[o->task], list);
}

/* -- what has an effect -- */

unsigned hd_recipe_parts(const hd_recipe *r, const hd_train_options *o)
{
    unsigned parts = r->parts(o);
    if (hd_presets[o->preset].task == o->task) parts |= HD_HAS_PRESET;
    if (o->from) parts |= HD_HAS_FROM;
    if (o->untied) parts |= HD_HAS_UNTIED;
    if (!(parts & HD_HAS_UPDATES)) return parts;
    if (o->valid.count || o->valid_fraction > 0) parts |= HD_HAS_VALIDATION;
    if (o->schedule == HD_SCHEDULE_cosine || o->schedule == HD_SCHEDULE_linear) parts |= HD_HAS_DECAY;
    return parts | (o->optimizer == HD_OPT_SGD ? HD_HAS_SGD : HD_HAS_ADAM);
}

bool hd_recipe_applies(const hd_option *row, const hd_train_options *o, unsigned parts)
{
    return hd_recipe_has_task(row, o->task) && (!row->needs || row->needs & parts) &&
           !(o->from && row->from == HD_FROM_TOKENIZER);
}

static const char *const part_text[HD_PARTS] = {
#define X(NAME, text) text,
    HD_PART_LIST(X)
#undef X
};

static hd_status no_effect(const hd_recipe *r, const hd_option *row, const hd_train_options *o, hd_err *err)
{
    char needs[256] = "", shape[HD_RECIPE_TEXT];
    static const char model[] = "--model "; /* said once */
    for (int p = 0; p < HD_PARTS; p++) {
        size_t used = strlen(needs), skip = strncmp(needs, part_text[p], strlen(model)) ? 0 : strlen(model);
        if (row->needs >> p & 1)
            snprintf(needs + used, sizeof needs - used, "%s%s", used ? " or " : "",
                     part_text[p] + (used ? skip : 0));
    }
    bool of_model = row->needs < HD_HAS_MODEL;
    return hd_err_set(err, HD_EARG, "--%s needs %s%s%s", row->name, needs, of_model ? ": here " : "",
                      of_model ? r->shape(o, shape) : "");
}

/* A flag that was taken back is not asked for. */
static bool asked_for(hd_option_place at)
{
    return hd_option_given(at.given) && (at.option->type != HD_OPTION_FLAG || *(const bool *)at.field);
}

/* -- all of it -- */

static hd_status complete(const hd_recipe *r, const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    bool named = hd_train_given(sets, "preset");
    for (size_t i = 0; sets[0].table[i].name; i++)
        if (!hd_option_given(&sets[0].given[i])) sets[0].given[i] = HD_GIVEN_NOT;
    hd_preset preset = (hd_preset)o->preset;
    hd_status s = check_task(sets, err);
    if (!s && named) s = check_preset(o, err);
    if (!s && r->spread) r->spread(sets);
    if (!s && o->from) s = take(r, sets, err);
    if (!s && !named) s = r->choose(&preset, sets, err);
    for (const hd_option *row = sets[0].table; !s && row->name; row++)
        s = apply(sets, row, preset, named, err);
    if (!s && preset < HD_PRESETS) o->preset = (int)preset;
    if (!s && !hd_train_given(sets, "warmup")) s = hd_recipe_follow(sets, "fit-warmup", 1, err);
    return s ? s : r->derive(sets, named, err);
}

/* Whether a row would have the same value without being given: training.yml may say it. */
static bool is_idle(const hd_recipe *r, const hd_option_set sets[2], const hd_option *row)
{
    hd_train_options without = {0};
    hd_given given[HD_TRAIN_MOST_ROWS] = {HD_GIVEN_NOT};
    const hd_option_set copy[2] = {{sets[0].table, &without, given}, sets[1]};
    hd_status s = hd_option_set_defaults(&copy[0], NULL);
    for (size_t i = 0; sets[0].table[i].name; i++) {
        if (&sets[0].table[i] == row || !hd_option_given(&sets[0].given[i])) continue;
        given[i] = sets[0].given[i];
        hd_option_copy(&sets[0].table[i], &without, sets[0].into);
    }
    without.task = ((const hd_train_options *)sets[0].into)->task;
    if (!s) s = complete(r, copy, NULL);
    return !s && !hd_option_differs(row, sets[0].into, &without);
}

hd_status hd_recipe_fill(const hd_recipe *r, const hd_option_set sets[2], hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    hd_status s = complete(r, sets, err);
    if (s) return s;
    unsigned parts = hd_recipe_parts(r, o);
    for (const hd_option *row = sets[0].table; row->name; row++) {
        hd_option_place at = find(sets, row->name);
        if (!asked_for(at) || hd_recipe_applies(row, o, parts)) continue;
        if (*at.given == HD_GIVEN_FILE && is_idle(r, sets, row)) continue;
        return no_effect(r, row, o, err);
    }
    return HD_OK;
}

/* -- values that follow from others -- */

hd_status hd_recipe_follow(const hd_option_set sets[2], const char *option, double value, hd_err *err)
{
    hd_option_place at = find(sets, option);
    char text[40];
    if (hd_option_given(at.given)) return HD_OK;
    *at.given = HD_GIVEN_BY_OTHERS;
    if (at.option->type == HD_OPTION_FLAG) return *(bool *)at.field = value != 0, HD_OK;
    if (at.option->type == HD_OPTION_CHOICE) return *(int *)at.field = (int)value, HD_OK;
    snprintf(text, sizeof text, "%.17g", value);
    return hd_option_read(at.option, at.field, text, err);
}

hd_status hd_recipe_continue(const hd_option_set sets[2], double rate, hd_err *err)
{
    hd_status s = hd_recipe_follow(sets, "lr", rate, err);
    if (!s) s = hd_recipe_follow(sets, "warmup", 100, err);
    if (s || hd_recipe_limited(sets)) return s;
    s = hd_recipe_follow(sets, "steps", 0, err);
    return s ? s : hd_recipe_follow(sets, "epochs", 3, err);
}

double hd_recipe_rate(size_t width)
{
    return 5e-5 * 768 / (double)width;
}
