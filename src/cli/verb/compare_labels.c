/* heed compare --test. */
#include "cli/verb/compare_labels.h"

#include <limits.h>
#include <math.h>

#include "base/mem.h"
#include "cli/train/progress.h"
#include "task/label/labeler.h"
#include "train/duration.h"
#include "view/draw/text_pen.h"
#include "view/draw/markup.h"

typedef struct row {
    const char *folder;
    char body[HD_STAGES_TEXT];
    size_t parameters, items;
    bool numbers;
    double trained; /* seconds; NaN: not known */
    double loss;    /* of an item */
    hd_figure figure[HD_FIGURES];
} row;

/* Every model has labels of its own, by which the table is read. */
static hd_status judge(row *w, hd_run *r, const hd_labeler *l, const char *table, hd_err *err)
{
    hd_labeled items = {0};
    hd_examples x = {0};
    hd_judged found = {0};
    hd_vocab labels = l->labels; /* not added to */
    hd_examples_opt e = hd_labeler_examples(&l->model->opt);
    hd_status s = hd_labeled_table(&items, w->numbers ? NULL : &labels, table, err);
    if (!s) s = hd_examples_make(&x, &items, l->tokenizer, &e, err);
    if (!s) s = hd_labeler_judge(&found, r, l, &x, err);
    if (!s) {
        hd_judged_figures(&found, w->figure);
        w->items = x.labels;
        w->loss = found.loss / (double)x.labels;
    }
    hd_confusion_release(&found.confusion);
    hd_examples_release(&x);
    hd_labeled_release(&items);
    return s;
}

static hd_status measure(row *w, hd_run *r, const char *table, hd_err *err)
{
    hd_labeler *l = NULL;
    hd_status s = hd_labeler_open(&l, w->folder, HD_CLASSIFY, r->backend, err);
    if (!s) {
        hd_body_text(&l->model->opt.body, w->body);
        w->parameters = hd_params_size(l->model->params);
        w->numbers = l->model->opt.numbers;
        w->trained = hd_duration_load(w->folder).seconds;
        s = judge(w, r, l, table, err);
    }
    hd_labeler_free(l);
    return s;
}

static void put_table(hd_text *to, const row *rows, size_t n)
{
    enum { STEP = 11 };
    hd_pen p = {.to = to, .width = INT_MAX};
    int wide = hd_pen_columns("model"), body = hd_pen_columns("body");
    char number[HD_DECIMAL];
    for (size_t i = 0; i < n; i++) {
        int columns = hd_pen_columns(rows[i].folder), of_body = hd_pen_columns(rows[i].body);
        wide = columns > wide ? columns : wide;
        body = of_body > body ? of_body : body;
    }
    wide += 2, body += wide;
    hd_pen_put(&p, HD_INK_PLAIN, "model");
    hd_pen_put_at(&p, wide, HD_INK_PLAIN, "body");
    hd_pen_put_to(&p, body + 12, HD_INK_PLAIN, "parameters");
    hd_pen_put_to(&p, body + 22, HD_INK_PLAIN, "trained");
    for (int k = 0; k < HD_FIGURES && rows->figure[k].name; k++)
        hd_pen_put_to(&p, body + 22 + (k + 1) * STEP, HD_INK_PLAIN, rows->figure[k].title);
    hd_pen_end(&p);
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_pen_put(&p, HD_INK_PLAIN, w->folder);
        hd_pen_put_at(&p, wide, HD_INK_PLAIN, w->body);
        hd_pen_put_to(&p, body + 12, HD_INK_PLAIN, hd_grouped(w->parameters, number));
        hd_pen_put_to(&p, body + 22, HD_INK_PLAIN,
                      isnan(w->trained) ? "-" : hd_decimal(number, "%.0f s", w->trained));
        for (int k = 0; k < HD_FIGURES && w->figure[k].name; k++) {
            const hd_figure *f = &w->figure[k];
            hd_decimal(number, f->share ? "%.2f %%" : "%.4f", f->share ? 100 * f->value : f->value);
            hd_pen_put_to(&p, body + 22 + (k + 1) * STEP, HD_INK_PLAIN, number);
        }
        hd_pen_end(&p);
    }
}

static void put_object(hd_text *to, const char *table, const row *rows, size_t n)
{
    hd_text_put(to, "{\"test\": ");
    hd_put_json(to, table, false);
    hd_text_print(to, ", \"items\": %zu, \"models\": [", rows->items);
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_text_put(to, i ? ", {\"model\": " : "{\"model\": ");
        hd_put_json(to, w->folder, false);
        hd_text_print(to, ", \"body\": \"%s\", \"parameters\": %zu, \"training_seconds\": ", w->body,
                      w->parameters);
        hd_put_number(to, w->trained, 9);
        hd_text_put(to, ", \"loss\": ");
        hd_put_number(to, w->loss, 9);
        for (int k = 0; k < HD_FIGURES && w->figure[k].name; k++) {
            hd_text_print(to, ", \"%s\": ", w->figure[k].name);
            hd_put_number(to, w->figure[k].value, 9);
        }
        hd_text_put(to, "}");
    }
    hd_text_put(to, "]}\n");
}

static hd_status measure_all(row *rows, size_t n, hd_run *r, const char *table, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        s = measure(&rows[i], r, table, err);
        if (!s && rows[i].numbers != rows[0].numbers)
            s = hd_err_set(err, HD_EARG, "%s gives %s, %s %s: they cannot be compared", rows[0].folder,
                           rows[0].numbers ? "numbers" : "labels", rows[i].folder,
                           rows[i].numbers ? "numbers" : "labels");
    }
    return s;
}

hd_status hd_compare_labels(const hd_command *c, const char *table, const char *device, int precision,
                            bool json, hd_err *err)
{
    hd_backend *backend = NULL;
    hd_run r = {0};
    hd_text out = {0};
    size_t n = (size_t)c->operands.count;
    row *rows = hd_mem_array(n, sizeof *rows);
    hd_backend_opt opt = {.threads = c->common.threads, .precision = (hd_precision)precision, .log = &c->log};
    hd_status s = rows ? HD_OK : hd_err_nomem(err, n * sizeof *rows);
    if (!s) s = hd_backend_new(&backend, device, &opt, err);
    if (!s) s = hd_run_init(&r, backend, err);
    for (size_t i = 0; !s && i < n; i++) rows[i].folder = c->operands.word[i];
    if (!s) s = measure_all(rows, n, &r, table, err);
    hd_run_release(&r);
    hd_backend_free(backend);
    if (!s && json) put_object(&out, table, rows, n);
    if (!s && !json) put_table(&out, rows, n);
    if (!s) s = hd_command_put_text(c, &out, true, err);
    hd_text_release(&out);
    hd_mem_free(rows);
    return s;
}
