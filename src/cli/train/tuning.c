/* Fine-tuning: classifiers that begin with a model that is there. */
#include "cli/train/tuning.h"

#include <math.h>
#include <stdio.h>

#include "cli/train/from.h"
#include "task/label/pretrained.h"

enum { LONGEST = 512 }; /* tokens of an item, where the model has as many positions */

static const struct {
    const char *name, *value;
} recipe[] = {
    {"warmup", "20"},   {"schedule", "linear"}, {"floor", "0"}, {"weight-decay", "0.01"},
    {"beta2", "0.999"}, {"adam-eps", "1e-8"},   {"clip", "1"},  {"label-smoothing", "0"},
    {"batch", "32"},    {"epochs", "10"},       {NULL, NULL},
};

/* 2e-5 at the width of bert-base; the narrower, the larger. Recurrent layers, and weights that were only
   drawn, bear more (measured at a width of 128: docs/classification.md). */
static double rate_of(const hd_body_opt *b, bool scratch)
{
    bool recurs = b->kind == HD_BODY_lm && b->lm.kind != HD_LM_gpt;
    double rate = 2e-5 * pow(768 / (double)hd_body_width(b), 1.5);
    if (b->kind == HD_BODY_stages || scratch) rate *= 3;
    return fmin(recurs ? 5 * rate : rate, 0.002);
}

static hd_status refuse_given(const hd_option_set sets[2], hd_err *err)
{
    static const char *const its_own[] = {"encoder",         "unit", "vocab",      "subwords", "coverage",
                                          "tokenizer-model", "norm", "activation", "untied",   "one-hot"};
    const hd_train_options *o = sets[0].into;
    for (size_t i = 0; i < sizeof its_own / sizeof *its_own; i++)
        if (hd_train_given(sets, its_own[i]))
            return hd_err_set(err, HD_EARG, "--%s does not go with --from: it is as it is in %s", its_own[i],
                              o->from);
    return HD_OK;
}

static hd_status keep_sizes(const hd_option_set sets[2], const hd_body_opt *b, hd_err *err)
{
    bool bert = b->kind == HD_BODY_bert, lm = b->kind == HD_BODY_lm;
    size_t layers = (size_t)(bert ? b->bert.stack.layers : lm ? b->lm.stack.layers : b->encoder.at[0].layers);
    size_t heads = (size_t)(bert ? b->bert.stack.heads : lm ? b->lm.stack.heads : b->stack.heads);
    size_t inner = bert ? b->bert.stack.inner : lm ? b->lm.stack.inner : b->stack.inner;
    hd_status s = hd_train_from_number(sets, "layers", layers, err);
    if (!s) s = hd_train_from_number(sets, "width", hd_body_width(b), err);
    if (!s) s = hd_train_from_number(sets, "heads", heads, err);
    if (!s && inner) s = hd_train_from_number(sets, "inner", inner, err);
    return s;
}

static hd_status fit_length(const hd_option_set sets[2], const hd_body_opt *b, hd_err *err)
{
    hd_train_options *o = sets[0].into;
    if (!hd_train_given(sets, "max-length"))
        o->max_length = b->positions && b->positions < LONGEST ? (int)b->positions : LONGEST;
    bool fixed = b->kind == HD_BODY_stages; /* its table of positions is as long as it is */
    if (b->positions && ((size_t)o->max_length > b->positions || fixed))
        return hd_train_from_number(sets, "max-length", b->positions, err);
    return HD_OK;
}

static hd_status fill(const hd_option_set sets[2], const hd_origin *origin, hd_err *err)
{
    hd_train_options *o = sets[0].into;
    const hd_body_opt *b = &origin->body;
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    hd_pool_kind pool = origin->head.classes      ? origin->head.pool
                        : b->kind == HD_BODY_bert ? HD_POOL_first
                                                  : HD_POOL_last;
    hd_status s = refuse_given(sets, err);
    if (!s && hd_train_given(sets, "model"))
        s = hd_err_set(err, HD_EARG, "--model does not go with --from: it is %s there", hd_body_model(b));
    if (!s && o->lm_loss > 0 && b->kind != HD_BODY_lm)
        s = hd_err_set(err, HD_EARG, "--lm-loss: %s is no language model, but %s", o->from, hd_body_model(b));
    if (!s) s = keep_sizes(sets, b, err);
    if (!s) s = fit_length(sets, b, err);
    for (size_t i = 0; !s && recipe[i].name; i++) {
        hd_option_place at = hd_option_find(sets, recipe[i].name, strlen(recipe[i].name));
        if (*at.given || (limited && !strcmp(recipe[i].name, "epochs"))) continue;
        s = hd_option_read(at.option, at.field, recipe[i].value, err);
    }
    if (!hd_train_given(sets, "lr")) o->lr = rate_of(b, o->scratch);
    if (!hd_train_given(sets, "dropout")) o->dropout = round(1e6 * (double)hd_body_dropout(b)) / 1e6;
    if (!o->pool) o->pool = 1 + (int)pool;
    if (!hd_train_given(sets, "valid-fraction") && !o->valid.count) o->valid_fraction = 0.1;
    return s;
}

hd_status hd_train_tuning_preset(const hd_option_set sets[2], hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    hd_origin origin;
    hd_status s = hd_origin_open(&origin, o->from, err);
    if (s) return s;
    s = fill(sets, &origin, err);
    hd_origin_release(&origin);
    return s;
}
