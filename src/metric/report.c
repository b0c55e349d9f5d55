/* Scores as text and as JSON. The text of one system is sacreBLEU's to the byte but for the version, so that
   what reads the one reads the other. */
#include "metric/report.h"

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

/* ---- JSON ---- */

static json_t *interval(const hd_interval *i)
{
    json_t *all = json_object();
    hd_json_set(all, "mean", hd_json_real(i->mean));
    hd_json_set(all, "low", hd_json_real(i->low));
    hd_json_set(all, "high", hd_json_real(i->high));
    return all;
}

static json_t *resampled(const hd_score_report *r, size_t system)
{
    json_t *all = json_object();
    for (size_t m = 0; m < r->metrics; m++) {
        const hd_score_report_cell *c = cell_at(r, system, m);
        json_t *one = interval(&c->interval);
        if (system) {
            hd_json_set(one, "difference", interval(&c->first.difference));
            hd_json_set(one, "p", hd_json_real(c->first.p));
        }
        hd_json_set(all, hd_metric_key(c->metric), one);
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
        hd_json_set(all, hd_metric_key(metric), text.missed ? NULL : hd_json_string(text.data));
        pass_on(to, &text);
        hd_text_release(&text);
    }
    return all;
}

static void add_system(json_t *to, const hd_score_report *r, size_t system)
{
    for (size_t m = 0; m < r->metrics; m++)
        hd_json_set(to, hd_metric_key(cell_at(r, system, m)->metric),
                    hd_json_real(cell_at(r, system, m)->score));
    if (r->trials.samples) hd_json_set(to, "bootstrap", resampled(r, system));
}

static json_t *report(const hd_score_report *r, hd_text *to)
{
    json_t *all = json_object(), *list = r->systems > 1 ? json_array() : NULL;
    for (size_t i = 0; list && i < r->systems; i++) {
        json_t *one = json_object();
        hd_json_set(one, "name", hd_json_string(r->name[i]));
        add_system(one, r, i);
        hd_json_append(list, one);
    }
    if (r->systems == 1)
        add_system(all, r, 0);
    else
        hd_json_set(all, "systems", list);
    hd_json_set(all, "signature", signatures(r, to));
    return all;
}

hd_status hd_score_report_json(hd_text *to, const hd_score_report *r, hd_err *err)
{
    hd_json_begin();
    hd_status s = hd_json_write(to, report(r, to), JSON_REAL_PRECISION(DIGITS), err);
    hd_text_put(to, "\n");
    return s ? s : hd_text_status(to, err);
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
