/* heed compare of classifiers. */
#include "cli/verb/compare/compare.h"

#include <math.h>
#include <string.h>

#include "task/label/labeler.h"
#include "train/duration.h"
#include "view/draw/table.h"

typedef struct row {
    const char *folder;
    char body[HD_STAGES_TEXT];
    size_t parameters, items;
    const hd_label_kind *kind;
    double trained; /* seconds; NaN: not known */
    double loss;    /* of an item */
    hd_figure figure[HD_FIGURES];
} row;

/* Every model has labels of its own, by which the table is read. */
static hd_status measure(row *w, hd_run *r, const char *table, hd_err *err)
{
    hd_model_folder f;
    hd_judged found = {0};
    hd_status s = hd_model_folder_open(&f, w->folder, "classify", r->backend, HD_WEIGHTS_BEST, err);
    if (s) return s;
    if (f.pictures) {
        hd_model_folder_release(&f);
        return hd_err_set(err, HD_EARG, "%s reads pictures, not texts", w->folder);
    }
    hd_body_text(&hd_model_folder_classifier(&f)->opt.body, w->body);
    w->parameters = hd_params_size(f.model.params);
    w->kind = hd_labeler_kind(&f);
    w->trained = hd_duration_load(w->folder).seconds;
    s = hd_labeler_judge_file(&found, r, &f, table, err);
    memcpy(w->figure, found.figure, sizeof w->figure);
    w->items = found.count;
    w->loss = found.loss / (double)found.count;
    hd_confusion_release(&found.confusion);
    hd_model_folder_release(&f);
    return s;
}

static void put_table(hd_text *to, const row *rows, size_t n)
{
    static const char *const heads[] = {"model", "body", "parameters", "trained"};
    size_t figures = 0;
    char number[HD_DECIMAL];
    while (figures < HD_FIGURES && rows->figure[figures].name) figures++;
    hd_table t = {.columns = 4 + figures, .left = 2};
    for (size_t k = 0; k < 4; k++) hd_table_add(&t, heads[k]);
    for (size_t k = 0; k < figures; k++) hd_table_add(&t, rows->figure[k].title);
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_table_add(&t, w->folder);
        hd_table_add(&t, w->body);
        hd_table_add(&t, hd_grouped(w->parameters, number));
        hd_table_add(&t, hd_compare_time(w->trained, number));
        for (size_t k = 0; k < figures; k++) {
            const hd_figure *f = &w->figure[k];
            hd_table_add(
                &t, hd_decimal(number, f->share ? "%.2f %%" : "%.4f", f->share ? 100 * f->value : f->value));
        }
    }
    hd_table_write(to, &t);
}

static void put_object(hd_text *to, const char *file, const row *rows, size_t n)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "file", file);
    hd_member_count(to, "items", rows->items);
    hd_member_begin(to, "models", '[');
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "model", w->folder);
        hd_member_text(to, "body", w->body);
        hd_member_count(to, "parameters", w->parameters);
        hd_member_number(to, "training_seconds", w->trained, 9);
        hd_member_number(to, "loss", w->loss, 9);
        for (int k = 0; k < HD_FIGURES && w->figure[k].name; k++)
            hd_member_number(to, w->figure[k].name, w->figure[k].value, 9);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "]}\n");
}

static hd_status measure_all(row *rows, size_t n, hd_run *r, const char *file, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        s = measure(&rows[i], r, file, err);
        if (!s && rows[i].kind != rows[0].kind)
            s = hd_err_set(err, HD_EARG, "%s predicts %s, %s %s: they cannot be compared", rows[0].folder,
                           rows[0].kind->predicts, rows[i].folder, rows[i].kind->predicts);
    }
    return s;
}

const char *hd_compare_time(double seconds, char number[HD_DECIMAL])
{
    return isnan(seconds) ? "-" : hd_decimal(number, seconds < 10 ? "%.2f s" : "%.0f s", seconds);
}

hd_status hd_compare_labels(hd_command *c, char *const *folder, size_t n, const char *file, bool json,
                            hd_err *err)
{
    hd_text out = {0};
    row *rows = hd_mem_array(n, sizeof *rows);
    hd_status s = rows ? HD_OK : hd_err_nomem(err, n * sizeof *rows);
    if (!s && n > 1 && !strcmp(file, "-"))
        s = hd_err_set(err, HD_EARG, "the table must be a file, as every classifier reads it anew");
    for (size_t i = 0; !s && i < n; i++) rows[i].folder = folder[i];
    if (!s) s = measure_all(rows, n, &c->machine.run, file, err);
    if (!s && json) put_object(&out, file, rows, n);
    if (!s && !json) put_table(&out, rows, n);
    if (!s) s = hd_command_put_text(c, &out, true, err);
    hd_mem_free(rows);
    return s;
}
