/* Scores by length, as a table, as JSON and as a plot. */
#include "view/lengths.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/file/lines.h"
#include "view/curves.h"
#include "view/draw/json_members.h"
#include "view/draw/markup.h"
#include "view/draw/table.h"
#include "view/plot.h"

static hd_metric *metric_at(const hd_lengths_view *s, size_t system, size_t metric)
{
    return s->metric[system * s->metrics + metric];
}

/* A file's name may be any bytes. */
static const char *name_of(const hd_lengths_view *s, size_t system)
{
    const char *name = s->name[system];
    size_t size = strlen(name);
    return hd_utf8_good(name, size) == size ? name : "(not UTF-8)";
}

hd_status hd_lengths_view_open(hd_lengths_view *s, hd_err *err)
{
    size_t cells = s->systems * s->metrics, each = s->lengths->buckets + 1;
    s->score = hd_mem_array(cells * each, sizeof *s->score);
    if (!s->score) return hd_err_nomem(err, cells * each * sizeof *s->score);
    for (size_t i = 0; i < cells; i++) {
        const hd_metric *m = s->metric[i];
        hd_lengths_score(s->lengths, m, s->score + i * each);
        s->score[i * each + each - 1] = hd_metric_of(m, hd_metric_sums(m));
    }
    return HD_OK;
}

void hd_lengths_view_release(hd_lengths_view *s)
{
    hd_mem_free(s->score);
    s->score = NULL;
}

static const double *score_at(const hd_lengths_view *s, size_t system, size_t metric)
{
    return s->score + (system * s->metrics + metric) * (s->lengths->buckets + 1);
}

/* -- text -- */

static void put_table(hd_text *to, const hd_lengths_view *s, size_t metric, int digits)
{
    const hd_lengths *l = s->lengths;
    hd_table t = {.columns = 2 + s->systems, .left = 1};
    char name[HD_BUCKET_NAME], number[HD_DECIMAL], format[16];
    snprintf(format, sizeof format, "%%.%df", digits);
    hd_text_print(to, "%s|", hd_metric_is(metric_at(s, 0, metric))->name);
    hd_metric_sign(metric_at(s, 0, metric), (hd_metric_trials){0}, to);
    hd_text_put(to, "\n");
    hd_table_add(&t, "words");
    hd_table_add(&t, "sentences");
    for (size_t i = 0; i < s->systems; i++) hd_table_add(&t, name_of(s, i));
    for (size_t b = 0; b <= l->buckets; b++) {
        const hd_bucket *k = b < l->buckets ? &l->bucket[b] : NULL;
        hd_table_add(&t, k ? hd_bucket_name(k, name) : "all");
        snprintf(number, sizeof number, "%zu", k ? k->segments : l->count);
        hd_table_add(&t, number);
        for (size_t i = 0; i < s->systems; i++) {
            double score = score_at(s, i, metric)[b];
            hd_table_add(&t, isnan(score) ? "-" : hd_decimal(number, format, score));
        }
    }
    hd_table_write(to, &t);
}

void hd_lengths_text(hd_text *to, const hd_lengths_view *s, int digits)
{
    for (size_t m = 0; m < s->metrics; m++) put_table(to, s, m, digits);
}

/* -- JSON -- */

static void put_systems(hd_text *to, const hd_lengths_view *s, size_t bucket)
{
    hd_member_begin(to, "systems", '[');
    for (size_t i = 0; i < s->systems; i++) {
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "name", name_of(s, i));
        for (size_t m = 0; m < s->metrics; m++)
            hd_member_number(to, hd_metric_key(metric_at(s, i, m)), score_at(s, i, m)[bucket], 17);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_bucket(hd_text *to, const hd_bucket *b)
{
    hd_member_count(to, "from", b->from);
    if (b->to == HD_BUCKET_OPEN)
        hd_member_text(to, "to", NULL);
    else
        hd_member_count(to, "to", b->to);
    hd_member_count(to, "sentences", b->segments);
}

void hd_lengths_json(hd_text *to, const hd_lengths_view *s)
{
    const hd_lengths *l = s->lengths;
    hd_member_begin(to, NULL, '{');
    hd_member_begin(to, "buckets", '[');
    for (size_t b = 0; b < l->buckets; b++) {
        hd_member_begin(to, NULL, '{');
        put_bucket(to, &l->bucket[b]);
        put_systems(to, s, b);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
    hd_member_count(to, "outside", l->outside);
    put_systems(to, s, l->buckets);
    hd_member_begin(to, "signature", '{');
    for (size_t m = 0; m < s->metrics; m++) {
        hd_member_key(to, hd_metric_key(metric_at(s, 0, m)));
        hd_text_put(to, "\"");
        hd_metric_sign(metric_at(s, 0, m), (hd_metric_trials){0}, to);
        hd_text_put(to, "\"");
    }
    hd_text_put(to, "}}\n");
}

/* -- plot -- */

hd_status hd_lengths_save(const char *path, const hd_lengths_view *s, hd_err *err)
{
    const hd_lengths *l = s->lengths;
    char name[HD_BUCKETS][HD_BUCKET_NAME], detail[HD_BUCKETS][HD_BUCKET_NAME], title[64];
    hd_curve_point point[HD_BUCKETS];
    hd_curve *curve = hd_mem_array(s->systems, sizeof *curve);
    if (!curve) return hd_err_nomem(err, s->systems * sizeof *curve);
    for (size_t i = 0; i < s->systems; i++) curve[i] = (hd_curve){name_of(s, i), score_at(s, i, 0)};
    for (size_t b = 0; b < l->buckets; b++) {
        snprintf(detail[b], sizeof detail[b], "n = %zu", l->bucket[b].segments);
        point[b] = (hd_curve_point){hd_bucket_name(&l->bucket[b], name[b]), detail[b]};
    }
    const char *metric = hd_metric_is(s->metric[0])->name;
    snprintf(title, sizeof title, "%s by source length", metric);
    hd_curves curves = {.title = title,
                        .across = "source length in words, and number of sentences",
                        .upward = metric,
                        .point = point,
                        .points = l->buckets,
                        .curve = curve,
                        .curves = s->systems};
    hd_drawing d = hd_curves_drawing(&curves);
    hd_status st = hd_plot_save(path, &d, err);
    hd_mem_free(curve);
    return st;
}
