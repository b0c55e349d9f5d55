/* Options of --task classify, regress and tag: what encoders have, and models that are fine-tuned. */
#include "task/label/recipe.h"

#include <math.h>
#include <stdio.h>

#include "task/label/options.h"
#include "task/label/pretrained.h"

enum { LONGEST = 512 }; /* tokens of an item, where the model has as many positions */

/* -- what an encoder has -- */

static unsigned parts_of(const hd_train_options *o)
{
    hd_stages stages;
    unsigned parts = HD_HAS_UPDATES | HD_HAS_NETWORK | HD_HAS_LAYERS;
    if (o->unit == HD_TRAIN_SUBWORD && !o->tokenizer_file.count) parts |= HD_HAS_SUBWORDS;
    if (o->from) return parts | HD_HAS_BLOCKS | HD_HAS_ACTIVATION;
    if (hd_label_stages(&stages, o, NULL)) return ~0u; /* the check of the task says why */
    hd_stage_kind active = hd_train_names_cell(o->activation) ? HD_STAGE_rnn : HD_STAGE_transformer;
    if (hd_stages_have(&stages, HD_STAGE_transformer)) parts |= HD_HAS_BLOCKS;
    if (hd_stages_have(&stages, active)) parts |= HD_HAS_ACTIVATION;
    if (hd_stage_recurs(&stages.at[0])) parts |= HD_HAS_CELLS_FIRST;
    return parts;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    hd_stages stages;
    char text[HD_STAGES_TEXT];
    if (hd_label_stages(&stages, o, NULL)) return "";
    snprintf(to, HD_RECIPE_TEXT, "the encoder is %s", hd_stages_text(&stages, text));
    return to;
}

/* -- a model that is fine-tuned -- */

/* 2e-5 at the width of bert-base; the narrower, the larger. Recurrent layers, and weights that were only
   drawn, bear more (measured at a width of 128: docs/classification.md). */
static double rate_of(const hd_body_opt *b, bool scratch)
{
    bool recurs = b->kind == HD_BODY_lm && b->lm.kind != HD_LM_gpt;
    double rate = 2e-5 * pow(768 / (double)hd_body_width(b), 1.5);
    if (b->kind == HD_BODY_stages || scratch) rate *= 3;
    return fmin(recurs ? 5 * rate : rate, 0.002);
}

static hd_status take_sizes(hd_taking *t, const hd_body_opt *b, hd_err *err)
{
    bool bert = b->kind == HD_BODY_bert, lm = b->kind == HD_BODY_lm;
    size_t layers = (size_t)(bert ? b->bert.stack.layers : lm ? b->lm.stack.layers : b->encoder.at[0].layers);
    size_t heads = (size_t)(bert ? b->bert.stack.heads : lm ? b->lm.stack.heads : b->stack.heads);
    size_t inner = bert ? b->bert.stack.inner : lm ? b->lm.stack.inner : b->stack.inner;
    hd_status s = hd_taking_number(t, "layers", layers, err);
    if (!s) s = hd_taking_number(t, "width", hd_body_width(b), err);
    if (!s) s = hd_taking_number(t, "heads", heads, err);
    if (!s && inner) s = hd_taking_number(t, "ffn-size", inner, err);
    return s;
}

/* Longer items than the model has positions for are refused; the positions of stages are as many as there
   are. */
static hd_status fit_length(hd_taking *t, const hd_body_opt *b, hd_err *err)
{
    const hd_train_options *o = t->options;
    int most = b->positions && b->positions < LONGEST ? (int)b->positions : LONGEST;
    hd_status s = hd_recipe_follow(t->sets, "max-length", most, err);
    if (s || !b->positions || ((size_t)o->max_length <= b->positions && b->kind != HD_BODY_stages)) return s;
    return hd_taking_number(t, "max-length", b->positions, err);
}

static hd_status take_body(hd_taking *t, const hd_origin *origin, hd_err *err)
{
    const hd_train_options *o = t->options;
    const hd_body_opt *b = &origin->body;
    hd_pool_kind pool = origin->head.classes      ? origin->head.pool
                        : b->kind == HD_BODY_bert ? HD_POOL_first
                                                  : HD_POOL_last;
    if (hd_train_given(t->sets, "model"))
        return hd_err_set(err, HD_EARG, "--model does not go with --from: it is %s there", hd_body_model(b));
    if (o->lm_loss > 0 && b->kind != HD_BODY_lm)
        return hd_err_set(err, HD_EARG, "--lm-loss: %s is not a language model, but %s", o->from,
                          hd_body_model(b));
    hd_status s = take_sizes(t, b, err);
    if (!s) s = fit_length(t, b, err);
    if (!s) s = hd_recipe_follow(t->sets, "lr", rate_of(b, o->scratch), err);
    if (!s) s = hd_taking_real(t, "dropout", round(1e6 * (double)hd_body_dropout(b)) / 1e6, err);
    return s || o->pool ? s : hd_recipe_follow(t->sets, "pool", 1 + (int)pool, err);
}

static hd_status take(hd_taking *t, hd_err *err)
{
    hd_origin origin;
    hd_status s = hd_origin_open(&origin, t->options->from, err);
    if (s) return s;
    s = take_body(t, &origin, err);
    hd_origin_release(&origin);
    return s;
}

/* -- what is not given -- */

static hd_status choose(hd_preset *out, const hd_option_set sets[2], hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    hd_stages stages;
    *out = HD_PRESET_FINE_TUNING;
    if (o->from) return HD_OK;
    hd_status s = hd_recipe_follow(sets, "model", HD_LM_gru, err);
    if (!s) s = hd_label_stages(&stages, o, err);
    if (!s) *out = hd_stage_recurs(&stages.at[stages.count - 1]) ? HD_PRESET_LABELS : HD_PRESET_LABELS_BLOCKS;
    return s;
}

static hd_status derive(const hd_option_set sets[2], bool named, hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    hd_stages stages;
    hd_status s = HD_OK;
    (void)named;
    if (!o->valid.count) s = hd_recipe_follow(sets, "valid-fraction", 0.1, err);
    if (s || o->from) return s;
    s = hd_label_stages(&stages, o, err);
    if (!s && !hd_stages_have(&stages, HD_STAGE_transformer)) {
        s = hd_recipe_follow(sets, "heads", 1, err);
        if (!s) s = hd_recipe_follow(sets, "ffn-size", 1, err);
    }
    if (!s && o->task == HD_TRAIN_TAG) s = hd_recipe_follow(sets, "unit", HD_TRAIN_WORD, err);
    if (!s && o->unit != HD_TRAIN_SUBWORD) s = hd_recipe_follow(sets, "vocab-size", HD_TRAIN_ALL_PIECES, err);
    return s;
}

const hd_recipe hd_recipe_labels = {NULL, choose, take, derive, parts_of, shape};
