/* Runs that begin with a model that is there. */
#include "cli/train/from.h"

#include <stdio.h>

#include "base/mem.h"
#include "cli/frame/settings.h"

static const char *const of_tokenizer[] = {"tokenizer", "vocab",          "subwords",        "coverage",
                                           "unit",      "separate-vocab", "tokenizer-model", NULL};

bool hd_train_from_brings(const char *name)
{
    return hd_settings_named(name, of_tokenizer);
}

hd_status hd_train_from_check(const hd_option_set sets[2], hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    for (const char *const *name = of_tokenizer; *name; name++)
        if (hd_train_given(sets, *name))
            return hd_err_set(err, HD_EARG, "--%s does not go with --from %s: the tokenizer is the model's",
                              *name, o->from);
    return HD_OK;
}

/* Whether a row of the options has the value that the text says, and how both are written. */
static bool is(const hd_option *row, const hd_train_options *o, const char *value, hd_text *has,
               hd_text *other, hd_err *err)
{
    hd_train_options then = {0};
    if (hd_option_read(row, (char *)&then + row->offset, value, err)) return false;
    hd_option_value(has, row, o);
    hd_option_value(other, row, &then);
    return hd_text_status(has, err) == HD_OK && hd_text_status(other, err) == HD_OK &&
           !strcmp(has->data ? has->data : "", other->data ? other->data : "");
}

hd_status hd_train_from_take(const hd_option_set sets[2], const char *name, const char *value, hd_err *err)
{
    hd_option_place at = hd_option_find(sets, name, strlen(name));
    hd_train_options *o = sets[0].into;
    hd_err why = {0};
    hd_text given = {0}, model = {0};
    hd_status s = HD_OK;
    if (!*at.given)
        s = hd_option_read(at.option, at.field, value, err);
    else if (!is(at.option, o, value, &given, &model, &why))
        s = why.status ? hd_err_set(err, why.status, "%s", why.text)
                       : hd_err_set(err, HD_EARG, "--%s is %s, but in the model of --from %s it is %s", name,
                                    given.data, o->from, model.data);
    hd_text_release(&given);
    hd_text_release(&model);
    return s;
}

hd_status hd_train_from_number(const hd_option_set sets[2], const char *name, size_t value, hd_err *err)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return hd_train_from_take(sets, name, text, err);
}

hd_status hd_train_from_switch(const hd_option_set sets[2], const char *name, bool value, hd_err *err)
{
    return hd_train_from_take(sets, name, value ? "true" : "false", err);
}

hd_status hd_train_from_activation(const hd_option_set sets[2], hd_unary act, hd_err *err)
{
    return act == HD_IDENTITY ? HD_OK : hd_train_from_take(sets, "activation", hd_unary_name(act), err);
}

/* The row has the model's value; HD_EARG where --preset would make it another. */
static hd_status agree(const hd_option_set sets[2], const char *name, const char *value, hd_err *err)
{
    hd_option_place at = hd_option_find(sets, name, strlen(name));
    hd_option_place preset = hd_option_find(sets, "preset", strlen("preset"));
    const hd_train_options *o = sets[0].into;
    hd_err why = {0};
    hd_text model = {0}, other = {0};
    hd_status s = HD_OK;
    if (!is(at.option, o, value, &model, &other, &why))
        s = why.status
                ? hd_err_set(err, why.status, "%s", why.text)
                : hd_err_set(err, HD_EARG, "--preset %s has --%s %s, but in the model of --from %s it is %s",
                             preset.option->choices[o->preset], name, other.data, o->from, model.data);
    hd_text_release(&model);
    hd_text_release(&other);
    return s;
}

static const char *const of_model[] = {"layers",     "width", "inner", "heads",   "context",
                                       "activation", "unit",  "vocab", "dropout", NULL};
static const char *const of_size[] = {"layers", "width", "heads", NULL}; /* that tell presets apart */

hd_status hd_train_from_fill(const hd_option_set sets[2], const char *name, const char *value, bool preset,
                             hd_err *err)
{
    hd_option_place at = hd_option_find(sets, name, strlen(name));
    const hd_train_options *o = sets[0].into;
    if (*at.given) return HD_OK;
    if (!o->from || !hd_settings_named(name, of_model))
        return hd_option_read(at.option, at.field, value, err);
    return preset && hd_settings_named(name, of_size) ? agree(sets, name, value, err) : HD_OK;
}

void hd_train_from_calm(const hd_option_set sets[2], double rate)
{
    hd_train_options *o = sets[0].into;
    if (!hd_train_given(sets, "lr")) o->lr = rate;
    if (!hd_train_given(sets, "warmup")) o->warmup = 100;
    if (!hd_train_given(sets, "epochs") && !hd_train_given(sets, "steps")) o->steps = 0, o->epochs = 3;
}

double hd_train_from_rate(size_t width)
{
    return 5e-5 * 768 / (double)width;
}
