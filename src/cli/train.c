/* heed train: from sentence pairs, a text or labelled items to a model folder, in one sitting or in many. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/ranks.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/lines.h"
#include "base/mem.h"
#include "cli/config.h"
#include "cli/settings.h"
#include "cli/train.h"
#include "cli/train_labels.h"
#include "cli/train_progress.h"

static const hd_example examples[] = {
    {"heed train --train pairs.en pairs.de --valid-fraction 0.01 --epochs 30 --out model",
     "the preset tiny on two files"},
    {"heed train --preset base --train a.en.gz a.de.gz --valid b.en.gz b.de.gz --steps 100000 --out model",
     "the model of the paper"},
    {"heed train --preset rnnsearch --train a.en a.de --valid b.en b.de --out model",
     "recurrent networks with attention: sutskever, luong and tutorial are others"},
    {"heed train --encoder bi-gru --decoder gru --context attention --score additive --train a.en a.de "
     "--valid-fraction 0.01 --out model",
     "one of one's own"},
    {"heed train --config model.yml --out model", "options from a file"},
    {"heed train --resume --out model", "go on after a stop, whatever stopped it"},
    {"heed train --preset big --train a.en a.de --epochs 1 --dry-run", "what it would take"},
    {"heed train --task lm --model gpt --unit char --train text.txt.gz --valid-fraction 0.1 --out model",
     "a language model"},
    {"heed train --task lm --model ngram --order 6 --smoothing kneser-ney --unit char --train text.txt --out "
     "model",
     "one that counts"},
    {"heed train --task classify --model rnn --unit char --train-dir names --out model",
     "which class a text is of, from a file for each class"},
    {"heed train --task tag --encoder bi-lstm --train tokens.tsv --out model", "a label for every token"},
    {"mpirun -n 2 heed train --preset base --train a.en a.de --out model", "two processes share every batch"},
    {NULL, NULL},
};

const hd_usage hd_verb_train_usage = {
    .about =
        "Learns to translate from sentences and their translations. The vocabulary is learned first, then a "
        "Transformer or, by --preset or --encoder and --decoder, recurrent networks. The model folder holds "
        "config.json, the tokeniser and model.safetensors, the best "
        "model by "
        "validation; below train/ the last checkpoint and the log (log.jsonl, TensorBoard events). "
        "training.yml "
        "keeps every option of the run, as --config reads it.\n"
        "With --task lm it learns to foresee a text, token after token: --model says how. What is not given "
        "fits the model: gpt has 4 layers of width 128 and learns from 2000 batches of 12 windows of 64 "
        "tokens. An ngram only counts, and is done in one sitting.\n"
        "With --task classify it learns the label of a text, from a folder with a file for each class or "
        "from "
        "a table; with --task tag a label for every token of a sentence. Items that are there more than once "
        "with the same label count once. A tenth is held back, by which the best model is chosen; it is kept "
        "in train/held-out.tsv.\n"
        "Ctrl-C or SIGTERM saves and ends; --resume --out FOLDER goes on bit for bit.",
    .options = hd_train_table,
    .size = sizeof(hd_train_options),
    .examples = examples,
    .spreads = true,
};

/* Not kept in training.yml: they are about one call, not about the run. */
static const char *const of_this_call[] = {"out",     "resume",       "overwrite", "dry-run",
                                           "minutes", HD_CONFIG_NAME, NULL};
/* Change nothing in what is learned. */
static const char *const without_effect[] = {
    "out", "resume", "overwrite", "dry-run", "minutes", "report-every", HD_CONFIG_NAME, "device", NULL};
/* May be other when a run is resumed. */
static const char *const free_to_change[] = {"out",        "resume", "overwrite", "dry-run",  HD_CONFIG_NAME,
                                             "epochs",     "steps",  "minutes",   "patience", "report-every",
                                             "save-every", "device", NULL};

typedef struct call {
    const hd_command *command;
    const hd_train_options *options;
    hd_train_progress progress;
} call;

/* -- stopping -- */

static volatile sig_atomic_t stopped;

static void note_signal(int number)
{
    stopped = number;
}

/* A second signal ends the program as it would without us: nothing that is saved can be lost. */
static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
}

bool hd_train_stopped(void)
{
    return stopped;
}

static bool is_stopped(void *context)
{
    (void)context;
    return stopped;
}

/* -- options of a run that is resumed -- */

/* Files are kept by their full names, so that a run can be resumed from anywhere. */
static hd_status full_names(hd_texts *files, hd_arena *memory, hd_err *err)
{
    for (int i = 0; i < files->count; i++) {
        if (!strcmp(files->text[i], "-")) continue;
        char *full = hd_arena_take(memory, PATH_MAX);
        if (!full) return hd_err_nomem(err, PATH_MAX);
        if (!realpath(files->text[i], full))
            return hd_err_set(err, HD_EFILE, "%s: %s", files->text[i], strerror(errno));
        files->text[i] = full;
    }
    return HD_OK;
}

static hd_status differ(const hd_option *row, const char *then, const char *now, hd_err *err)
{
    return hd_err_set(
        err, HD_EARG,
        "--%s was %s when the run began and is %s now: leave it out to resume, or begin a new run", row->name,
        then ? then : "not given", now ? now : "not given");
}

/* What is given now (NULL: everything) and may not change must be what it was. */
static hd_status compare(const hd_train_options *then, const hd_train_options *now, const bool *given,
                         const char *const *may_change, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && hd_train_table[i].name; i++) {
        const hd_option *row = &hd_train_table[i];
        hd_text a = {0}, b = {0};
        if ((given && !given[i]) || hd_settings_named(row->name, may_change)) continue;
        hd_settings_value(&a, row, then);
        hd_settings_value(&b, row, now);
        s = a.missed || b.missed ? hd_err_nomem(err, a.missed + b.missed) : HD_OK;
        if (!s && strcmp(a.data ? a.data : "", b.data ? b.data : "")) s = differ(row, a.data, b.data, err);
        hd_text_release(&a);
        hd_text_release(&b);
    }
    return s;
}

/* The options of the run in a folder. */
static hd_status read_options(hd_train_options *then, const char *folder, hd_arena *memory, hd_err *err)
{
    char path[HD_PATH];
    size_t rows = hd_option_count(hd_train_table);
    bool *known = hd_mem_array(rows, sizeof *known);
    if (!known) return hd_err_nomem(err, rows);
    *then = (hd_train_options){0};
    const hd_option_set sets[2] = {{hd_train_table, then, known}, {hd_no_options, NULL, NULL}};
    hd_words none = {NULL, 0};
    hd_status s = hd_option_parse(sets, &none, false, err);
    if (!s) s = hd_path(path, folder, "training.yml", err);
    then->config = path;
    size_t config =
        (size_t)(hd_option_find(sets, HD_CONFIG_NAME, strlen(HD_CONFIG_NAME)).option - hd_train_table);
    known[config] = true;
    if (!s) s = hd_config_read(sets, memory, err);
    then->config = NULL;
    hd_mem_free(known);
    return s;
}

/* Those of the run in --out, with what may change as it is given now. */
static hd_status resume_options(hd_train_options *o, const bool *given, hd_arena *memory, hd_err *err)
{
    hd_train_options then;
    hd_status s = read_options(&then, o->out, memory, err);
    if (!s) s = compare(&then, o, given, free_to_change, err);
    for (size_t i = 0; !s && hd_train_table[i].name; i++) {
        const hd_option *row = &hd_train_table[i];
        bool keep = hd_settings_named(row->name, of_this_call) ||
                    (given[i] && hd_settings_named(row->name, free_to_change));
        if (!keep) hd_settings_copy(row, o, &then);
    }
    return s;
}

static hd_status keep_options(const hd_train_options *o, hd_err *err)
{
    char path[HD_PATH];
    hd_text t = {0};
    const char *left_out[128] = {NULL};
    for (size_t i = 0, n = 0; hd_train_table[i].name && n < 127; i++) {
        const char *name = hd_train_table[i].name;
        if (hd_settings_named(name, of_this_call) || hd_train_foreign((hd_train_task)o->task, name) ||
            (o->task == HD_TRAIN_TRANSLATE && hd_train_encdec_idle(o, name)))
            left_out[n++] = name;
    }
    hd_text_put(&t, "# The options of this training run. `heed train --resume --out FOLDER` reads them;\n"
                    "# `heed train --config training.yml --out OTHER` begins another such run.\n");
    hd_settings_write(&t, hd_train_table, o, left_out);
    hd_status s = hd_text_status(&t, err);
    if (!s && hd_utf8_good(t.data, t.size) < t.size)
        s = hd_err_set(err, HD_EARG,
                       "a file has a name that is not UTF-8, which training.yml cannot keep: rename it");
    if (!s) s = hd_path(path, o->out, "training.yml", err);
    if (!s) s = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return s;
}

/* -- the folder -- */

/* A new run wants an empty folder, or with --overwrite a model's. */
static hd_status check_folder(const hd_train_options *o, hd_err *err)
{
    char config[HD_PATH];
    bool empty = true;
    hd_status s = hd_folder_empty(o->out, &empty, err);
    if (s || empty) return s;
    if (!o->overwrite)
        return hd_err_set(err, HD_EFILE,
                          "%s: not empty: --resume goes on with the run in it, --overwrite begins anew",
                          o->out);
    s = hd_path(config, o->out, "training.yml", err);
    if (!s && access(config, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: not a model's folder (no training.yml): it is not overwritten",
                          o->out);
    return s;
}

/* The folder of a new run. What was in it goes only now: a run that cannot begin costs no model. */
static hd_status open_folder(void *context, hd_err *err)
{
    const hd_train_options *o = ((const call *)context)->options;
    hd_status s = hd_folder_make(o->out, NULL, err);
    if (!s && o->overwrite) s = hd_language_remove(o->out, err);
    return s ? s : keep_options(o, err);
}

static hd_status resumable(const hd_train_options *o, hd_err *err)
{
    if (hd_checkpoint_exists(o->out)) return HD_OK;
    return hd_err_set(err, HD_EFILE, "%s: there is no checkpoint to resume from%s", o->out,
                      access(o->out, F_OK) ? " (no such folder)" : ": begin anew with --overwrite");
}

/* -- the verb -- */

static void tell(void *context, const hd_news *n)
{
    hd_train_progress_tell(&((call *)context)->progress, n);
}

static void say_plan(const hd_command *c, const hd_translate_plan *p)
{
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

static void began(void *context, const hd_translate_plan *plan)
{
    say_plan(((call *)context)->command, plan);
}

static int show_plan(const hd_command *c, const hd_translate_train_opt *t)
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
    fprintf(f, ", of %.1f pairs and %.0f tokens on average", p.batch_pairs, p.batch_tokens);
    fprintf(f, "\nmemory             %.1f MiB for weights, gradients, moments and the largest update",
            (double)p.memory / 1048576);
    fprintf(f, "\nwork               %.2f GFLOP an update, %.2f TFLOP an epoch\n", p.flops / 1e9,
            p.flops * (double)p.batches / 1e12);
    return HD_EXIT_OK;
}

static void say_end(const hd_command *c, const hd_train_options *o, const hd_progress *p, hd_ending ending)
{
    static const char *const why[] = {[HD_ENDED_STEPS] = "as many steps as asked for",
                                      [HD_ENDED_EPOCHS] = "as many epochs as asked for",
                                      [HD_ENDED_MINUTES] = "the time is over",
                                      [HD_ENDED_PATIENCE] = "no new best for as long as asked for",
                                      [HD_ENDED_STOPPED] = "stopped"};
    char a[32], b[32];
    static const char *const what[] = {[HD_TRAIN_TRANSLATE] = "target tokens",
                                       [HD_TRAIN_LM] = "tokens",
                                       [HD_TRAIN_CLASSIFY] = "items",
                                       [HD_TRAIN_TAG] = "tokens"};
    static const struct {
        const char *verb, *with;
    } use[] = {[HD_TRAIN_TRANSLATE] = {"translate", "< FILE"},
               [HD_TRAIN_LM] = {"generate", "--prompt TEXT"},
               [HD_TRAIN_CLASSIFY] = {"classify", "< FILE"},
               [HD_TRAIN_TAG] = {"tag", "< FILE"}};
    hd_log_say(&c->log, HD_INFO, "%s: %s updates, %s %s%s", why[ending], hd_grouped(p->step, a),
               hd_grouped(p->tokens, b), what[o->task],
               ending != HD_ENDED_STOPPED ? ""
               : p->broken                ? "; saved are those before the gradient was not finite"
                                          : "; everything is saved");
    if (ending == HD_ENDED_STOPPED)
        hd_log_say(&c->log, HD_INFO, "go on with: heed train --resume --out %s", o->out);
    else
        hd_log_say(&c->log, HD_INFO, "the model is in %s: heed %s %s %s", o->out, use[o->task].verb, o->out,
                   use[o->task].with);
}

static int train(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_translate_train_opt t;
    hd_translate_result result;
    call now = {.command = c,
                .options = o,
                .progress = {.command = c, .steps = (uint64_t)o->steps, .epochs = (uint64_t)o->epochs}};
    if (hd_train_meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return show_plan(c, &t);
    if (!o->resume && check_folder(o, &err)) return hd_command_fail(c, &err);
    catch_signals();
    t.open = open_folder, t.began = began;
    t.trainer.stop = is_stopped, t.trainer.tell = tell, t.trainer.context = &now;
    hd_status s = hd_translate_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    say_end(c, o, &result.progress, result.ending);
    return HD_EXIT_OK;
}

/* -- language models -- */

static void say_language(void *context, const hd_language_plan *p)
{
    const hd_command *c = ((const call *)context)->command;
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

static int show_language_plan(const hd_command *c, const hd_language_train_opt *t)
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

static int train_language(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_language_train_opt t;
    hd_language_result result;
    call now = {.command = c,
                .options = o,
                .progress = {.command = c, .steps = (uint64_t)o->steps, .epochs = (uint64_t)o->epochs}};
    if (hd_train_lm_meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return show_language_plan(c, &t);
    if (!o->resume && check_folder(o, &err)) return hd_command_fail(c, &err);
    catch_signals();
    t.open = open_folder, t.began = say_language;
    t.trainer.stop = is_stopped, t.trainer.tell = tell, t.trainer.context = &now;
    hd_status s = hd_language_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    if (result.counted)
        say_counted(c, o->out, &result);
    else
        say_end(c, o, &result.progress, result.ending);
    return HD_EXIT_OK;
}

/* -- classifiers and taggers -- */

static void say_labels(void *context, const hd_label_plan *p)
{
    hd_train_label_say(((const call *)context)->command, p);
}

static int train_labels(const hd_command *c, const hd_train_options *o)
{
    hd_err err = {0};
    hd_label_train_opt t;
    hd_label_result result;
    call now = {
        .command = c,
        .options = o,
        .progress = {
            .command = c, .steps = (uint64_t)o->steps, .epochs = (uint64_t)o->epochs, .labels = true}};
    if (hd_train_label_meaning(&t, o, c->common.threads, &err)) return hd_verb_misused(c->verb, &err);
    t.log = c->log;
    if (o->dry_run) return hd_train_label_show(c, &t);
    if (!o->resume && check_folder(o, &err)) return hd_command_fail(c, &err);
    catch_signals();
    t.open = open_folder, t.began = say_labels;
    t.trainer.stop = is_stopped, t.trainer.tell = tell, t.trainer.context = &now;
    hd_status s = hd_label_train(&result, &t, &err);
    hd_train_progress_end(&now.progress);
    if (s) return hd_command_fail(c, &err);
    if (result.judged) hd_train_label_say_end(c, &result);
    say_end(c, o, &result.progress, result.ending);
    return HD_EXIT_OK;
}

typedef struct task {
    hd_status (*preset)(const hd_option_set sets[2], hd_err *err); /* what is not given */
    int (*train)(const hd_command *c, const hd_train_options *o);
} task;

static const task tasks[HD_TRAIN_TASKS] = {[HD_TRAIN_TRANSLATE] = {hd_train_preset, train},
                                           [HD_TRAIN_LM] = {hd_train_lm_preset, train_language},
                                           [HD_TRAIN_CLASSIFY] = {hd_train_label_preset, train_labels},
                                           [HD_TRAIN_TAG] = {hd_train_label_preset, train_labels}};

/* Of a new run: what is not given, by its task. */
static hd_status fill_options(const hd_option_set sets[2], hd_err *err)
{
    hd_status s = hd_train_belong(sets, err);
    return s ? s : tasks[((const hd_train_options *)sets[0].into)->task].preset(sets, err);
}

static hd_status name_files(hd_train_options *o, hd_arena *memory, hd_err *err)
{
    hd_status s = full_names(&o->train, memory, err);
    if (!s) s = full_names(&o->valid, memory, err);
    if (!s) s = full_names(&o->train_dir, memory, err);
    return s ? s : full_names(&o->tokeniser_file, memory, err);
}

hd_status hd_train_same(const hd_train_options *o, const bool *given, hd_err *err)
{
    hd_train_options now = *o, then;
    const hd_option_set sets[2] = {{hd_train_table, &now, (bool *)given}, {hd_no_options, NULL, NULL}};
    hd_arena memory;
    hd_arena_init(&memory, hd_source_host, 0);
    hd_status s = fill_options(sets, err);
    if (!s) s = name_files(&now, &memory, err);
    if (!s) s = read_options(&then, o->out, &memory, err);
    if (!s) s = compare(&then, &now, NULL, without_effect, err);
    hd_arena_release(&memory);
    return s;
}

int hd_train_run(const hd_command *c, hd_train_options *o, bool *given)
{
    const hd_option_set sets[2] = {{hd_train_table, o, given}, {hd_no_options, NULL, NULL}};
    hd_err err = {0};
    hd_arena memory;
    if (!o->dry_run && (!o->out || !*o->out)) {
        hd_err_set(&err, HD_EARG, "--out is missing: where shall the model go?");
        return hd_verb_misused(c->verb, &err);
    }
    if (o->resume && (o->overwrite || o->dry_run)) {
        hd_err_set(&err, HD_EARG, "--resume goes on with a run: --%s does not fit",
                   o->overwrite ? "overwrite" : "dry-run");
        return hd_verb_misused(c->verb, &err);
    }
    hd_arena_init(&memory, hd_source_host, 0);
    hd_status s = o->resume ? resumable(o, &err) : fill_options(sets, &err);
    if (!s) s = name_files(o, &memory, &err);
    if (!s && o->resume) s = resume_options(o, given, &memory, &err);
    int status = s == HD_EARG ? hd_verb_misused(c->verb, &err)
                 : s          ? hd_command_fail(c, &err)
                              : tasks[o->task].train(c, o);
    hd_arena_release(&memory);
    return status;
}

int hd_verb_train(const hd_command *c)
{
    hd_train_options o = *(const hd_train_options *)c->options;
    return hd_train_run(c, &o, (bool *)c->given);
}
