/* Fills in the options of a run. Order matters: what a model of --from brings comes before presets, values
   that follow from others after them, and only then is it known which options have no effect. */
#include "run/recipe.h"

#include <stdio.h>

#include "train/optimizer.h"
#include "train/schedule.h"

/* -- tasks -- */

bool hd_recipe_has_task(const hd_option *row, int task)
{
    return !row->tasks || row->tasks >> task & 1;
}

static hd_status check_task(const hd_option_set *set, hd_err *err)
{
    int task = ((const hd_train_options *)set->into)->task, owner = 0;
    for (const hd_option *row = set->table; row->name; row++) {
        if (!hd_train_given(set, row->name) || hd_recipe_has_task(row, task)) continue;
        while (!hd_recipe_has_task(row, owner)) owner++;
        return hd_err_set(err, HD_EARG, "--%s is an option of --task %s, not of %s", row->name,
                          hd_train_tasks[owner], hd_train_tasks[task]);
    }
    return HD_OK;
}

/* -- a model to begin with -- */

/* HD_EARG where a row is not what the text says, one of them being the model's; subject: who has the other.
 */
static hd_status agree(const char *subject, const hd_option *row, const hd_train_options *o, const char *text,
                       bool text_is_model, hd_err *err)
{
    hd_train_options other = {0};
    hd_text value[2] = {{0}, {0}};
    hd_err why = {0};
    hd_status s = text ? hd_option_read(row, (char *)&other + row->offset, text, err) : HD_OK;
    if (s || hd_option_same(row, o, &other, value, &why)) return s;
    s = why.status ? hd_err_set(err, why.status, "%s", why.text)
                   : hd_err_set(err, HD_EARG, "%s %s, but in the model of --from %s it is %s", subject,
                                value[!text_is_model].data, o->from, value[text_is_model].data);
    hd_text_release(&value[0]);
    hd_text_release(&value[1]);
    return s;
}

hd_status hd_taking_say(hd_taking *t, const char *option, const char *value, hd_err *err)
{
    hd_option_place at = hd_option_find(t->set, option);
    char subject[80];
    t->said[at.option - t->set->table] = true;
    if (!hd_option_given(at.given)) {
        *at.given = HD_GIVEN_MODEL;
        return hd_option_read(at.option, at.field, value, err);
    }
    if (at.option->from == HD_FROM_DEFAULT) return HD_OK;
    snprintf(subject, sizeof subject, "--%s is", option);
    return agree(subject, at.option, t->options, value, true, err);
}

/* A number as it would be typed; of a flag 0 or 1, of a choice its place. */
static const char *typed(const hd_option *row, double value, char to[40])
{
    if (row->type == HD_OPTION_FLAG) return value != 0 ? "true" : "false";
    if (row->type == HD_OPTION_CHOICE) return row->choices[(int)value];
    snprintf(to, 40, "%.17g", value);
    return to;
}

hd_status hd_taking_real(hd_taking *t, const char *option, double value, hd_err *err)
{
    char text[40];
    return hd_taking_say(t, option, typed(hd_option_find(t->set, option).option, value, text), err);
}

hd_status hd_taking_number(hd_taking *t, const char *option, size_t value, hd_err *err)
{
    return hd_taking_real(t, option, (double)value, err);
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

/* Whether it was given something: training.yml of such a run may say the default of a row that the model does
   not say. */
static bool differs(const hd_option_set *set, const hd_option *row)
{
    hd_option_place at = hd_option_find(set, row->name);
    hd_train_options other = {0};
    if (!hd_option_given(at.given)) return false;
    if (*at.given != HD_GIVEN_FILE) return true;
    return (row->fallback && hd_option_read(row, (char *)&other + row->offset, row->fallback, NULL)) ||
           !hd_option_same(row, set->into, &other, NULL, NULL);
}

static hd_status take(const hd_recipe *r, const hd_option_set *set, hd_err *err)
{
    hd_train_options *o = set->into;
    hd_taking t = {.set = set, .options = o};
    hd_status s = HD_OK;
    for (const hd_option *row = set->table; !s && row->name; row++)
        if (row->from == HD_FROM_TOKENIZER && hd_train_given(set, row->name))
            s = hd_err_set(err, HD_EARG, "--%s does not go with --from %s: the tokenizer is the model's",
                           row->name, o->from);
    if (!s) s = r->take(&t, err);
    for (const hd_option *row = set->table; !s && row->name; row++)
        if (fixed(row) && !t.said[row - set->table] && differs(set, row))
            s = hd_err_set(err, HD_EARG, "--%s does not go with --from %s: the model has its own", row->name,
                           o->from);
    return s;
}

/* -- presets -- */

/* Whether it was given when the run ends. */
static bool limited(const hd_option_set *set)
{
    return hd_train_given(set, "epochs") || hd_train_given(set, "steps");
}

/* Gives a row that is not given what the preset has for it. asked: --preset was given. */
static hd_status apply(const hd_option_set *set, const hd_option *row, hd_preset preset, bool asked,
                       hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_option_place at = hd_option_find(set, row->name);
    bool named = false;
    char subject[80];
    const char *value = hd_preset_value(preset, row->name, &named);
    if (!value || hd_option_given(at.given)) return HD_OK;
    if (row->keep == HD_KEEP_LIMIT && limited(set)) return HD_OK;
    if (o->from && row->from == HD_FROM_SIZE && asked && named && hd_presets[preset].published) {
        snprintf(subject, sizeof subject, "--preset %s has --%s", hd_presets[preset].name, row->name);
        return agree(subject, row, o, value, false, err); /* a published model is of its size */
    }
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

hd_run_parts hd_recipe_parts(const hd_recipe *r, const hd_train_options *o)
{
    hd_run_parts parts = r->parts(o);
    if (!(parts & (HD_HAS_PICTURES | HD_HAS_MUSIC))) parts |= HD_HAS_TEXTS;
    if (hd_presets[o->preset].task == o->task) parts |= HD_HAS_PRESET;
    if (o->from) parts |= HD_HAS_FROM;
    if (o->lora) parts |= HD_HAS_LORA;
    if (o->untied) parts |= HD_HAS_UNTIED;
    if (!(parts & HD_HAS_UPDATES)) return parts;
    bool held = o->valid.count || o->valid_names || o->valid_fraction > 0;
    if (held || parts & HD_HAS_MUSIC) parts |= HD_HAS_VALIDATION; /* files of music may have a part for it */
    if (o->schedule == HD_SCHEDULE_cosine || o->schedule == HD_SCHEDULE_linear) parts |= HD_HAS_DECAY;
    if (o->optimizer == HD_OPT_MUON) parts |= HD_HAS_MUON;
    return parts | (o->optimizer == HD_OPT_SGD ? HD_HAS_SGD : HD_HAS_ADAM);
}

bool hd_recipe_applies(const hd_option *row, const hd_train_options *o, hd_run_parts parts)
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
    bool of_model = row->needs & HD_HAS_OF_MODEL;
    return hd_err_set(err, HD_EARG, "--%s needs %s%s%s", row->name, needs, of_model ? ": here " : "",
                      of_model ? r->shape(o, shape) : "");
}

/* A flag that was taken back is not asked for. */
static bool asked_for(hd_option_place at)
{
    return hd_option_given(at.given) && (at.option->type != HD_OPTION_FLAG || *(const bool *)at.field);
}

/* -- all of it -- */

static hd_status complete(const hd_recipe *r, const hd_option_set *set, hd_err *err)
{
    hd_train_options *o = set->into;
    bool named = hd_train_given(set, "preset");
    for (size_t i = 0; set->table[i].name; i++)
        if (!hd_option_given(&set->given[i])) set->given[i] = HD_GIVEN_NOT;
    hd_preset preset = (hd_preset)o->preset;
    hd_status s = check_task(set, err);
    if (!s && named) s = check_preset(o, err);
    if (!s && r->spread) r->spread(set);
    if (!s && o->from) s = take(r, set, err);
    if (!s && !named) s = r->choose(&preset, set, err);
    for (const hd_option *row = set->table; !s && row->name; row++) s = apply(set, row, preset, named, err);
    if (!s && preset < HD_PRESETS) o->preset = (int)preset;
    if (!s && !hd_train_given(set, "warmup")) s = hd_recipe_follow(set, "fit-warmup", 1, err);
    return s ? s : r->derive(set, named, err);
}

/* Whether a row would have the same value without being given: training.yml may say it. */
static bool is_idle(const hd_recipe *r, const hd_option_set *set, const hd_option *row)
{
    hd_train_options without = {0};
    hd_given given[HD_TRAIN_MOST_ROWS] = {HD_GIVEN_NOT};
    const hd_option_set copy = {set->table, &without, given, NULL};
    hd_status s = hd_option_set_defaults(&copy, NULL);
    for (size_t i = 0; set->table[i].name; i++) {
        if (&set->table[i] == row || !hd_option_given(&set->given[i])) continue;
        given[i] = set->given[i];
        hd_option_copy(&set->table[i], &without, set->into);
    }
    without.task = ((const hd_train_options *)set->into)->task;
    if (!s) s = complete(r, &copy, NULL);
    return !s && hd_option_same(row, set->into, &without, NULL, NULL);
}

hd_status hd_recipe_fill(const hd_recipe *r, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    hd_status s = complete(r, set, err);
    if (s) return s;
    hd_run_parts parts = hd_recipe_parts(r, o);
    for (const hd_option *row = set->table; row->name; row++) {
        hd_option_place at = hd_option_find(set, row->name);
        if (!asked_for(at) || hd_recipe_applies(row, o, parts)) continue;
        if (*at.given == HD_GIVEN_FILE && is_idle(r, set, row)) continue;
        return no_effect(r, row, o, err);
    }
    return HD_OK;
}

/* -- values that follow from others -- */

hd_status hd_recipe_follow(const hd_option_set *set, const char *option, double value, hd_err *err)
{
    hd_option_place at = hd_option_find(set, option);
    char text[40];
    if (hd_option_given(at.given)) return HD_OK;
    *at.given = HD_GIVEN_BY_OTHERS;
    return hd_option_read(at.option, at.field, typed(at.option, value, text), err);
}

hd_status hd_recipe_continue(const hd_option_set *set, double rate, hd_err *err)
{
    hd_status s = hd_recipe_follow(set, "lr", rate, err);
    if (!s) s = hd_recipe_follow(set, "warmup", 100, err);
    if (s || limited(set)) return s;
    s = hd_recipe_follow(set, "steps", 0, err);
    return s ? s : hd_recipe_follow(set, "epochs", 3, err);
}

double hd_recipe_rate(size_t width)
{
    return 5e-5 * 768 / (double)width;
}
