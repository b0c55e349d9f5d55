/* heed compare: language models on one text, classifiers on one table or translators on pairs (labels.c,
   translators.c), as a table and a plot; with --models it trains the language models first. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "cli/verb/compare/compare.h"
#include "cli/verb/perplexity.h"
#include "train/duration.h"
#include "view/ladder.h"
#include "view/draw/table.h"
#include "view/plot.h"

/* X(field, option of heed train, argument, help): given once for all models that have it */
#define SETTINGS(X)                                                                          \
    X(unit, "unit", "UNIT", "tokens: word, char or subword; default char")                   \
    X(vocab, "vocab-size", "N", "vocabulary size")                                           \
    X(order, "order", "N", "ngram, maxent, ffnn: tokens of context, plus the predicted one") \
    X(smoothing, "smoothing", "NAME", "ngram: add-k, kneser-ney or kneser-ney-3")            \
    X(add_k, "add-k", "X", "ngram: the k of add-k")                                          \
    X(features, "hash-buckets", "N", "maxent: rows for the weights of hashed contexts")      \
    X(layers, "layers", "N", "layers of rnn, gru, lstm, gpt, llama, moe")                    \
    X(width, "width", "N", "embedding size; rnn, gru, lstm: also of the hidden state")       \
    X(inner, "ffn-size", "N", "ffnn, gpt, llama, moe: size of the feed-forward layers")      \
    X(heads, "heads", "N", "gpt, llama, moe: attention heads")                               \
    X(context, "context", "N", "tokens of a window, the most that gpt sees")                 \
    X(batch, "batch-size", "N", "windows per update")                                        \
    X(dropout, "dropout", "X", "dropout of all but ngram and maxent")                        \
    X(lr, "lr", "X", "peak learning rate")                                                   \
    X(epochs, "epochs", "N", "passes over the text")                                         \
    X(steps, "steps", "N", "updates")                                                        \
    X(seed, "seed", "N", "seed of all random numbers")

struct compare {
    hd_usual usual;
    int task;
    const char *models, *train, *out;
    double valid_fraction;
    bool overwrite;
#define X(field, name, argument, help) const char *field;
    SETTINGS(X)
#undef X
};

static const char *const tasks[] = {"lm", NULL};

#define TRAINING .group = "Training the models first"
#define SETTING  .group = "Settings of all trained models (as of heed train, with its defaults)"

static const hd_option options[] = {
    {"text", 't', .gone = "give the text after the models"},
    {"test", .gone = "give the table after the models"},
    {"plot", 0, "FILE", NULL, "draw the bits per character as bars: .svg, .png or .pdf",
     HD_FILE_INTO(hd_usual, plot)},
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(hd_usual, json)},
    HD_MACHINE_ROWS,

    {"task", 0, "TASK", "lm", "task of the models: lm", TRAINING,
     HD_CHOICE_INTO(struct compare, task, tasks)},
    {"models", 0, "LIST", NULL,
     "ngram, maxent, ffnn, rnn, gru, lstm, gpt, llama, moe or deepseek, separated by commas; settings of a "
     "single one "
     "follow in "
     "parentheses: 'ngram(order=3 smoothing=add-k),gpt'",
     TRAINING, HD_TEXT_INTO(struct compare, models)},
    {"train", 0, "FILE", NULL, "the text to train and measure them on, plain or compressed (gzip, xz, zstd)",
     TRAINING, HD_FILE_INTO(struct compare, train)},
    {"valid-fraction", 0, "X", "0.1", "share of its characters, at its end, to measure them on", TRAINING,
     HD_FLOAT_INTO(struct compare, valid_fraction, 1e-6, 0.5)},
    {"out", 'o', "FOLDER", NULL, "where their folders go; a model that is there already is not trained again",
     TRAINING, HD_FILE_INTO(struct compare, out)},
    {"overwrite", 0, NULL, NULL, "train them again", TRAINING, HD_FLAG_INTO(struct compare, overwrite)},
#define X(field, name, argument, help) \
    {name, 0, argument, NULL, help, SETTING, HD_TEXT_INTO(struct compare, field)},
    SETTINGS(X)
#undef X
        {0},
};

static const hd_example examples[] = {
    {"heed compare ngram lstm gpt held-out.txt --plot ladder.svg", "three rungs of the ladder"},
    {"heed compare --task lm --unit char --models ngram,maxent,ffnn,rnn,gru,lstm,gpt --train text.txt.gz "
     "--out ladder",
     "all of them, trained on nine tenths of a text and measured on the last"},
    {"heed compare --models 'ngram(order=3 smoothing=add-k),ngram(order=6),ffnn(order=4),gpt' --steps 1000 "
     "--train text.txt --out ladder",
     "settings of one model, and of all that have them"},
    {"heed compare fine-tuned scratch dev.tsv", "two classifiers: accuracy, F1, Matthews correlation"},
    {"heed compare rnnsearch transformer test.en test.de", "two translators: BLEU, FLOPs, size, time"},
    {NULL, NULL},
};

enum { MOST_MODELS = 1000 };

typedef struct row {
    const char *model, *folder;
    hd_lm_kind kind;
    const char *unit;
    size_t size;
    double trained; /* seconds; NaN: not known */
    hd_measured m;
} row;

/* -- measuring -- */

/* What the tokens of a model are. */
static const char *unit_of(const hd_model_folder *f)
{
    hd_tokenizer_kind kind = hd_tokenizer_kind_of(f->tokenizer[0]);
    return kind == HD_TOKENIZER_words ? "word" : kind == HD_TOKENIZER_characters ? "char" : "subword";
}

static hd_status measure(row *w, const hd_command *c, hd_run *r, const hd_plain_text *text, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_open(&f, w->folder, "lm", r->backend, HD_WEIGHTS_BEST, err);
    if (!s) s = hd_measure(&w->m, r, &f, text, err);
    if (!s) {
        w->kind = hd_model_folder_lm(&f)->opt.kind;
        w->unit = unit_of(&f);
        w->size = hd_lm_size(hd_model_folder_lm(&f));
        w->trained = hd_duration_load(w->folder).seconds;
        if (w->m.unknown)
            hd_log_say(&c->log, HD_WARN, "%s: %zu of %zu tokens are <unk>, whose spelling costs it nothing",
                       w->model, w->m.unknown, w->m.fluency.tokens);
    }
    hd_model_folder_release(&f);
    return s;
}

static double rate(const row *w)
{
    return w->m.fluency.seconds > 0 ? (double)w->m.fluency.tokens / w->m.fluency.seconds : 0;
}

static double unknown_share(const row *w)
{
    return 100 * (double)w->m.unknown / (double)w->m.fluency.tokens;
}

static double nats(const row *w)
{
    return w->m.fluency.nats / (double)w->m.fluency.tokens;
}

/* -- showing -- */

static void put_table(hd_text *to, const row *rows, size_t n)
{
    static const char *const heads[] = {"model",      "kind",      "unit",       "parameters", "trained",
                                        "perplexity", "bits/char", "nats/token", "tokens/s",   "<unk>"};
    bool unknown = false; /* a column that is shown only where it says something */
    char number[HD_DECIMAL];
    for (size_t i = 0; i < n; i++) unknown = unknown || rows[i].m.unknown;
    hd_table t = {.columns = unknown ? 10 : 9, .left = 3};
    for (size_t k = 0; k < t.columns; k++) hd_table_add(&t, heads[k]);
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_table_add(&t, w->model);
        hd_table_add(&t, hd_lm_names[w->kind]);
        hd_table_add(&t, w->unit);
        hd_table_add(&t, hd_grouped(w->size, number));
        hd_table_add(&t, hd_compare_time(w->trained, number));
        hd_table_add(&t, hd_decimal(number, "%.4g", w->m.perplexity));
        hd_table_add(&t, hd_decimal(number, "%.3f", w->m.bits));
        hd_table_add(&t, hd_decimal(number, "%.4f", nats(w)));
        hd_table_add(&t, hd_grouped((uint64_t)rate(w), number));
        if (unknown) hd_table_add(&t, hd_decimal(number, "%.1f%%", unknown_share(w)));
    }
    hd_table_write(to, &t);
}

static void put_object(hd_text *to, const struct compare *o, const char *file, const row *rows, size_t n)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, o->models ? "train" : "file", file);
    if (o->models) hd_member_number(to, "valid_fraction", o->valid_fraction, 9);
    hd_member_begin(to, "models", '[');
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "model", w->model);
        hd_member_text(to, "folder", w->folder);
        hd_member_text(to, "kind", hd_lm_names[w->kind]);
        hd_member_text(to, "unit", w->unit);
        hd_member_count(to, "parameters", w->size);
        hd_member_number(to, "training_seconds", w->trained, 9);
        hd_measured_json(to, &w->m);
        hd_member_number(to, "nats_per_token", nats(w), 9);
        hd_member_number(to, "tokens_per_second", rate(w), 6);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "]}\n");
}

static hd_status plot(const char *path, const row *rows, size_t n, hd_err *err)
{
    hd_rung *rung = hd_mem_array(n, sizeof *rung);
    char(*detail)[64] = hd_mem_array(n, sizeof *detail);
    hd_status s = rung && detail ? HD_OK : hd_err_nomem(err, n * sizeof *rung);
    for (size_t i = 0; !s && i < n; i++) {
        char share[HD_DECIMAL];
        snprintf(detail[i], sizeof detail[i], "%s, %s%s%s", hd_lm_names[rows[i].kind], rows[i].unit,
                 rows[i].m.unknown ? ", <unk> " : "",
                 rows[i].m.unknown ? hd_decimal(share, "%.1f%%", unknown_share(&rows[i])) : "");
        rung[i] = (hd_rung){.name = rows[i].model, .detail = detail[i], .bits = rows[i].m.bits};
    }
    hd_ladder ladder = {.rung = rung, .count = n, .title = "Language models on the same text"};
    if (!s) s = hd_ladder_save(path, &ladder, err);
    hd_mem_free(rung);
    hd_mem_free(detail);
    return s;
}

/* -- the verb -- */

typedef struct call {
    hd_command command;
    const struct compare *o;
    char **folder; /* of the operands; NULL with --models */
    size_t folders;
    const char *file; /* the text or table */
    hd_models models; /* of --models */
} call;

/* The last operand is the file, unless it is a folder. */
static void read_operands(call *c)
{
    const hd_words *words = &c->command.operands;
    const char *last = words->count ? words->word[words->count - 1] : NULL;
    bool file = last && !hd_is_folder(last);
    c->folder = words->word;
    c->folders = (size_t)words->count - file;
    c->file = c->o->models ? c->o->train : file ? last : "-";
}

static hd_status check_given(const call *c, hd_err *err)
{
    for (const hd_option *o = options; o->name; o++)
        if (o->group && strcmp(o->name, "task") && hd_command_given(&c->command, o->name))
            return hd_err_set(err, HD_EARG, "--%s needs --models, the models to train", o->name);
    if (!c->folders)
        return hd_err_set(err, HD_EARG, "no models: give their folders, or --models to train some");
    return HD_OK;
}

static hd_status check_models(const call *c, hd_err *err)
{
    const struct compare *o = c->o;
    if (c->command.operands.count)
        return hd_err_set(err, HD_EARG, "--models trains models on --train: leave out %s",
                          c->command.operands.word[0]);
    if (!o->train) return hd_err_set(err, HD_EARG, "--train is required: the text to train on");
    if (!strcmp(o->train, "-"))
        return hd_err_set(err, HD_EARG, "--train must be a file, as every model reads it anew");
    if (!o->out) return hd_err_set(err, HD_EARG, "--out is required: the folder for the models");
    return HD_OK;
}

static hd_status set_for_all(call *c, const char *option, const char *value, hd_err *err)
{
    bool taken;
    hd_status s = hd_models_give(&c->models, option, value, &taken, err);
    if (!s && !taken) hd_log_say(&c->command.log, HD_WARN, "--%s: none of these models has it", option);
    return s;
}

/* What --models asks for, with the settings of all of them. */
static hd_status read_models(call *c, hd_err *err)
{
    const struct compare *o = c->o;
    hd_status s = hd_models_read(&c->models, o->models, err);
#define X(field, name, argument, help) \
    if (!s && o->field) s = set_for_all(c, name, o->field, err);
    SETTINGS(X)
#undef X
    for (size_t i = 0; !s && i < c->models.count; i++) {
        hd_train_options *t = &c->models.at[i].options;
        t->train = (hd_texts){.text = {o->train}, .count = 1};
        t->valid_fraction = o->valid_fraction;
        t->device = o->usual.machine.name;
        t->precision = (int)o->usual.machine.precision;
    }
    return s;
}

/* The text to measure on: the file, or the held-out part of --train. */
static hd_status read_text(hd_plain_text *out, const call *c, hd_err *err)
{
    if (!c->o->models) hd_input_await(&c->command, c->file, "a text to measure");
    if (!c->o->models) return hd_plain_text_read(out, c->file, err);
    hd_plain_text learned = {0};
    hd_status s = hd_plain_text_read(&learned, c->file, err);
    if (!s) s = hd_plain_text_split(&learned, c->o->valid_fraction, out, err);
    hd_plain_text_release(&learned);
    return s;
}

static hd_status compare_language(call *c, const hd_plain_text *text, hd_err *err)
{
    size_t n = c->models.count ? c->models.count : c->folders;
    hd_text out = {0};
    row *rows = hd_mem_array(n, sizeof *rows);
    hd_status s = rows ? hd_machine_open(&c->command.machine, &c->command, &c->o->usual.machine, err)
                       : hd_err_nomem(err, n * sizeof *rows);
    for (size_t i = 0; !s && i < n; i++) {
        rows[i].model = c->models.count ? c->models.at[i].name : c->folder[i];
        rows[i].folder = c->models.count ? c->models.at[i].folder : c->folder[i];
        s = measure(&rows[i], &c->command, &c->command.machine.run, text, err);
    }
    if (!s && c->o->usual.json) put_object(&out, c->o, c->file, rows, n);
    if (!s && !c->o->usual.json) put_table(&out, rows, n);
    if (!s) s = hd_command_put_text(&c->command, &out, true, err);
    if (!s && c->o->usual.plot) s = plot(c->o->usual.plot, rows, n, err);
    hd_mem_free(rows);
    return s;
}

static hd_status compare_classifiers(call *c, hd_err *err)
{
    if (c->o->usual.plot)
        return hd_err_set(err, HD_EARG, "--plot is for language models, %s is a classifier", c->folder[0]);
    hd_input_await(&c->command, c->file, "a table with labels");
    hd_status s = hd_machine_open(&c->command.machine, &c->command, &c->o->usual.machine, err);
    return s ? s : hd_compare_labels(&c->command, c->folder, c->folders, c->file, c->o->usual.json, err);
}

/* What can go wrong is best known before hours of training. */
static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const struct compare *o = c->o;
    hd_plain_text text = {0};
    const hd_task_folder *task = NULL;
    hd_status s = o->usual.plot ? hd_plot_check(o->usual.plot, err) : HD_OK;
    if (!s && c->folders) s = hd_task_folder_peek(&task, c->folder[0], err);
    if (!s && task && task->line == HD_LINE_item) return compare_classifiers(c, err);
    if (!s && task && task->id == HD_TRAIN_TRANSLATE) return hd_compare_translators(command, &o->usual, err);
    if (!s) s = read_text(&text, c, err);
    if (!s && o->models) s = hd_models_train(command, &c->models, o->out, o->overwrite, err);
    if (!s && !command->exit) s = compare_language(c, &text, err);
    hd_plain_text_release(&text);
    return s;
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    c->o = command->options;
    read_operands(c);
    hd_status s = c->o->models ? check_models(c, err) : check_given(c, err);
    return s || !c->o->models ? s : read_models(c, err);
}

static void release(hd_command *c)
{
    hd_models_release(&((call *)c)->models);
}

const hd_usage hd_verb_compare = {
    .operands = "[MODEL... [FILE [FILE]]]",
    .most = MOST_MODELS,
    .about =
        "Measures the language models in the folders MODEL on one text: FILE, plain or compressed (gzip, xz, "
        "zstd), or standard input. The table has a line for each model: its size (parameters, or n-grams of "
        "an n-gram model), training time, perplexity, bits per character, nats per token and tokens read "
        "per second.\n"
        "With --models it trains them first, each into a folder of its own below --out, and measures them on "
        "the held-out part of the text. A model that is there already is taken as it is, an unfinished one "
        "is resumed: after a stop, give the same command again.\n"
        "Perplexity compares models with the same tokens. Bits per character compares all, except that a "
        "model of words does not pay for the spelling of unknown words, which a warning counts.\n"
        "If the folders hold classifiers, FILE is a table with labels, and the columns are accuracy, "
        "macro-F1, with two labels the F1 of the second, and Matthews correlation; for regressions Pearson "
        "and Spearman correlation.\n"
        "If they hold translators, a file of sources and one of translations follow, or one with both, "
        "separated by a tab. The columns are parameters, FLOPs of a forward pass over an average pair, "
        "training time, nats per token of the given translations, BLEU of greedy ones, pairs per second.",
    .options = options,
    .size = sizeof(struct compare),
    .examples = examples,
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
