/* heed train --task mlm: the sizes of BERT, what the options mean, and a run. */
#include <string.h>

#include "cli/train/from.h"
#include "cli/train/loop.h"
#include "cli/train/memory.h"
#include "cli/train/sitting.h"
#include "cli/train/tasks.h"
#include "task/masked/train.h"

/* -- what is not given -- */

enum { PRESETS = HD_TRAIN_GPT2 - HD_TRAIN_BERT_TINY };

typedef struct setting {
    const char *name, *value[PRESETS]; /* bert-tiny, bert-mini, bert-base */
} setting;

/* The shapes are those of the published models of these names; bert-base has the recipe of its paper. */
static const setting settings[] = {
    {"unit", {"subword", "subword", "subword"}},
    {"layers", {"2", "4", "12"}},
    {"width", {"128", "256", "768"}},
    {"inner", {"512", "1024", "3072"}},
    {"heads", {"2", "4", "12"}},
    {"activation", {"gelu", "gelu", "gelu"}},
    {"context", {"128", "128", "512"}},
    {"vocab", {"8000", "8000", "30522"}},
    {"batch", {"32", "32", "256"}},
    {"dropout", {"0.1", "0.1", "0.1"}},
    {"lr", {"0.001", "0.0005", "0.0001"}},
    {"warmup", {"500", "1000", "10000"}},
    {"schedule", {"linear", "linear", "linear"}},
    {"weight-decay", {"0.01", "0.01", "0.01"}},
    {"beta2", {"0.98", "0.98", "0.999"}},
    {"adam-eps", {"1e-6", "1e-6", "1e-6"}},
    {"label-smoothing", {"0", "0", "0"}},
    {"steps", {"10000", "10000", "1000000"}},
    {NULL, {NULL}},
};

/* --context is a text, for it means another thing to translators. */
static hd_status context_of(const hd_train_options *o, size_t *to, hd_err *err)
{
    static const hd_option row = {"context", .type = HD_OPTION_INT, .min = 3, .max = 1000000};
    hd_err why = {0};
    int n = 0;
    if (o->context && hd_option_read(&row, &n, o->context, &why))
        return hd_err_set(err, HD_EARG, "--context: %s", why.text);
    *to = (size_t)n;
    return HD_OK;
}

/* Windows may be shorter than what the model can read, not longer. */
static hd_status take_model(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    hd_tokenizer *tokenizer = NULL;
    hd_bert_opt m;
    size_t context = 0;
    hd_status s = hd_train_from_check(sets, err);
    if (!s) s = hd_masked_describe(o->from, &m, &tokenizer, err);
    hd_tokenizer_free(tokenizer);
    if (!s) s = hd_train_from_number(sets, "layers", (size_t)m.stack.layers, err);
    if (!s) s = hd_train_from_number(sets, "width", m.stack.width, err);
    if (!s) s = hd_train_from_number(sets, "inner", m.stack.inner, err);
    if (!s) s = hd_train_from_number(sets, "heads", (size_t)m.stack.heads, err);
    if (!s) s = hd_train_from_activation(sets, m.stack.act, err);
    if (!s) s = context_of(o, &context, err);
    if (!s && context > m.positions)
        s = hd_err_set(err, HD_EARG, "--context is %zu, but the model of --from %s reads %zu tokens", context,
                       o->from, m.positions);
    if (!s && !hd_train_given(sets, "dropout")) o->dropout = (double)m.stack.dropout;
    return s;
}

hd_status hd_train_mlm_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    bool preset = hd_train_given(sets, "preset");
    bool limited = hd_train_given(sets, "epochs") || hd_train_given(sets, "steps");
    if (!preset) o->preset = HD_TRAIN_BERT_TINY;
    if (o->preset < HD_TRAIN_BERT_TINY || o->preset >= HD_TRAIN_GPT2)
        return hd_err_set(err, HD_EARG,
                          "--preset: those of --task mlm are bert-tiny, bert-mini and bert-base");
    hd_status s = o->from ? take_model(sets, err) : HD_OK;
    for (const setting *row = settings; !s && row->name; row++)
        if (!(limited && !strcmp(row->name, "steps")))
            s = hd_train_from_fill(sets, row->name, row->value[o->preset - HD_TRAIN_BERT_TINY], preset, err);
    if (s) return s;
    if (o->from && !preset) hd_train_from_calm(sets, hd_train_from_rate((size_t)o->width));
    if (!o->from && hd_train_given(sets, "width") && !hd_train_given(sets, "inner")) o->inner = 4 * o->width;
    if (o->unit != HD_TRAIN_SUBWORD && !hd_train_given(sets, "vocab")) o->vocab = HD_TRAIN_ALL_PIECES;
    return HD_OK;
}

/* -- what they mean -- */

static hd_status check(const hd_train_options *o, hd_err *err)
{
    if (!o->train.count) return hd_err_set(err, HD_EARG, "--train is missing: what shall be learned from?");
    if (o->train.count > 1 || o->valid.count > 1)
        return hd_err_set(err, HD_EARG, "a masked language model learns from one text: --%s has two files",
                          o->train.count > 1 ? "train" : "valid");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    if (o->width % o->heads)
        return hd_err_set(err, HD_EARG, "--width %d cannot be split over --heads %d", o->width, o->heads);
    return hd_train_check_end(o, err);
}

/* Borrows texts of o. */
static hd_status meaning(hd_masked_train_opt *to, const hd_train_options *o, int threads, hd_err *err)
{
    hd_status s = check(o, err);
    if (s) return s;
    *to =
        (hd_masked_train_opt){.from = o->from,
                              .train = o->train.text[0],
                              .valid = o->valid.count ? o->valid.text[0] : NULL,
                              .valid_fraction = o->valid_fraction,
                              .kind = hd_train_unit(o->unit),
                              .vocabulary = {.vocab = o->vocab == HD_TRAIN_ALL_PIECES ? 0 : (size_t)o->vocab,
                                             .unigram = o->subwords == 1,
                                             .coverage = o->coverage},
                              .model = {.stack.layers = o->layers,
                                        .stack.heads = o->heads,
                                        .stack.width = (size_t)o->width,
                                        .stack.inner = (size_t)o->inner,
                                        .stack.dropout = (float)o->dropout,
                                        .stack.act = hd_train_activation(o->activation)},
                              .whole_words = o->whole_words,
                              .optimizer = hd_train_optimizer(o),
                              .smoothing = (float)o->label_smoothing,
                              .batch = (size_t)o->batch,
                              .parts = (size_t)o->accumulate,
                              .device = o->device,
                              .precision = (hd_precision)o->precision,
                              .threads = threads,
                              .trainer = hd_train_loop(o)};
    s = hd_train_tokenizer(&to->tokenizer, o, err);
    return s ? s : context_of(o, &to->model.positions, err);
}

/* -- a run -- */

static void say_plan(void *context, const hd_masked_plan *p)
{
    const hd_command *c = hd_train_sitting_command(context);
    char a[32], b[32], d[32];
    hd_log_say(&c->log, HD_INFO, "bert of %d layers of width %zu, vocabulary %s: %s parameters",
               p->model.stack.layers, p->model.stack.width, hd_grouped(p->model.vocab, a),
               hd_grouped(p->parameters, b));
    hd_log_say(&c->log, HD_INFO, "%s tokens in %s lines to learn from, %s to validate",
               hd_grouped(p->tokens, a), hd_grouped(p->lines, b), hd_grouped(p->valid_tokens, d));
    hd_log_say(&c->log, HD_DEBUG, "%s batches an epoch, %.2f GFLOP an update; on %s",
               hd_grouped(p->batches, a), p->flops / 1e9, p->backend);
}

static int show_plan(const hd_command *c, const hd_train_options *o, const hd_masked_train_opt *t)
{
    hd_masked_plan p;
    hd_err err = {0};
    char a[32], b[32];
    if (hd_masked_plan_make(&p, t, &err)) return hd_command_fail(c, &err);
    FILE *f = c->out.file;
    fprintf(f, "parameters         %s\n", hd_grouped(p.parameters, a));
    fprintf(f, "vocabulary         %s\n", hd_grouped(p.model.vocab, a));
    fprintf(f, "tokens             %s", hd_grouped(p.tokens, a));
    if (p.valid_tokens) fprintf(f, ", %s to validate", hd_grouped(p.valid_tokens, b));
    fprintf(f, "\nbatches an epoch   %s\n", hd_grouped(p.batches, a));
    hd_train_memory_show(c, o, p.memory);
    fprintf(f, "work               %.2f GFLOP an update, %.2f TFLOP an epoch\n", p.flops / 1e9,
            p.flops * (double)p.batches / 1e12);
    return HD_EXIT_OK;
}

int hd_train_mlm(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_masked_train_opt t;
    hd_masked_result result;
    hd_train_sitting now;
    if (meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return show_plan(c, o, &t);
    if (hd_train_sitting_begin(&now, c, o, &t.trainer, &err)) return hd_command_fail(c, &err);
    t.open = hd_train_sitting_open, t.began = say_plan;
    hd_status s = hd_masked_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    return hd_train_sitting_end(&now, &result.progress, result.ending);
}
