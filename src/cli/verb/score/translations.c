/* heed score of translations: all files are read side by side, line by line; nothing is kept of them but what
   the metrics count. */
#include <string.h>

#include "cli/verb/score/score.h"
#include "view/lengths.h"
#include "view/plot.h"

enum { PRETOKENIZED = 100 }; /* so many lines that end in " ." look it */

static hd_status open_all(hd_score_call *j, hd_err *err)
{
    hd_status s = HD_OK;
    if (j->o->plot) s = hd_plot_check(j->o->plot, err);
    for (size_t i = 0; !s && i < j->files; i++) {
        hd_input_await(&j->command, j->path[i], "translations, one line for each reference");
        s = hd_lines_open(&j->file[i], j->path[i], &(hd_lines_opt){.utf8 = true}, err);
    }
    for (size_t i = 0; !s && i < j->systems; i++) j->name[i] = hd_lines_name(j->file[i]);
    return s ? s : hd_score_begin(j, err);
}

/* Counts what is left of every file, to say how they differ. */
static hd_status differ(hd_score_call *j, hd_err *err)
{
    hd_status s = HD_OK;
    size_t other = 0;
    for (size_t i = 0; !s && i < j->files; i++)
        while (!s && j->line[i].text) s = hd_lines_next(j->file[i], &j->line[i], err);
    if (s) return s;
    size_t count = hd_lines_count(j->file[0]);
    while (other + 1 < j->files && hd_lines_count(j->file[other]) == count) other++;
    return hd_err_set(err, HD_EFORMAT, "%s has %zu lines, %s has %zu", hd_lines_name(j->file[0]), count,
                      hd_lines_name(j->file[other]), hd_lines_count(j->file[other]));
}

static bool looks_tokenized(hd_line l)
{
    while (l.size && strchr(" \t\r", l.text[l.size - 1])) l.size--;
    return l.size >= 2 && l.text[l.size - 1] == '.' && l.text[l.size - 2] == ' ';
}

static hd_status score_line(hd_score_call *j, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; i < j->systems; i++) {
        j->pretokenized += looks_tokenized(j->line[i]);
        for (size_t m = 0; !s && m < j->metrics; m++)
            s = hd_metric_add(j->metric[i * j->metrics + m], j->line[i], j->line + j->systems, err);
    }
    if (!s && j->o->by_length) s = hd_lengths_add(&j->lengths, j->line[j->files - 1], err);
    if (s || !j->o->sentence) return s;
    hd_text page = {0};
    if (j->o->json)
        hd_score_report_segment_json(&page, j->metric, j->metrics);
    else
        hd_score_report_segment(&page, j->metric, j->metrics, j->o->digits);
    return hd_command_put_text(&j->command, &page, false, err);
}

static hd_status read_all(hd_score_call *j, hd_err *err)
{
    size_t ended = 0;
    hd_status s = HD_OK;
    while (!s && !ended) {
        for (size_t i = 0; !s && i < j->files; i++) {
            s = hd_lines_next(j->file[i], &j->line[i], err);
            ended += !s && !j->line[i].text;
        }
        if (!s && !ended) s = score_line(j, err);
    }
    if (!s && ended < j->files) return differ(j, err);
    if (!s && !hd_lines_count(j->file[0]))
        return hd_err_set(err, HD_EFORMAT, "%s has no lines", hd_lines_name(j->file[0]));
    return s;
}

static hd_status show_lengths(hd_score_call *j, hd_err *err)
{
    const hd_score_options *o = j->o;
    hd_lengths_view v = {&j->lengths, j->name, j->systems, j->metrics, j->metric, NULL};
    hd_text page = {0};
    hd_status s = hd_score_settle(j, err);
    if (!s) s = hd_lengths_divide(&j->lengths, err);
    if (!s && j->lengths.outside)
        hd_log_say(&j->command.log, HD_WARN, "%zu of %zu sentences are outside all --buckets",
                   j->lengths.outside, j->lengths.count);
    if (!s) s = hd_lengths_view_open(&v, err);
    if (!s && o->json) hd_lengths_json(&page, &v);
    if (!s && !o->json) hd_lengths_text(&page, &v, o->digits);
    s = hd_command_put_page(&j->command, &page, s, err);
    if (!s && o->plot) s = hd_lengths_save(o->plot, &v, err);
    hd_lengths_view_release(&v);
    return s;
}

hd_status hd_score_translations(hd_score_call *j, hd_err *err)
{
    hd_status s = open_all(j, err);
    if (!s) s = read_all(j, err);
    if (!s && j->wanted[HD_METRIC_bleu] && j->pretokenized >= PRETOKENIZED)
        hd_log_say(&j->command.log, HD_WARN,
                   "%zu lines end in ' .', as tokenized text does: BLEU needs text that is not tokenized",
                   j->pretokenized);
    if (s || j->o->sentence) return s;
    return j->o->by_length ? show_lengths(j, err) : hd_score_show(j, err);
}
