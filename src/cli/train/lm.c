/* heed train --task lm: what each kind of language model has where options are not given, what they mean, and
   a run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/train/from.h"
#include "cli/train/loop.h"
#include "cli/train/memory.h"
#include "cli/train/sitting.h"
#include "cli/train/tasks.h"
#include "cli/train/useless.h"
#include "task/language/train.h"

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

/* --context has a word for a translator, for a language model a number. */
static hd_status window_of(const hd_train_options *o, size_t *to, hd_err *err)
{
    static const hd_option row = {"context", .type = HD_OPTION_INT, .min = 1, .max = 1000000};
    hd_err why = {0};
    int n = 0;
    if (o->context && hd_option_read(&row, &n, o->context, &why))
        return hd_err_set(err, HD_EARG, "--context: %s", why.text);
    *to = (size_t)n;
    return HD_OK;
}

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
    if (!s) s = window_of(o, &window, err);
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
    if (!s && !o->from) s = window_of(o, &window, err);
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

/* -- what they mean -- */

static hd_status check(const hd_train_options *o, hd_err *err)
{
    hd_lm_kind kind = (hd_lm_kind)o->model;
    if (!o->train.count) return hd_err_set(err, HD_EARG, "--train is missing: what shall be learned from?");
    if (o->train.count > 1 || o->valid.count > 1)
        return hd_err_set(err, HD_EARG, "a language model learns from one text: --%s has two files",
                          o->train.count > 1 ? "train" : "valid");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    if (kind == HD_LM_ngram && o->order > HD_NGRAM_MOST)
        return hd_err_set(err, HD_EARG, "--order %d: an ngram has at most %d", o->order, HD_NGRAM_MOST);
    if ((kind == HD_LM_ffnn || kind == HD_LM_maxent) && o->order < 2)
        return hd_err_set(err, HD_EARG, "--order 1: a %s looks at one token at least: --order 2",
                          hd_lm_names[kind]);
    if (kind == HD_LM_ngram) return HD_OK;
    if (kind == HD_LM_gpt && o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    hd_unary act = hd_train_activation(o->activation);
    if (kind == HD_LM_rnn && act != HD_tanh && act != HD_sigmoid)
        return hd_err_set(err, HD_EARG, "--activation of a rnn is tanh or sigmoid");
    return hd_train_check_end(o, err);
}

static hd_lm_opt model_of(const hd_train_options *o)
{
    return (hd_lm_opt){.kind = (hd_lm_kind)o->model,
                       .order = o->order,
                       .smoothing = (hd_smoothing)o->smoothing,
                       .k = o->add_k,
                       .buckets = (size_t)o->features,
                       .stack.layers = o->layers,
                       .stack.heads = o->heads,
                       .stack.width = (size_t)o->width,
                       .stack.inner = (size_t)o->inner,
                       .stack.dropout = (float)o->dropout,
                       .embedding_dropout = (float)o->dropout,
                       .stack.attention_dropout = (float)o->dropout,
                       .stack.pre_norm = o->norm != 1,
                       /* a hidden layer of another width needs an output table of its own */
                       .tied = !o->untied && (o->model != HD_LM_ffnn || o->inner == o->width),
                       .stack.act = hd_train_activation(o->activation)};
}

/* Borrows texts of o. */
static hd_status meaning(hd_language_train_opt *to, const hd_train_options *o, int threads, hd_err *err)
{
    hd_status s = check(o, err);
    if (s) return s;
    *to = (hd_language_train_opt){
        .from = o->from,
        .train = o->train.text[0],
        .valid = o->valid.count ? o->valid.text[0] : NULL,
        .valid_fraction = o->valid_fraction,
        .kind = hd_train_unit(o->unit),
        .vocabulary = {.vocab = o->vocab == HD_TRAIN_ALL_PIECES ? 0 : (size_t)o->vocab,
                       .unigram = o->subwords == 1,
                       .coverage = o->coverage,
                       .least = o->unit == HD_TRAIN_WORD ? 2 : 1}, /* <unk> is learned from words seen once */
        .model = model_of(o),
        .optimizer = hd_train_optimizer(o),
        .smoothing = (float)o->label_smoothing,
        .batch = (size_t)o->batch,
        .parts = (size_t)o->accumulate,
        .device = o->device,
        .precision = (hd_precision)o->precision,
        .threads = threads,
        .trainer = hd_train_loop(o)};
    s = hd_train_tokenizer(&to->tokenizer, o, err);
    return s ? s : window_of(o, &to->model.context, err);
}

/* -- a run -- */

static void say_plan(void *context, const hd_language_plan *p)
{
    const hd_command *c = hd_train_sitting_command(context);
    const hd_lm_opt *m = &p->model;
    char a[32], b[32], d[32];
    if (!p->parameters)
        hd_log_say(&c->log, HD_INFO, "%s of order %d, %s; vocabulary %s", hd_lm_names[m->kind], m->order,
                   hd_smoothing_names[m->smoothing], hd_grouped(m->vocab, a));
    else
        hd_log_say(&c->log, HD_INFO, "%s, vocabulary %s: %s parameters", hd_lm_names[m->kind],
                   hd_grouped(m->vocab, a), hd_grouped(p->parameters, b));
    hd_log_say(&c->log, HD_INFO, "%s tokens in %s lines to learn from, %s to validate",
               hd_grouped(p->tokens, a), hd_grouped(p->lines, b), hd_grouped(p->valid_tokens, d));
    if (p->parameters)
        hd_log_say(&c->log, HD_DEBUG, "%s batches an epoch, %.2f GFLOP an update; on %s",
                   hd_grouped(p->batches, a), p->flops / 1e9, p->backend);
}

static int show_plan(const hd_command *c, const hd_train_options *o, const hd_language_train_opt *t)
{
    hd_language_plan p;
    hd_err err = {0};
    char a[32], b[32];
    if (hd_language_plan_make(&p, t, &err)) return hd_command_fail(c, &err);
    FILE *f = c->out.file;
    if (p.parameters) fprintf(f, "parameters         %s\n", hd_grouped(p.parameters, a));
    fprintf(f, "vocabulary         %s\n", hd_grouped(p.model.vocab, a));
    fprintf(f, "tokens             %s", hd_grouped(p.tokens, a));
    if (p.valid_tokens) fprintf(f, ", %s to validate", hd_grouped(p.valid_tokens, b));
    fputc('\n', f);
    if (!p.parameters) return HD_EXIT_OK;
    fprintf(f, "batches an epoch   %s\n", hd_grouped(p.batches, a));
    hd_train_memory_show(c, o, p.memory);
    fprintf(f, "work               %.2f GFLOP an update, %.2f TFLOP an epoch\n", p.flops / 1e9,
            p.flops * (double)p.batches / 1e12);
    return HD_EXIT_OK;
}

static void say_counted(const hd_command *c, const char *folder, const hd_language_result *r)
{
    char a[32];
    const hd_fluency *v = &r->valid;
    hd_log_say(&c->log, HD_INFO, "%s different n-grams counted in %.2f s", hd_grouped(r->size, a),
               r->seconds);
    if (v->tokens)
        hd_log_say(&c->log, HD_INFO, "valid loss %.4f  perplexity %.2f  bits per character %.4f",
                   v->nats / (double)v->tokens, exp(v->nats / (double)v->tokens),
                   v->nats / (double)v->characters / log(2));
    hd_log_say(&c->log, HD_INFO, "the model is in %s: heed generate %s --prompt TEXT", folder, folder);
}

int hd_train_lm(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_language_train_opt t;
    hd_language_result result;
    hd_train_sitting now;
    if (meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return show_plan(c, o, &t);
    if (hd_train_sitting_begin(&now, c, o, &t.trainer, &err)) return hd_command_fail(c, &err);
    t.open = hd_train_sitting_open, t.began = say_plan;
    hd_status s = hd_language_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    if (!result.counted) return hd_train_sitting_end(&now, &result.progress, result.ending);
    say_counted(c, o->out, &result);
    return HD_EXIT_OK;
}
