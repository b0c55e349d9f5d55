/* heed train --task translate: the presets, what the options mean, and a run. */
#include <string.h>

#include "backend/ranks.h"
#include "cli/frame/settings.h"
#include "cli/train/encdec.h"
#include "cli/train/from.h"
#include "cli/train/loop.h"
#include "cli/train/memory.h"
#include "cli/train/sitting.h"
#include "cli/train/tasks.h"
#include "task/translate/train.h"

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

/* -- what they mean -- */

static hd_encdec_opt model_of(const hd_train_options *o)
{
    return (hd_encdec_opt){.encoder_layers = o->encoder_layers,
                           .decoder_layers = o->decoder_layers,
                           .stack.heads = o->heads,
                           .stack.width = (size_t)o->width,
                           .stack.inner = (size_t)o->inner,
                           .tied = !o->untied,
                           .stack.pre_norm = o->norm == 0,
                           .stack.eps = 1e-5f,
                           .stack.act = hd_train_block_activation(o->activation, HD_relu),
                           .cell = hd_train_cell(o->activation),
                           .stack.dropout = (float)o->dropout,
                           .stack.attention_dropout = (float)o->attention_dropout,
                           .stack.inner_dropout = (float)o->inner_dropout,
                           .source_dropout = (float)o->source_dropout,
                           .learned_positions = o->position_kind == 1,
                           .no_positions = o->position_kind == 2,
                           .stack.unscaled_scores = o->no_scale,
                           .positions = (size_t)o->positions,
                           .sinusoid = {.halves = true},
                           .stack.recompute = o->recompute,
                           .frozen = {o->freeze.text, (size_t)o->freeze.count}};
}

static hd_translate_data data_of(const hd_train_options *o)
{
    static const hd_policy when_long[] = {HD_POLICY_SKIP, HD_POLICY_CUT, HD_POLICY_ERROR},
                           when_broken[] = {HD_POLICY_ERROR, HD_POLICY_SKIP},
                           when_empty[] = {HD_POLICY_SKIP, HD_POLICY_ERROR};
    return (hd_translate_data){
        .train = {o->train.text[0], o->train.text[1]},
        .valid = {o->valid.text[0], o->valid.text[1]},
        .valid_fraction = o->valid_fraction,
        .broken = when_broken[o->broken],
        .empty = when_empty[o->empty],
        .too_long = when_long[o->too_long],
        .longest = (size_t)o->max_length,
        .kind = (hd_tokenizer_kind)o->tokenizer,
        .vocabulary = {.vocab = (size_t)o->vocab, .unigram = o->subwords == 1, .coverage = o->coverage},
        .separate = o->separate_vocab,
        .tokenizer = {o->tokenizer_file.text[0], o->tokenizer_file.text[1]}};
}

static hd_status check(const hd_train_options *o, hd_err *err)
{
    if (!o->train.count) return hd_err_set(err, HD_EARG, "--train is missing: what shall be learned from?");
    if (o->max_length + 1 > o->positions)
        return hd_err_set(err, HD_EARG, "--positions %d is too few for --max-length %d and the end",
                          o->positions, o->max_length);
    if (o->batch_tokens < o->max_length + 1)
        return hd_err_set(err, HD_EARG,
                          "--batch-tokens %d is less than a sentence of --max-length %d and its end",
                          o->batch_tokens, o->max_length);
    if (o->separate_vocab && !o->untied)
        return hd_err_set(err, HD_EARG, "--separate-vocab needs --untied: tables of their own");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    return hd_train_check_end(o, err);
}

/* Borrows texts of o. */
static hd_status meaning(hd_translate_train_opt *to, const hd_train_options *o, int threads, hd_err *err)
{
    hd_status s = check(o, err);
    if (s) return s;
    *to = (hd_translate_train_opt){.from = o->from,
                                   .data = data_of(o),
                                   .model = model_of(o),
                                   .optimizer = hd_train_optimizer(o),
                                   .sampling_decay = (uint64_t)o->sampling_decay,
                                   .smoothing = (float)o->label_smoothing,
                                   .batch_tokens = (size_t)o->batch_tokens,
                                   .parts = (size_t)o->accumulate,
                                   .choice = (hd_choice)o->best,
                                   .judged = (size_t)o->valid_sentences,
                                   .device = o->device,
                                   .precision = (hd_precision)o->precision,
                                   .threads = threads,
                                   .trainer = hd_train_loop(o)};
    to->trainer.work = o->recompute ? 4 : 3;
    return hd_train_encdec(&to->model, &to->feeding, o, err);
}

/* -- a run -- */

static void say_plan(void *context, const hd_translate_plan *p)
{
    const hd_command *c = hd_train_sitting_command(context);
    char a[32], b[32], d[32], shape[256];
    const hd_encdec_opt *m = &p->model;
    hd_log_say(&c->log, HD_INFO, "%s, vocabulary %s%s: %s parameters", hd_train_shape(m, shape, sizeof shape),
               hd_grouped(m->source_vocab, a), m->tied ? "" : " (source)", hd_grouped(p->parameters, b));
    if (p->trainable < p->parameters)
        hd_log_say(&c->log, HD_INFO, "%s of them are frozen", hd_grouped(p->parameters - p->trainable, a));
    hd_log_say(&c->log, HD_INFO, "%s pairs to train with, %s to validate; %s batches an epoch",
               hd_grouped(p->pairs, a), hd_grouped(p->valid_pairs, b), hd_grouped(p->batches, d));
    if (hd_ranks() > 1) hd_log_say(&c->log, HD_INFO, "%d processes share every batch", hd_ranks());
    hd_log_say(&c->log, HD_DEBUG, "%s target tokens an epoch, %.1f pairs and %.2f GFLOP an update; on %s",
               hd_grouped(p->target_tokens, a), p->batch_pairs, p->flops / 1e9, p->backend);
}

static int show_plan(const hd_command *c, const hd_train_options *o, const hd_translate_train_opt *t)
{
    hd_translate_plan p;
    hd_err err = {0};
    char a[32], b[32];
    if (hd_translate_plan_make(&p, t, &err)) return hd_command_fail(c, &err);
    FILE *f = c->out.file;
    fprintf(f, "parameters         %s", hd_grouped(p.parameters, a));
    if (p.trainable < p.parameters) fprintf(f, ", %s of them trained", hd_grouped(p.trainable, b));
    fprintf(f, "\nvocabulary         %s", hd_grouped(p.model.source_vocab, a));
    if (!p.model.tied) fprintf(f, " and %s", hd_grouped(p.model.target_vocab, b));
    fprintf(f, "\npairs              %s", hd_grouped(p.pairs, a));
    if (p.valid_pairs) fprintf(f, ", %s to validate", hd_grouped(p.valid_pairs, b));
    fprintf(f, "\ntokens an epoch    %s source", hd_grouped(p.source_tokens, a));
    fprintf(f, ", %s target", hd_grouped(p.target_tokens, b));
    fprintf(f, "\nbatches an epoch   %s", hd_grouped(p.batches, a));
    fprintf(f, ", of %.1f pairs and %.0f tokens on average\n", p.batch_pairs, p.batch_tokens);
    hd_train_memory_show(c, o, p.memory);
    fprintf(f, "work               %.2f GFLOP an update, %.2f TFLOP an epoch\n", p.flops / 1e9,
            p.flops * (double)p.batches / 1e12);
    return HD_EXIT_OK;
}

int hd_train_translate(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_translate_train_opt t;
    hd_translate_result result;
    hd_train_sitting now;
    if (meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return show_plan(c, o, &t);
    if (hd_train_sitting_begin(&now, c, o, &t.trainer, &err)) return hd_command_fail(c, &err);
    t.open = hd_train_sitting_open, t.began = say_plan;
    hd_status s = hd_translate_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    return hd_train_sitting_end(&now, &result.progress, result.ending);
}
