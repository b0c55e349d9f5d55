/* heed compare: several language models on one text, as a table and a plot. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/fluency.h"
#include "cli/train_progress.h"
#include "cli/verb.h"
#include "view/ladder.h"
#include "view/pen.h"
#include "view/plot.h"
#include "view/put.h"

struct compare {
    const char *text, *plot;
    bool json;
    const char *device;
    int precision;
};

static const hd_option options[] = {
    {"text", 't', "FILE", NULL, "what the models are to expect, plain or gzip",
     HD_FILE_INTO(struct compare, text)},
    {"plot", 0, "FILE", NULL, "bars of the bits per character, as .svg, .png or .pdf",
     HD_FILE_INTO(struct compare, plot)},
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(struct compare, json)},
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct compare, device)},
    {"precision", 0, "KIND", "auto", "auto, f32 or bf16",
     HD_CHOICE_INTO(struct compare, precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"heed compare ngram lstm gpt --text held-out.txt --plot ladder.svg", "three rungs of the ladder"},
    {NULL, NULL},
};

enum { MOST_MODELS = 1000 };

const hd_usage hd_verb_compare_usage = {
    .operands = "MODEL...",
    .least = 1,
    .most = MOST_MODELS,
    .about =
        "Measures the language models in the folders MODEL on one text, in a table with a line for each, "
        "in the order given: how large it is (parameters; of an n-gram model the n-grams it holds), its "
        "perplexity, bits per character and the tokens it reads in a second.\n"
        "Perplexities compare models with the same tokens. Bits per character compare all, except that "
        "a model of words is spared the spelling of those it does not know, which a warning counts.",
    .options = options,
    .size = sizeof(struct compare),
    .examples = examples,
};

typedef struct row {
    const char *model;
    hd_lm_kind kind;
    const char *unit;
    size_t size;
    hd_measured m;
} row;

static hd_status measure(row *w, const hd_command *c, hd_run *r, const char *folder, hd_err *err)
{
    const struct compare *o = c->options;
    hd_language *l = NULL;
    hd_status s = hd_language_open(&l, folder, r->backend, err);
    if (!s) s = hd_measure(&w->m, r, l, o->text, err);
    if (!s) {
        w->model = folder;
        w->kind = l->lm->opt.kind;
        w->unit = hd_unit_of(l);
        w->size = hd_lm_size(l->lm);
        if (w->m.unknown)
            hd_log_say(&c->log, HD_WARN, "%s: %zu of %zu tokens are <unk>, whose spelling counts for nothing",
                       folder, w->m.unknown, w->m.fluency.tokens);
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

/* Columns behind the models' names: X(heading, where it begins or ends, value). Texts begin there, numbers
   end there. */
#define TEXTS(X)                       \
    X("kind", 2, hd_lm_names[w->kind]) \
    X("unit", 10, w->unit)
#define NUMBERS(X)                                                   \
    X("parameters", 32, hd_grouped(w->size, number))                 \
    X("perplexity", 44, hd_decimal(number, "%.4g", w->m.perplexity)) \
    X("bits/char", 55, hd_decimal(number, "%.3f", w->m.bits))        \
    X("tokens/s", 68, hd_grouped((uint64_t)rate(w), number))
#define UNKNOWN(X) X("<unk>", 76, hd_decimal(number, "%.1f%%", unknown_share(w)))

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

static void put_object(hd_text *to, const char *text, const row *rows, size_t n)
{
    hd_text_put(to, "{\"text\": ");
    hd_put_json(to, text, false);
    hd_text_put(to, ", \"models\": [");
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_text_put(to, i ? ", {\"model\": " : "{\"model\": ");
        hd_put_json(to, w->model, false);
        hd_text_print(to, ", \"kind\": \"%s\", \"unit\": \"%s\", \"parameters\": %zu, ", hd_lm_names[w->kind],
                      w->unit, w->size);
        hd_measured_json(to, &w->m);
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
        put_object(&out, o->text, rows, n);
    else
        put_table(&out, rows, n);
    hd_status s = hd_text_status(&out, err);
    if (!s) fwrite(out.data, 1, out.size, c->out.file);
    hd_text_release(&out);
    return s;
}

static hd_status run(const hd_command *c, row *rows, size_t n, hd_err *err)
{
    const struct compare *o = c->options;
    hd_backend *backend = NULL;
    hd_run r = {0};
    hd_backend_opt opt = {.threads = c->common.threads, .precision = (hd_precision)o->precision};
    hd_status s = hd_backend_new(&backend, o->device, &opt, err);
    if (!s) s = hd_run_init(&r, backend, err);
    for (size_t i = 0; !s && i < n; i++) s = measure(&rows[i], c, &r, c->operands.word[i], err);
    hd_run_release(&r);
    hd_backend_free(backend);
    if (!s) s = show(c, rows, n, err);
    return s || !o->plot ? s : plot(o->plot, rows, n, err);
}

static hd_status check(const struct compare *o, hd_err *err)
{
    if (!o->text) return hd_err_set(err, HD_EARG, "--text is missing: the text to measure the models on");
    if (!strcmp(o->text, "-"))
        return hd_err_set(err, HD_EARG, "--text must be a file: every model reads it anew");
    return HD_OK;
}

int hd_verb_compare(const hd_command *c)
{
    const struct compare *o = c->options;
    hd_err err = {0};
    size_t n = (size_t)c->operands.count;
    if (check(o, &err)) return hd_verb_misused(c->verb, &err);
    row *rows = hd_mem_array(n, sizeof *rows);
    hd_status s = rows ? HD_OK : hd_err_nomem(&err, n * sizeof *rows);
    if (!s && o->plot) s = hd_plot_check(o->plot, &err);
    if (!s) s = run(c, rows, n, &err);
    hd_mem_free(rows);
    return s ? hd_command_fail(c, &err) : HD_EXIT_OK;
}
