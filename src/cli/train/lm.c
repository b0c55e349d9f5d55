/* heed train --task lm: what each kind of language model has where options are not given. */
#include <stdio.h>
#include <string.h>

#include "cli/train/from.h"
#include "cli/train/tasks.h"
#include "cli/train/useless.h"
#include "run/loop.h"
#include "task/language/language.h"

/* -- what a kind has -- */

enum {
    NGRAM = 1 << HD_LM_ngram,
    MAXENT = 1 << HD_LM_maxent,
    FFNN = 1 << HD_LM_ffnn,
    CELLS = 1 << HD_LM_rnn | 1 << HD_LM_gru | 1 << HD_LM_lstm,
    GPT = 1 << HD_LM_gpt,
    NETWORKS = FFNN | CELLS | GPT,
    LEARNED = MAXENT | NETWORKS,
    EVERY = NGRAM | LEARNED
};

static const struct {
    const char *name;
    unsigned kinds;
} owners[] = {{"unit", EVERY},
              {"vocab", EVERY},
              {"subwords", EVERY},
              {"coverage", EVERY},
              {"tokenizer-model", EVERY},
              {"order", NGRAM | MAXENT | FFNN},
              {"smoothing", NGRAM},
              {"add-k", NGRAM},
              {"features", MAXENT},
              {"layers", CELLS | GPT},
              {"width", NETWORKS},
              {"inner", FFNN | GPT},
              {"heads", GPT},
              {"norm", GPT},
              {"activation", FFNN | GPT | 1 << HD_LM_rnn},
              {"untied", FFNN | CELLS | GPT},
              {"context", LEARNED},
              {"batch", LEARNED},
              {"dropout", NETWORKS},
              {"accumulate", LEARNED},
              {"lr", LEARNED},
              {"warmup", LEARNED},
              {"fit-warmup", LEARNED},
              {"schedule", LEARNED},
              {"decay-steps", LEARNED},
              {"floor", LEARNED},
              {"optimizer", LEARNED},
              {"beta1", LEARNED},
              {"beta2", LEARNED},
              {"adam-eps", LEARNED},
              {"momentum", LEARNED},
              {"weight-decay", LEARNED},
              {"clip", LEARNED},
              {"sum-loss", LEARNED},
              {"ema", LEARNED},
              {"label-smoothing", LEARNED},
              {"seed", LEARNED},
              {"epochs", LEARNED},
              {"steps", LEARNED},
              {"patience", LEARNED},
              {"valid-every", LEARNED}};

bool hd_train_lm_has(hd_lm_kind kind, const char *option)
{
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (!strcmp(owners[i].name, option)) return owners[i].kinds >> kind & 1;
    return false;
}

/* -- what is not given -- */

enum { GPT2S = HD_TRAIN_PRESETS - HD_TRAIN_GPT2, TOKENS = 491520, CALM_TOKENS = 8192 };

typedef struct setting {
    const char *name;
    const char *value[HD_LM_KINDS]; /* by kind, in the order of HD_LM_LIST; NULL: as in the table */
    const char *preset[GPT2S];      /* gpt2, gpt2-medium, gpt2-large, gpt2-xl; NULL: as gpt has it */
} setting;

/* gpt is nanoGPT's setting for a laptop; the others are measured on tinyshakespeare's characters
   (docs/language-models.md), and each takes a minute or two at most. The presets have the sizes of the
   published models, nanoGPT's recipe for the smallest, and the rates of GPT-3's paper for the others. */
static const setting settings[] = {
    /*                ngram maxent ffnn rnn gru lstm gpt */
    {"layers", {"1", "1", "1", "1", "1", "1", "4"}, {"12", "24", "36", "48"}},
    {"width", {"1", "1", "64", "256", "256", "256", "128"}, {"768", "1024", "1280", "1600"}},
    {"inner", {"1", "1", "256", "256", "256", "256", NULL}, {NULL}},
    {"heads", {"1", "1", "1", "1", "1", "1", "4"}, {"12", "16", "20", "25"}},
    {"context", {"64", "64", "64", "64", "64", "64", "64"}, {"1024", "1024", "1024", "1024"}},
    {"activation",
     {NULL, NULL, "tanh", "tanh", "tanh", "tanh", "gelu"},
     {"gelu_tanh", "gelu_tanh", "gelu_tanh", "gelu_tanh"}},
    {"unit", {NULL}, {"subword", "subword", "subword", "subword"}},
    {"vocab", {NULL}, {"50257", "50257", "50257", "50257"}},
    {"dropout", {"0", "0", "0", "0", "0", "0", "0"}, {NULL}},
    {"batch", {NULL, "12", "24", "12", "12", "12", "12"}, {NULL}},
    {"accumulate", {NULL}, {"40", "60", "120", "240"}},
    {"lr",
     {"0.001", "0.02", "0.005", "0.002", "0.004", "0.004", "0.002"},
     {"0.0006", "0.0003", "0.00025", "0.0002"}},
    {"warmup", {"100", "100", "100", "100", "100", "100", "100"}, {"2000", "2000", "2000", "2000"}},
    {"schedule", {"cosine", "cosine", "cosine", "cosine", "cosine", "cosine", "cosine"}, {NULL}},
    {"floor", {"0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1"}, {NULL}},
    {"weight-decay", {"0", "0", "0.01", "0.01", "0.01", "0.01", "0.1"}, {NULL}},
    {"beta2", {"0.99", "0.99", "0.99", "0.99", "0.99", "0.99", "0.99"}, {"0.95", "0.95", "0.95", "0.95"}},
    {"adam-eps", {"1e-8", "1e-8", "1e-8", "1e-8", "1e-8", "1e-8", "1e-8"}, {NULL}},
    {"label-smoothing", {"0", "0", "0", "0", "0", "0", "0"}, {NULL}},
    {"steps",
     {NULL, "1000", "4000", "2000", "2000", "2000", "2000"},
     {"600000", "600000", "600000", "600000"}},
    {NULL, {NULL}, {NULL}},
};

/* -- a model to begin with -- */

static hd_status take_sizes(const hd_option_set sets[2], const hd_lm_opt *m, hd_err *err)
{
    size_t inner = m->stack.inner         ? m->stack.inner
                   : m->kind == HD_LM_gpt ? 4 * m->stack.width
                                          : m->stack.width;
    const struct {
        const char *name;
        size_t value;
    } numbers[] = {{"order", (size_t)m->order}, {"features", m->buckets}, {"layers", (size_t)m->stack.layers},
                   {"width", m->stack.width},   {"inner", inner},         {"heads", (size_t)m->stack.heads}};
    hd_status s = hd_train_from_take(sets, "model", hd_lm_names[m->kind], err);
    for (size_t i = 0; !s && i < sizeof numbers / sizeof *numbers; i++)
        if (hd_train_lm_has(m->kind, numbers[i].name))
            s = hd_train_from_number(sets, numbers[i].name, numbers[i].value, err);
    if (!s && m->kind == HD_LM_gpt)
        s = hd_train_from_take(sets, "norm", m->stack.pre_norm ? "pre" : "post", err);
    if (!s && hd_train_lm_has(m->kind, "untied")) s = hd_train_from_switch(sets, "untied", !m->tied, err);
    if (!s && hd_train_lm_has(m->kind, "activation")) s = hd_train_from_activation(sets, m->stack.act, err);
    return s;
}

/* Windows may be shorter than what a gpt can see, not longer. */
static hd_status take_model(const hd_option_set sets[2], size_t *context, hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_tokenizer *tokenizer = NULL;
    hd_lm_opt m;
    size_t window = 0;
    hd_status s = hd_train_from_check(sets, err);
    if (!s) s = hd_language_describe(o->from, &m, &tokenizer, err);
    hd_tokenizer_free(tokenizer);
    if (!s && m.kind == HD_LM_ngram)
        s = hd_err_set(err, HD_EARG, "--from %s: an ngram counts and cannot go on learning", o->from);
    if (!s) s = take_sizes(sets, &m, err);
    if (!s) s = hd_train_context(&window, o, 1, err);
    if (!s && m.kind == HD_LM_gpt && window > m.context)
        s = hd_err_set(err, HD_EARG, "--context is %zu, but the model of --from %s sees %zu tokens", window,
                       o->from, m.context);
    if (!s && !hd_train_given(sets, "dropout")) o->dropout = (double)m.stack.dropout;
    *context = window ? window : m.context;
    return s;
}

/* -- and what is not given -- */

static hd_status fill(const hd_option_set sets[2], bool preset, hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    hd_status s = HD_OK;
    for (const setting *row = settings; !s && row->name; row++) {
        const char *own = preset ? row->preset[o->preset - HD_TRAIN_GPT2] : NULL;
        const char *value = own ? own : row->value[o->model];
        if (value && !(limited && !strcmp(row->name, "steps")))
            s = hd_train_from_fill(sets, row->name, value, own != NULL, err);
    }
    return s;
}

static const char *value_of(hd_lm_kind kind, const char *name)
{
    for (const setting *row = settings; row->name; row++)
        if (!strcmp(row->name, name)) return row->value[kind];
    return NULL;
}

/* "ngram, maxent or ffnn": the kinds that have an option. */
static const char *kinds_with(const char *option, char *buffer, size_t size)
{
    size_t used = 0, left = 0;
    for (int k = 0; k < HD_LM_KINDS; k++) left += hd_train_lm_has((hd_lm_kind)k, option);
    for (int k = 0; k < HD_LM_KINDS && used < size; k++) {
        if (!hd_train_lm_has((hd_lm_kind)k, option)) continue;
        left--;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", hd_lm_names[k],
                                 left > 1    ? ", "
                                 : left == 1 ? " or "
                                             : "");
    }
    return buffer;
}

/* Shapes that the kind of model does not have. */
static hd_status refuse_useless(const hd_option_set sets[2], hd_err *err)
{
    static const char *const of_shape[] = {"order", "smoothing", "add-k", "features",   "layers", "width",
                                           "inner", "heads",     "norm",  "activation", "untied", "dropout"};
    const hd_train_options *o = sets[0].into;
    hd_lm_kind kind = (hd_lm_kind)o->model;
    hd_status s = HD_OK;
    char owners_text[64], model[32];
    snprintf(model, sizeof model, "--model %s", hd_lm_names[kind]);
    for (size_t i = 0; !s && i < sizeof of_shape / sizeof *of_shape; i++) {
        const char *name = of_shape[i], *without = value_of(kind, name);
        if (hd_train_lm_has(kind, name)) continue;
        if (!strcmp(name, "order")) without = o->unit == HD_TRAIN_CHAR ? "6" : "3";
        s = hd_train_useless(sets, name, without, kinds_with(name, owners_text, sizeof owners_text), model,
                             err);
    }
    return s;
}

/* Windows of an update: a preset's are told by their tokens, and those of long ones are fewer. */
static void fill_batch(const hd_option_set sets[2], bool preset, size_t length)
{
    hd_train_options *o = sets[0].into;
    size_t most = preset ? TOKENS / length : CALM_TOKENS / length;
    if (hd_train_given(sets, "batch") || !(preset || o->from) || o->model != HD_LM_gpt) return;
    if (preset || most < (size_t)o->batch) o->batch = most ? (int)most : 1;
}

hd_status hd_train_lm_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    bool preset = hd_train_given(sets, "preset");
    size_t window = 0;
    if (preset && o->preset < HD_TRAIN_GPT2)
        return hd_err_set(err, HD_EARG,
                          "--preset: those of --task lm are gpt2, gpt2-medium, gpt2-large and gpt2-xl");
    hd_status s = o->from ? take_model(sets, &window, err) : HD_OK;
    if (s) return s;
    if (o->model >= HD_LM_KINDS)
        return hd_err_set(err, HD_EARG,
                          "--model transformer is no language model: gpt is the one of its blocks");
    if (preset && o->model != HD_LM_gpt)
        return hd_err_set(err, HD_EARG, "--model %s has no --preset: gpt has", hd_lm_names[o->model]);
    s = fill(sets, preset, err);
    if (!s && !o->from) s = hd_train_context(&window, o, 1, err);
    if (s) return s;
    fill_batch(sets, preset, window);
    if (o->from && !preset)
        hd_train_from_calm(sets, o->model == HD_LM_gpt ? hd_train_from_rate((size_t)o->width) : o->lr / 10);
    if (o->model == HD_LM_gpt && !o->from && !hd_train_given(sets, "inner")) o->inner = 4 * o->width;
    if (o->tokenizer_file.count && !hd_train_given(sets, "unit") &&
        !strstr(o->tokenizer_file.text[0], ".txt"))
        o->unit = HD_TRAIN_SUBWORD;
    if (o->unit != HD_TRAIN_SUBWORD && !hd_train_given(sets, "vocab")) o->vocab = HD_TRAIN_ALL_PIECES;
    if (!hd_train_given(sets, "order") && !o->from)
        o->order = o->model == HD_LM_ffnn     ? (o->unit == HD_TRAIN_CHAR ? 9 : 5)
                   : o->unit == HD_TRAIN_CHAR ? 6
                                              : 3;
    return o->from ? HD_OK : refuse_useless(sets, err);
}
