/* heed compare: several language models on one text, as a table and a plot; first it trains them, where they
   are asked for by kind. Classifiers are compared on a table (cli/verb/compare_labels.h). */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/verb/compare_labels.h"
#include "cli/verb/likelihood.h"
#include "cli/frame/input.h"
#include "cli/verb/compare_models.h"
#include "cli/train/progress.h"
#include "train/duration.h"
#include "view/ladder.h"
#include "view/draw/text_pen.h"
#include "view/plot.h"
#include "view/draw/markup.h"

/* X(field, option of heed train, argument, help): what is said once for all models that have it */
#define SETTINGS(X)                                                                                    \
    X(unit, "unit", "UNIT", "tokens: word, char or subword; without it char")                          \
    X(vocab, "vocab", "N", "pieces of the vocabulary")                                                 \
    X(order, "order", "N", "ngram, maxent, ffnn: tokens in a row they know of, the next one included") \
    X(smoothing, "smoothing", "NAME", "ngram: add-k, kneser-ney or kneser-ney-3")                      \
    X(add_k, "add-k", "X", "ngram with add-k: the k")                                                  \
    X(features, "features", "N", "maxent: rows for the weights of hashed contexts")                    \
    X(layers, "layers", "N", "rnn, gru, lstm, gpt")                                                    \
    X(width, "width", "N", "of a token's vector; rnn, gru, lstm: of the state too")                    \
    X(inner, "inner", "N", "ffnn, gpt: width inside the feed-forward layers")                          \
    X(heads, "heads", "N", "gpt: attention heads")                                                     \
    X(context, "context", "N", "tokens of a window; gpt never sees more of them")                      \
    X(batch, "batch", "N", "windows of an update")                                                     \
    X(dropout, "dropout", "X", "all but ngram and maxent")                                             \
    X(lr, "lr", "X", "largest learning rate")                                                          \
    X(epochs, "epochs", "N", "passes over the text")                                                   \
    X(steps, "steps", "N", "updates")                                                                  \
    X(seed, "seed", "N", "of everything drawn at random")

struct compare {
    const char *text, *test, *plot;
    bool json;
    const char *device;
    int precision;
    int task;
    const char *models, *train, *out;
    double valid_fraction;
    bool overwrite;
#define X(field, name, argument, help) const char *field;
    SETTINGS(X)
#undef X
};

static const char *const tasks[] = {"lm", NULL};

#define TRAINING .group = "Models that are trained first"
#define SETTING \
    .group = "Settings of all of them (as of heed train, whose values stand for what is not given)"

static const hd_option options[] = {
    {"text", 't', "FILE", NULL,
     "what the models are to expect, plain or compressed (gzip, xz, zstd), - for stdin",
     HD_FILE_INTO(struct compare, text)},
    {"test", 0, "FILE", NULL,
     "a table with labels, as of heed train: the models are classifiers, and are compared by how well they "
     "find them",
     HD_FILE_INTO(struct compare, test)},
    {"plot", 0, "FILE", NULL, "bars of the bits per character, as .svg, .png or .pdf",
     HD_FILE_INTO(struct compare, plot)},
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(struct compare, json)},
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct compare, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(struct compare, precision, hd_precision_names)},

    {"task", 0, "TASK", "lm", "what they learn: lm", TRAINING, HD_CHOICE_INTO(struct compare, task, tasks)},
    {"models", 0, "LIST", NULL,
     "ngram, maxent, ffnn, rnn, gru, lstm or gpt, with commas between; settings of one alone stand behind "
     "it: 'ngram(order=3 smoothing=add-k),gpt'",
     TRAINING, HD_TEXT_INTO(struct compare, models)},
    {"train", 0, "FILE", NULL,
     "the text to learn from and to be measured on, plain or compressed (gzip, xz, zstd)", TRAINING,
     HD_FILE_INTO(struct compare, train)},
    {"valid-fraction", 0, "X", "0.1", "share of its characters, at its end, that they are measured on",
     TRAINING, HD_FLOAT_INTO(struct compare, valid_fraction, 1e-6, 0.5)},
    {"out", 'o', "FOLDER", NULL, "where their folders go; those that are there already are not trained again",
     TRAINING, HD_FILE_INTO(struct compare, out)},
    {"overwrite", 0, NULL, NULL, "train them again", TRAINING, HD_FLAG_INTO(struct compare, overwrite)},
#define X(field, name, argument, help) \
    {name, 0, argument, NULL, help, SETTING, HD_TEXT_INTO(struct compare, field)},
    SETTINGS(X)
#undef X
        {0},
};

static const hd_example examples[] = {
    {"heed compare ngram lstm gpt --text held-out.txt --plot ladder.svg", "three rungs of the ladder"},
    {"heed compare --task lm --unit char --models ngram,maxent,ffnn,rnn,gru,lstm,gpt --train text.txt.gz "
     "--out ladder",
     "all of them, trained on nine tenths of a text and measured on the last"},
    {"heed compare --models 'ngram(order=3 smoothing=add-k),ngram(order=6),ffnn(order=4),gpt' --steps 1000 "
     "--train text.txt --out ladder",
     "settings of one model, and of all that have them"},
    {"heed compare fine-tuned scratch --test dev.tsv",
     "two classifiers: accuracy, F1, Matthews' correlation"},
    {NULL, NULL},
};

enum { MOST_MODELS = 1000 };

const hd_usage hd_verb_compare_usage = {
    .operands = "[MODEL...]",
    .most = MOST_MODELS,
    .about =
        "Measures the language models in the folders MODEL on one text, in a table with a line for each, "
        "in the order given: how large it is (parameters; of an n-gram model the n-grams it holds), how long "
        "it was trained, its perplexity, bits per character, nats per token and the tokens it reads in a "
        "second.\n"
        "With --models it trains them first, each into a folder of its own below --out, and measures them on "
        "the part of the text that was held back. A model that is there already is taken as it is, an "
        "unfinished one resumed: the same command goes on after a stop.\n"
        "Perplexities compare models with the same tokens. Bits per character compare all, except that "
        "a model of words is spared the spelling of those it does not know, which a warning counts.\n"
        "With --test the folders hold classifiers, which are measured on a table with labels: accuracy, "
        "macro-F1, with two labels the F1 of the second, and Matthews' correlation; of models that give "
        "numbers Pearson's and Spearman's correlation.",
    .options = options,
    .size = sizeof(struct compare),
    .examples = examples,
};

typedef struct row {
    const char *model, *folder;
    hd_lm_kind kind;
    const char *unit;
    size_t size;
    double trained; /* seconds; NaN: not known */
    hd_measured m;
} row;

/* -- measuring -- */

static hd_status measure(row *w, const hd_command *c, hd_run *r, const hd_plain_text *text, hd_err *err)
{
    hd_language *l = NULL;
    hd_status s = hd_language_open(&l, w->folder, r->backend, err);
    if (!s) s = hd_measure(&w->m, r, l, text, err);
    if (!s) {
        w->kind = l->lm->opt.kind;
        w->unit = hd_unit_of(l);
        w->size = hd_lm_size(l->lm);
        w->trained = hd_duration_load(w->folder).seconds;
        if (w->m.unknown)
            hd_log_say(&c->log, HD_WARN, "%s: %zu of %zu tokens are <unk>, whose spelling counts for nothing",
                       w->model, w->m.unknown, w->m.fluency.tokens);
    }
    hd_language_free(l);
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

static const char *time_of(const row *w, char number[HD_DECIMAL])
{
    return isnan(w->trained) ? "-" : hd_decimal(number, w->trained < 10 ? "%.2f s" : "%.0f s", w->trained);
}

/* -- telling -- */

/* Columns behind the models' names: X(heading, where it begins or ends, value). Texts begin there, numbers
   end there. */
#define TEXTS(X)                       \
    X("kind", 2, hd_lm_names[w->kind]) \
    X("unit", 10, w->unit)
#define NUMBERS(X)                                                   \
    X("parameters", 28, hd_grouped(w->size, number))                 \
    X("trained", 38, time_of(w, number))                             \
    X("perplexity", 50, hd_decimal(number, "%.4g", w->m.perplexity)) \
    X("bits/char", 61, hd_decimal(number, "%.3f", w->m.bits))        \
    X("nats/token", 73, hd_decimal(number, "%.4f", nats(w)))         \
    X("tokens/s", 84, hd_grouped((uint64_t)rate(w), number))
#define UNKNOWN(X) X("<unk>", 92, hd_decimal(number, "%.1f%%", unknown_share(w)))

static void put_table(hd_text *to, const row *rows, size_t n)
{
    hd_pen p = {.to = to, .width = INT_MAX};
    int wide = hd_pen_columns("model");
    bool unknown = false; /* a column that is shown only where it says something */
    for (size_t i = 0; i < n; i++) {
        int columns = hd_pen_columns(rows[i].model);
        wide = columns > wide ? columns : wide;
        unknown = unknown || rows[i].m.unknown;
    }
    hd_pen_put(&p, HD_INK_PLAIN, "model");
#define AT(head, at, value) hd_pen_put_at(&p, wide + at, HD_INK_PLAIN, head);
#define TO(head, at, value) hd_pen_put_to(&p, wide + at, HD_INK_PLAIN, head);
    TEXTS(AT)
    NUMBERS(TO)
    if (unknown) UNKNOWN(TO)
#undef AT
#undef TO
    hd_pen_end(&p);
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        char number[HD_DECIMAL];
        hd_pen_put(&p, HD_INK_PLAIN, w->model);
#define AT(head, at, value) hd_pen_put_at(&p, wide + at, HD_INK_PLAIN, value);
#define TO(head, at, value) hd_pen_put_to(&p, wide + at, HD_INK_PLAIN, value);
        TEXTS(AT)
        NUMBERS(TO)
        if (unknown) UNKNOWN(TO)
#undef AT
#undef TO
        hd_pen_end(&p);
    }
}

static void put_object(hd_text *to, const struct compare *o, const row *rows, size_t n)
{
    hd_text_put(to, o->models ? "{\"train\": " : "{\"text\": ");
    hd_put_json(to, o->models ? o->train : o->text, false);
    if (o->models) hd_text_put(to, ", \"valid_fraction\": "), hd_put_number(to, o->valid_fraction, 9);
    hd_text_put(to, ", \"models\": [");
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_text_put(to, i ? ", {\"model\": " : "{\"model\": ");
        hd_put_json(to, w->model, false);
        hd_text_put(to, ", \"folder\": ");
        hd_put_json(to, w->folder, false);
        hd_text_print(to, ", \"kind\": \"%s\", \"unit\": \"%s\", \"parameters\": %zu, ", hd_lm_names[w->kind],
                      w->unit, w->size);
        hd_text_put(to, "\"training_seconds\": ");
        hd_put_number(to, w->trained, 9);
        hd_measured_json(to, &w->m);
        hd_text_put(to, ", \"nats_per_token\": ");
        hd_put_number(to, nats(w), 9);
        hd_text_put(to, ", \"tokens_per_second\": ");
        hd_put_number(to, rate(w), 6);
        hd_text_put(to, "}");
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

static hd_status show(const hd_command *c, const row *rows, size_t n, hd_err *err)
{
    const struct compare *o = c->options;
    hd_text out = {0};
    if (o->json)
        put_object(&out, o, rows, n);
    else
        put_table(&out, rows, n);
    return hd_command_put_text(c, &out, true, err);
}

/* -- the verb -- */

/* The text to be measured on: that of --text, or what was held back of --train. */
static hd_status read_text(hd_plain_text *out, const hd_command *c, hd_err *err)
{
    const struct compare *o = c->options;
    if (!o->models) hd_input_await(c, o->text, "a text to measure");
    if (!o->models) return hd_plain_text_read(out, o->text, err);
    hd_plain_text learned = {0};
    hd_status s = hd_plain_text_read(&learned, o->train, err);
    if (!s) s = hd_plain_text_split(&learned, o->valid_fraction, out, err);
    hd_plain_text_release(&learned);
    return s;
}

static hd_status measure_all(const hd_command *c, row *rows, size_t n, const hd_plain_text *text, hd_err *err)
{
    const struct compare *o = c->options;
    hd_backend *backend = NULL;
    hd_run r = {0};
    hd_backend_opt opt = {
        .threads = c->common.threads, .precision = (hd_precision)o->precision, .log = &c->log};
    hd_status s = hd_backend_new(&backend, o->device, &opt, err);
    if (!s) s = hd_run_init(&r, backend, err);
    for (size_t i = 0; !s && i < n; i++) s = measure(&rows[i], c, &r, text, err);
    hd_run_release(&r);
    hd_backend_free(backend);
    if (!s) s = show(c, rows, n, err);
    return s || !o->plot ? s : plot(o->plot, rows, n, err);
}

static int tell(const hd_command *c, const hd_models *m, const hd_plain_text *text)
{
    hd_err err = {0};
    size_t n = m->count ? m->count : (size_t)c->operands.count;
    row *rows = hd_mem_array(n, sizeof *rows);
    hd_status s = rows ? HD_OK : hd_err_nomem(&err, n * sizeof *rows);
    for (size_t i = 0; !s && i < n; i++) {
        rows[i].model = m->count ? m->at[i].name : c->operands.word[i];
        rows[i].folder = m->count ? m->at[i].folder : c->operands.word[i];
    }
    if (!s) s = measure_all(c, rows, n, text, &err);
    hd_mem_free(rows);
    return s ? hd_command_fail(c, &err) : HD_EXIT_OK;
}

static hd_status give(hd_models *m, const hd_command *c, const char *option, const char *value, hd_err *err)
{
    bool taken;
    hd_status s = hd_models_give(m, option, value, &taken, err);
    if (!s && !taken) hd_log_say(&c->log, HD_WARN, "--%s: none of these models has it", option);
    return s;
}

/* What --models asks for, with what the other options say of them. */
static hd_status read_models(hd_models *m, const hd_command *c, hd_err *err)
{
    const struct compare *o = c->options;
    hd_status s = hd_models_read(m, o->models, err);
#define X(field, name, argument, help) \
    if (!s && o->field) s = give(m, c, name, o->field, err);
    SETTINGS(X)
#undef X
    for (size_t i = 0; !s && i < m->count; i++) {
        hd_train_options *t = &m->at[i].options;
        t->train = (hd_texts){.text = {o->train}, .count = 1};
        t->valid_fraction = o->valid_fraction;
        t->device = o->device;
        t->precision = o->precision;
    }
    return s;
}

static hd_status check(const hd_command *c, hd_err *err)
{
    const struct compare *o = c->options;
    if (!o->models) {
        static const char *const training[] = {"train", "out", "overwrite", "valid-fraction"};
        for (size_t i = 0; i < sizeof training / sizeof *training; i++)
            if (hd_command_given(c, training[i]))
                return hd_err_set(err, HD_EARG, "--%s is for models that are trained: --models is missing",
                                  training[i]);
#define X(field, name, argument, help) \
    if (o->field)                      \
        return hd_err_set(err, HD_EARG, "--" name " is for models that are trained: --models is missing");
        SETTINGS(X)
#undef X
        if (!c->operands.count)
            return hd_err_set(err, HD_EARG, "which models? Give their folders, or --models to train them");
        if (o->test && (o->text || o->plot))
            return hd_err_set(err, HD_EARG, "--test is for classifiers: --%s does not fit",
                              o->text ? "text" : "plot");
        if (o->test) return HD_OK;
        if (!o->text) return hd_err_set(err, HD_EARG, "--text is missing: the text to measure the models on");
        return HD_OK;
    }
    if (c->operands.count)
        return hd_err_set(err, HD_EARG, "--models trains models: the folder %s does not fit",
                          c->operands.word[0]);
    if (o->test)
        return hd_err_set(err, HD_EARG, "--models trains language models: --test is for classifiers");
    if (o->text)
        return hd_err_set(err, HD_EARG, "--models measures on a part of --train: --text does not fit");
    if (!o->train) return hd_err_set(err, HD_EARG, "--train is missing: what shall be learned from?");
    if (!strcmp(o->train, "-"))
        return hd_err_set(err, HD_EARG, "--train must be a file: every model reads it anew");
    if (!o->out) return hd_err_set(err, HD_EARG, "--out is missing: where shall the models go?");
    return HD_OK;
}

int hd_verb_compare(const hd_command *c)
{
    const struct compare *o = c->options;
    hd_err err = {0};
    hd_models models = {0};
    hd_plain_text text = {0};
    hd_status s = check(c, &err);
    if (!s && o->models) s = read_models(&models, c, &err);
    if (!s && o->test) {
        s = hd_compare_labels(c, o->test, o->device, o->precision, o->json, &err);
        if (!s) return HD_EXIT_OK;
    }
    int status = s == HD_EARG ? hd_verb_misused(c->verb, &err) : s ? hd_command_fail(c, &err) : HD_EXIT_OK;
    /* what can go wrong is best known before hours of training */
    if (!s && o->plot) s = hd_plot_check(o->plot, &err);
    if (!s) s = read_text(&text, c, &err);
    if (s && status == HD_EXIT_OK) status = hd_command_fail(c, &err);
    if (status == HD_EXIT_OK && o->models) status = hd_models_train(c, &models, o->out, o->overwrite);
    if (status == HD_EXIT_OK) status = tell(c, &models, &text);
    hd_plain_text_release(&text);
    hd_models_release(&models);
    return status;
}
