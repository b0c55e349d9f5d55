/* heed train --task translate: the presets. */
#include <string.h>

#include "cli/frame/settings.h"
#include "cli/train/from.h"
#include "cli/train/tasks.h"
#include "task/translate/options.h"
#include "task/translate/translator.h"

/* -- what is not given -- */

typedef struct setting {
    const char *name, *value[HD_TRAIN_PRESETS]; /* by preset; NULL: as without one */
} setting;

/* tiny is measured (docs/recipes.md); the other Transformers follow the literature for their size. The
   recurrent ones have the shape of their papers, in the size of Multi30k. */
static const setting settings[] = {
    /* tiny small base big; sutskever rnnsearch luong tutorial */
    {"encoder", {NULL, NULL, NULL, NULL, "lstm", "bi-gru", "lstm", "gru"}},
    {"decoder", {NULL, NULL, NULL, NULL, "lstm", "gru", "lstm", "gru"}},
    {"context", {NULL, NULL, NULL, NULL, "fixed", "attention", "attention", "attention"}},
    {"score", {NULL, NULL, NULL, NULL, NULL, "additive", "bilinear", "additive"}},
    {"query", {NULL, NULL, NULL, NULL, NULL, "previous", "current", "previous"}},
    {"begin", {NULL, NULL, NULL, NULL, "final", "map", "final", "final"}},
    {"read", {NULL, NULL, NULL, NULL, "state", "deep", "tanh", "state"}},
    {"feed-context", {NULL, NULL, NULL, NULL, NULL, NULL, "true", NULL}},
    {"reverse-source", {NULL, NULL, NULL, NULL, "true", NULL, NULL, NULL}},
    {"untied", {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "true"}},
    {"encoder-layers", {"4", "6", "6", "6", "4", "1", "2", "1"}},
    {"decoder-layers", {"4", "6", "6", "6", "4", "1", "2", "1"}},
    {"width", {"128", "256", "512", "1024", "512", "512", "512", "128"}},
    {"inner", {"256", "1024", "2048", "4096"}},
    {"heads", {"4", "4", "8", "16"}},
    {"vocab", {"8000", "8000", "16000", "32000", "8000", "8000", "8000", "8000"}},
    {"batch-tokens", {"2500", "4096", "16384", "32768", "2500", "2500", "2500", "1000"}},
    {"dropout", {"0.2", "0.2", "0.1", "0.3", "0.2", "0.3", "0.3", "0.1"}},
    {"attention-dropout", {"0", "0", "0.1", "0.1", "0", "0", "0", "0"}},
    {"inner-dropout", {"0", "0", "0.1", "0.1"}},
    {"label-smoothing", {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "0"}},
    {"optimizer", {NULL, NULL, NULL, NULL, "adam", "adam", "adam", "adam"}},
    {"beta2", {NULL, NULL, NULL, NULL, "0.999", "0.999", "0.999", "0.999"}},
    {"adam-eps", {NULL, NULL, NULL, NULL, "1e-8", "1e-8", "1e-8", "1e-8"}},
    {"lr", {"0.005", "0.002", "0.0007", "0.0005", "0.001", "0.002", "0.001", "0.005"}},
    {"warmup", {"1000", "2000", "4000", "4000", "0", "0", "0", "0"}},
    {"schedule",
     {"linear", "linear", "inverse_sqrt", "inverse_sqrt", "linear", "linear", "linear", "linear"}},
    {"weight-decay", {"0.2", "0.2", "0.01", "0.01", "0", "0", "0", "0"}},
    {"clip", {NULL, NULL, NULL, NULL, "5", "1", "5", "1"}},
    {"ema", {"0", "0", "0.9995", "0.9999", "0", "0", "0", "0"}},
    {"epochs", {"40", "40", NULL, NULL, "20", "20", "20", "20"}},
    {"steps", {NULL, NULL, "100000", "300000"}},
    {NULL, {NULL}},
};

/* A run that is told when to end needs no limit of the preset's. */
static bool is_limit(const char *name)
{
    return !strcmp(name, "epochs") || !strcmp(name, "steps");
}

/* A recurrent encoder or decoder that is asked for without a preset. */
static bool asks_for_cells(const hd_option_set sets[2])
{
    const hd_train_options *o = sets[0].into;
    const char *const name[] = {"encoder", "decoder"}, *const text[] = {o->encoder, o->decoder};
    for (int i = 0; i < 2; i++) {
        hd_stages s;
        if (hd_train_given(sets, name[i]) && !hd_stages_read(&s, text[i], &(hd_err){0}) &&
            hd_stages_recur(&s))
            return true;
    }
    return false;
}

/* Shapes that are not given by sizes alone, and sizes; all come with the model of --from. */
static const char *const of_shape[] = {
    "encoder",         "decoder",     "context", "score",          "attention", "window",
    "attention-heads", "project",     "query",   "begin",          "read",      "feed-context",
    "skips",           "no-feedback", "relu",    "reverse-source", NULL};
static const char *const of_model[] = {"encoder-layers", "decoder-layers", "width", "inner",
                                       "heads",          "untied",         "vocab", NULL};

static hd_status take_model(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_tokenizer *tokenizer[2] = {NULL, NULL};
    hd_encdec_opt m;
    size_t longest;
    hd_status s = hd_train_from_check(sets, err);
    for (const char *const *name = of_shape; !s && *name; name++)
        if (hd_train_given(sets, *name))
            s = hd_err_set(err, HD_EARG, "--%s does not go with --from %s: the model has its shape", *name,
                           o->from);
    if (!s) s = hd_translator_describe(o->from, &m, tokenizer, &longest, err);
    hd_tokenizer_free_pair(tokenizer);
    if (!s) s = hd_train_from_number(sets, "encoder-layers", (size_t)m.encoder_layers, err);
    if (!s) s = hd_train_from_number(sets, "decoder-layers", (size_t)m.decoder_layers, err);
    if (!s) s = hd_train_from_number(sets, "width", m.stack.width, err);
    if (!s) s = hd_train_from_number(sets, "inner", m.stack.inner, err);
    if (!s) s = hd_train_from_number(sets, "heads", (size_t)m.stack.heads, err);
    if (!s) s = hd_train_from_number(sets, "positions", m.positions, err);
    if (!s)
        s = hd_train_from_take(sets, "position-kind",
                               m.no_positions        ? "none"
                               : m.learned_positions ? "learned"
                                                     : "sinusoidal",
                               err);
    if (!s) s = hd_train_from_switch(sets, "no-scale", m.stack.unscaled_scores, err);
    if (!s) s = hd_train_from_take(sets, "norm", m.stack.pre_norm ? "pre" : "post", err);
    if (!s) s = hd_train_from_switch(sets, "untied", !m.tied, err);
    if (!s) s = hd_train_from_activation(sets, m.cell == HD_sigmoid ? m.cell : m.stack.act, err);
    if (!s && !hd_train_given(sets, "max-length") && o->max_length >= o->positions)
        o->max_length = o->positions - 1;
    return s;
}

/* What a model that has learned already needs less of. */
static void calm(const hd_option_set sets[2])
{
    hd_train_options *o = sets[0].into;
    hd_train_from_calm(sets, hd_train_from_rate((size_t)o->width));
    if (!hd_train_given(sets, "dropout")) o->dropout = 0.1;
    if (!hd_train_given(sets, "weight-decay")) o->weight_decay = 0.01;
}

/* --layers is for both sides; what is said of one side counts more. */
static void part_layers(const hd_option_set sets[2])
{
    static const char *const sides[] = {"encoder-layers", "decoder-layers"};
    const hd_train_options *o = sets[0].into;
    for (int i = 0; i < 2 && hd_train_given(sets, "layers"); i++) {
        hd_option_place at = hd_option_find(sets, sides[i], strlen(sides[i]));
        if (*at.given) continue;
        *(int *)at.field = o->layers;
        *at.given = true;
    }
}

hd_status hd_train_translate_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    if (!hd_train_given(sets, "preset") && asks_for_cells(sets)) o->preset = HD_TRAIN_TUTORIAL;
    int preset = o->preset;
    if (preset >= HD_TRAIN_BERT_TINY)
        return hd_err_set(err, HD_EARG,
                          "--preset: those of BERT are for --task mlm, those of GPT-2 for lm; translators "
                          "have tiny, small, base, "
                          "big, sutskever, rnnsearch, luong and tutorial");
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    part_layers(sets);
    hd_status taken = o->from ? take_model(sets, err) : HD_OK;
    if (taken) return taken;
    for (const setting *s = settings; s->name; s++) {
        hd_option_place at = hd_option_find(sets, s->name, strlen(s->name));
        if (*at.given || !s->value[preset] || (limited && is_limit(s->name))) continue;
        if (o->from && (hd_settings_named(s->name, of_shape) || hd_settings_named(s->name, of_model)))
            continue;
        hd_status st = hd_option_read(at.option, at.field, s->value[preset], err);
        if (st) return st;
    }
    if (o->from && !hd_train_given(sets, "preset")) calm(sets);
    hd_stages encoder = {0};
    bool known = !o->encoder || !hd_stages_read(&encoder, o->encoder, &(hd_err){0});
    if (known && !hd_stages_recur(&encoder) && !hd_train_given(sets, "begin")) o->begin = HD_BEGINNING_map;
    if (o->feeding == HD_FEEDING_gumbel && !hd_train_given(sets, "sampling-rate")) o->sampling_rate = 1;
    return hd_train_encdec_belong(sets, err);
}
