/* heed train --task lm: what each kind of language model has where options are not given, what they mean, and
   a run. */
#include <math.h>
#include <string.h>

#include "cli/train_loop.h"
#include "cli/train_sitting.h"
#include "cli/train_tasks.h"
#include "task/language_train.h"

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
              {"tokeniser-model", EVERY},
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
              {"untied", FFNN | CELLS},
              {"context", LEARNED},
              {"batch", LEARNED},
              {"dropout", NETWORKS},
              {"accumulate", LEARNED},
              {"lr", LEARNED},
              {"warmup", LEARNED},
              {"schedule", LEARNED},
              {"decay-steps", LEARNED},
              {"floor", LEARNED},
              {"optimiser", LEARNED},
              {"beta1", LEARNED},
              {"beta2", LEARNED},
              {"adam-eps", LEARNED},
              {"momentum", LEARNED},
              {"weight-decay", LEARNED},
              {"clip", LEARNED},
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

typedef struct setting {
    const char *name, *value[HD_LM_KINDS]; /* by kind, in the order of HD_LM_LIST; NULL: as in the table */
} setting;

/* gpt is nanoGPT's setting for a laptop; the others are measured on tinyshakespeare's characters
   (docs/language-models.md), and each takes a minute or two at most. */
static const setting settings[] = {
    /*                ngram maxent ffnn rnn gru lstm gpt */
    {"layers", {"1", "1", "1", "1", "1", "1", "4"}},
    {"width", {"1", "1", "64", "256", "256", "256", "128"}},
    {"inner", {"1", "1", "256", "256", "256", "256", NULL}},
    {"heads", {"1", "1", "1", "1", "1", "1", "4"}},
    {"context", {"64", "64", "64", "64", "64", "64", "64"}},
    {"activation", {NULL, NULL, "tanh", "tanh", "tanh", "tanh", "gelu"}},
    {"dropout", {"0", "0", "0", "0", "0", "0", "0"}},
    {"batch", {NULL, "12", "24", "12", "12", "12", "12"}},
    {"lr", {"0.001", "0.02", "0.005", "0.002", "0.004", "0.004", "0.002"}},
    {"warmup", {"100", "100", "100", "100", "100", "100", "100"}},
    {"schedule", {"cosine", "cosine", "cosine", "cosine", "cosine", "cosine", "cosine"}},
    {"floor", {"0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "0.1"}},
    {"weight-decay", {"0", "0", "0.01", "0.01", "0.01", "0.01", "0.1"}},
    {"beta2", {"0.99", "0.99", "0.99", "0.99", "0.99", "0.99", "0.99"}},
    {"adam-eps", {"1e-8", "1e-8", "1e-8", "1e-8", "1e-8", "1e-8", "1e-8"}},
    {"label-smoothing", {"0", "0", "0", "0", "0", "0", "0"}},
    {"steps", {NULL, "1000", "4000", "2000", "2000", "2000", "2000"}},
    {NULL, {NULL}},
};

hd_status hd_train_lm_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    if (o->model >= HD_LM_KINDS)
        return hd_err_set(err, HD_EARG,
                          "--model transformer is no language model: gpt is the one of its blocks");
    for (const setting *s = settings; s->name; s++) {
        hd_option_place at = hd_option_find(sets, s->name, strlen(s->name));
        const char *value = s->value[o->model];
        if (*at.given || !value || (limited && !strcmp(s->name, "steps"))) continue;
        hd_status st = hd_option_read(at.option, at.field, value, err);
        if (st) return st;
    }
    if (o->model == HD_LM_gpt && !hd_train_given(sets, "inner")) o->inner = 4 * o->width;
    if (o->unit != HD_TRAIN_SUBWORD && !hd_train_given(sets, "vocab")) o->vocab = HD_TRAIN_ALL_PIECES;
    if (!hd_train_given(sets, "order"))
        o->order = o->model == HD_LM_ffnn     ? (o->unit == HD_TRAIN_CHAR ? 9 : 5)
                   : o->unit == HD_TRAIN_CHAR ? 6
                                              : 3;
    return HD_OK;
}

/* -- what they mean -- */

/* --context has a word for a translator, for a language model a number. */
static hd_status window_of(const hd_train_options *o, size_t *to, hd_err *err)
{
    static const hd_option row = {"context", .type = HD_OPTION_INT, .min = 1, .max = 1000000};
    hd_err why = {0};
    int n = 0;
    if (hd_option_read(&row, &n, o->context, &why))
        return hd_err_set(err, HD_EARG, "--context: %s", why.text);
    *to = (size_t)n;
    return HD_OK;
}

static hd_status check(const hd_train_options *o, hd_err *err)
{
    hd_lm_kind kind = (hd_lm_kind)o->model;
    if (!o->train.count) return hd_err_set(err, HD_EARG, "--train is missing: what shall be learned from?");
    if (o->train.count > 1 || o->valid.count > 1)
        return hd_err_set(err, HD_EARG, "a language model learns from one text: --%s has two files",
                          o->train.count > 1 ? "train" : "valid");
    if (o->tokeniser_file.count > 1)
        return hd_err_set(err, HD_EARG,
                          "a language model has one tokeniser: --tokeniser-model has two files");
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
                       .layers = o->layers,
                       .heads = o->heads,
                       .width = (size_t)o->width,
                       .inner = (size_t)o->inner,
                       .dropout = (float)o->dropout,
                       .post_norm = o->norm == 1,
                       /* a hidden layer of another width needs an output table of its own */
                       .tied = !o->untied && (o->model != HD_LM_ffnn || o->inner == o->width),
                       .act = hd_train_activation(o->activation)};
}

/* Borrows texts of o. */
static hd_status meaning(hd_language_train_opt *to, const hd_train_options *o, int threads, hd_err *err)
{
    hd_status s = check(o, err);
    if (s) return s;
    *to = (hd_language_train_opt){
        .train = o->train.text[0],
        .valid = o->valid.count ? o->valid.text[0] : NULL,
        .valid_fraction = o->valid_fraction,
        .kind = hd_train_unit(o->unit),
        .vocabulary = {.vocab = o->vocab == HD_TRAIN_ALL_PIECES ? 0 : (size_t)o->vocab,
                       .unigram = o->subwords == 1,
                       .coverage = o->coverage,
                       .least = o->unit == HD_TRAIN_WORD ? 2 : 1}, /* <unk> is learned from words seen once */
        .tokeniser = o->tokeniser_file.count ? o->tokeniser_file.text[0] : NULL,
        .model = model_of(o),
        .optimiser = hd_train_optimiser(o),
        .smoothing = (float)o->label_smoothing,
        .batch = (size_t)o->batch,
        .parts = (size_t)o->accumulate,
        .device = o->device,
        .precision = (hd_precision)o->precision,
        .threads = threads,
        .trainer = hd_train_loop(o)};
    return window_of(o, &to->model.context, err);
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

static int show_plan(const hd_command *c, const hd_language_train_opt *t)
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
    fprintf(f, "memory             %.1f MiB for weights, gradients, moments and an update\n",
            (double)p.memory / 1048576);
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
    if (o->dry_run) return show_plan(c, &t);
    if (hd_train_sitting_begin(&now, c, o, &t.trainer, &err)) return hd_command_fail(c, &err);
    t.open = hd_train_sitting_open, t.began = say_plan;
    hd_status s = hd_language_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    if (result.counted)
        say_counted(c, o->out, &result);
    else
        hd_train_sitting_say_end(&now, &result.progress, result.ending);
    return HD_EXIT_OK;
}
