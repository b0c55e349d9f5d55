/* The log of a run. */
#include "train/log/run_log.h"

#include <math.h>
#include <stdio.h>

#include "train/checkpoint.h"

void hd_run_log_open(hd_run_log *l, const hd_trainer_opt *o, int rank, const hd_log *log)
{
    hd_err err = {0};
    hd_progress at = {0};
    *l = (hd_run_log){.log = log};
    if (rank) return;
    if (o->resume && hd_checkpoint_load(o->folder, &at, NULL, &err)) return; /* the loop will say so */
    if (hd_journal_open(&l->journal, o->folder, at.step, &err))
        hd_log_say(log, HD_WARN, "continuing without a log: %s", err.text);
}

void hd_run_log_close(hd_run_log *l)
{
    hd_journal_close(l->journal, NULL);
    l->journal = NULL;
}

/* Layer after layer, those that have experts, counted from 1. */
static void add_experts(hd_journal *j, const hd_news *n, const char *kind, hd_err *err)
{
    hd_field field[1 + HD_EXPERT_LAYERS] = {HD_FIELD("max_violation", n->experts.mean)};
    char name[HD_EXPERT_LAYERS][32];
    for (size_t i = 0; i < n->experts.layers; i++) {
        snprintf(name[i], sizeof name[i], "layer_%zu", i + 1);
        field[1 + i] = HD_FIELD((const char *)name[i], n->experts.violation[i]);
    }
    hd_report_line line = {
        .step = n->at->step, .kind = kind, .fields = field, .count = 1 + n->experts.layers};
    if (n->experts.layers) hd_journal_add(j, &line, err);
}

static void add_training(hd_journal *j, const hd_news *n, hd_err *err)
{
    hd_field field[9 + HD_FIGURES] = {
        HD_FIELD("loss", n->loss),
        HD_FIELD("rate", n->rate),
        HD_FIELD("gradient_norm", n->norm),
        HD_FIELD("epoch", n->at->epoch),
        HD_FIELD("tokens", n->at->tokens),
        HD_FIELD("tokens_per_second", n->tokens_second),
        HD_FIELD("gflops", n->flops_second / 1e9),
        HD_FIELD("flops", n->at->flops),
        HD_FIELD("skipped", n->at->skipped),
    };
    const hd_figure *f = n->figure;
    size_t count = 9;
    for (size_t i = 0; i < HD_FIGURES && f[i].name; i++) field[count++] = HD_FIELD(f[i].name, f[i].value);
    hd_journal_add(
        j, &(hd_report_line){.step = n->at->step, .kind = "train", .fields = field, .count = count}, err);
}

/* The foremost figure where it always was, before the others. */
static void add_valid(hd_journal *j, const hd_news *n, hd_err *err)
{
    hd_field field[4 + HD_FIGURES] = {HD_FIELD("loss", n->valid.loss),
                                      HD_FIELD("perplexity", exp(n->valid.loss))};
    const hd_figure *f = n->valid.figure;
    size_t count = 2;
    if (f->name) field[count++] = HD_FIELD(f->name, f->value);
    field[count++] = HD_FIELD("best", (int)n->best);
    field[count++] = HD_FIELD("seconds", n->valid.seconds);
    for (size_t i = 1; i < HD_FIGURES && f[i].name; i++) field[count++] = HD_FIELD(f[i].name, f[i].value);
    hd_report_line line = {.step = n->at->step, .kind = "valid", .fields = field, .count = count};
    hd_journal_add(j, &line, err);
}

void hd_run_log_tell(hd_run_log *l, const hd_news *n)
{
    hd_err err = {0};
    if (!l->journal) return;
    if (n->kind == HD_NEWS_REPORT) add_training(l->journal, n, &err);
    if (n->kind == HD_NEWS_VALID) add_valid(l->journal, n, &err);
    if (n->kind == HD_NEWS_REPORT && !err.status) add_experts(l->journal, n, "train_experts", &err);
    if (n->kind == HD_NEWS_VALID && !err.status) add_experts(l->journal, n, "valid_experts", &err);
    if (!err.status) return;
    hd_log_say(l->log, HD_WARN, "continuing without a log: %s", err.text);
    hd_run_log_close(l);
}
