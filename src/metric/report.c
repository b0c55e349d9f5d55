/* Scores as text and as JSON. The text of one system is sacreBLEU's to the byte but for the version, so that
   what reads the one reads the other. */
#include "metric/report.h"

#include <jansson.h>
#include <string.h>

#include "base/json.h"

enum { DIGITS = 17 }; /* as many as a double needs to be read back the same */

static const hd_score_report_cell *cell_at(const hd_score_report *r, size_t system, size_t metric)
{
    return &r->cell[system * r->metrics + metric];
}

/* "NAME|SIGNATURE" */
static void put_title(hd_text *to, const hd_score_report *r, const hd_metric *m)
{
    hd_text_print(to, "%s|", hd_metric_is(m)->name);
    hd_metric_sign(m, r->trials, to);
}

static void put_score(hd_text *to, const hd_score_report *r, const hd_score_report_cell *c, int digits)
{
    hd_text_print(to, "%.*f", digits, c->score);
    if (r->trials.samples)
        hd_text_print(to, " (μ = %.*f ± %.*f)", digits, c->interval.mean, digits, c->interval.half);
}

/* A text that could not be built is missing in `to` as well. */
static void pass_on(hd_text *to, const hd_text *part)
{
    if (part->missed && !to->missed) to->missed = part->missed;
}

static void one_system(hd_text *to, const hd_score_report *r, int digits)
{
    size_t widest = 0;
    for (int show = 0; show < 2; show++) /* once to measure */
        for (size_t m = 0; m < r->metrics; m++) {
            const hd_score_report_cell *c = cell_at(r, 0, m);
            hd_text title = {0};
            put_title(&title, r, c->metric);
            if (title.size > widest) widest = title.size;
            if (show) {
                hd_text_print(to, "%*s = ", (int)widest, title.data ? title.data : "");
                put_score(to, r, c, digits);
                hd_text detail = {0};
                hd_metric_detail(c->metric, &detail);
                if (detail.size) hd_text_print(to, " %s", detail.data);
                pass_on(to, &detail);
                hd_text_release(&detail);
                hd_text_put(to, "\n");
            }
            pass_on(to, &title);
            hd_text_release(&title);
        }
}

static void put_comparison(hd_text *to, const hd_score_report *r, size_t system, size_t metric, int digits)
{
    const hd_score_report_cell *c = cell_at(r, system, metric), *first = cell_at(r, 0, metric);
    hd_text_print(to, "  %+.*f", digits, c->score - first->score);
    if (!r->trials.samples) return;
    const hd_interval *d = &c->first.difference;
    hd_text_print(to, " (95 %%: %+.*f to %+.*f, p = %.4f)%s", digits, d->low, digits, d->high, c->first.p,
                  c->first.p <= 0.05 ? "*" : "");
}

static void several_systems(hd_text *to, const hd_score_report *r, int digits)
{
    size_t widest = 0;
    for (size_t i = 0; i < r->systems; i++)
        if (strlen(r->name[i]) > widest) widest = strlen(r->name[i]);
    for (size_t m = 0; m < r->metrics; m++) {
        put_title(to, r, cell_at(r, 0, m)->metric);
        hd_text_put(to, "\n");
        for (size_t i = 0; i < r->systems; i++) {
            hd_text_print(to, "  %-*s  ", (int)widest, r->name[i]);
            put_score(to, r, cell_at(r, i, m), digits);
            if (i) put_comparison(to, r, i, m, digits);
            hd_text_put(to, "\n");
        }
    }
}

void hd_score_report_text(hd_text *to, const hd_score_report *r, int digits)
{
    if (r->systems == 1)
        one_system(to, r, digits);
    else
        several_systems(to, r, digits);
}

/* ---- JSON: Jansson's setters take NULL and fail, so that a missing block is noticed once, at the end ----
 */

static json_t *interval(const hd_interval *i)
{
    json_t *all = json_object();
    json_object_set_new(all, "mean", json_real(i->mean));
    json_object_set_new(all, "low", json_real(i->low));
    json_object_set_new(all, "high", json_real(i->high));
    return all;
}

static json_t *resampled(const hd_score_report *r, size_t system)
{
    json_t *all = json_object();
    for (size_t m = 0; m < r->metrics; m++) {
        const hd_score_report_cell *c = cell_at(r, system, m);
        json_t *one = interval(&c->interval);
        if (system) {
            json_object_set_new(one, "difference", interval(&c->first.difference));
            json_object_set_new(one, "p", json_real(c->first.p));
        }
        json_object_set_new(all, hd_metric_key(c->metric), one);
    }
    return all;
}

static json_t *signatures(const hd_score_report *r, hd_text *to)
{
    json_t *all = json_object();
    for (size_t m = 0; m < r->metrics; m++) {
        hd_text text = {0};
        const hd_metric *metric = cell_at(r, 0, m)->metric;
        hd_metric_sign(metric, r->trials, &text);
        json_object_set_new(all, hd_metric_key(metric), text.missed ? NULL : json_string(text.data));
        pass_on(to, &text);
        hd_text_release(&text);
    }
    return all;
}

static void add_system(json_t *to, const hd_score_report *r, size_t system)
{
    for (size_t m = 0; m < r->metrics; m++)
        json_object_set_new(to, hd_metric_key(cell_at(r, system, m)->metric),
                            json_real(cell_at(r, system, m)->score));
    if (r->trials.samples) json_object_set_new(to, "bootstrap", resampled(r, system));
}

/* A file's name may be any bytes, a text in JSON may not. */
static json_t *name_of(const char *name)
{
    json_t *text = json_string(name);
    return text || hd_json_missed() ? text : json_string("(not UTF-8)");
}

static json_t *report(const hd_score_report *r, hd_text *to)
{
    json_t *all = json_object(), *list = r->systems > 1 ? json_array() : NULL;
    for (size_t i = 0; list && i < r->systems; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "name", name_of(r->name[i]));
        add_system(one, r, i);
        json_array_append_new(list, one);
    }
    if (r->systems == 1)
        add_system(all, r, 0);
    else
        json_object_set_new(all, "systems", list);
    json_object_set_new(all, "signature", signatures(r, to));
    return all;
}

static int write_text(const char *bytes, size_t size, void *to)
{
    hd_text_add(to, bytes, size);
    return 0;
}

hd_status hd_score_report_json(hd_text *to, const hd_score_report *r, hd_err *err)
{
    hd_json_begin();
    json_t *all = report(r, to);
    bool written = all && !json_dump_callback(all, write_text, to, JSON_REAL_PRECISION(DIGITS));
    json_decref(all);
    if (hd_json_missed() || !written) return hd_err_nomem(err, hd_json_missed());
    hd_text_put(to, "\n");
    return hd_text_status(to, err);
}

/* ---- segments ---- */

void hd_score_report_segment(hd_text *to, hd_metric *const *metric, size_t metrics, int digits)
{
    for (size_t m = 0; m < metrics; m++)
        hd_text_print(to, "%s%.*f", m ? "\t" : "", digits, hd_metric_last(metric[m]));
    hd_text_put(to, "\n");
}

void hd_score_report_segment_json(hd_text *to, hd_metric *const *metric, size_t metrics)
{
    for (size_t m = 0; m < metrics; m++)
        hd_text_print(to, "%s\"%s\": %.*g", m ? ", " : "{", hd_metric_key(metric[m]), DIGITS,
                      hd_metric_last(metric[m]));
    hd_text_put(to, "}\n");
}
