/* Reports while memory fails: whole or refused, and nothing leaks. What they say is tested with the program.
 */
#include "metric/corpus.h"

#include <jansson.h>

#include "metric/report.h"

static const char *const hyp[CORPUS_LINES] = {"The dog bit the man.", "It wasn't surprising."};
static const char *const ref[CORPUS_REFS][CORPUS_LINES] = {{"The dog bit a man.", "It was not unexpected."}};

enum { SAMPLES = 20, SYSTEMS = 2, CELLS = SYSTEMS * HD_METRICS };

/* Resamples and writes both reports; the pages are the caller's. */
static hd_status write_reports(hd_metric *const *metric, size_t systems, hd_text *page, hd_text *json,
                               hd_err *err)
{
    static double score[CELLS][SAMPLES];
    static const char *const names[SYSTEMS] = {"a", "\xff"};
    double *into[CELLS] = {0};
    hd_score_report_cell cell[CELLS] = {0};
    size_t cells = systems * HD_METRICS;
    for (size_t i = 0; i < cells; i++) into[i] = score[i];
    const hd_metric_trials trials = {SAMPLES, 1};
    hd_status s = hd_bootstrap((const hd_metric *const *)metric, cells, trials, into, err);
    for (size_t i = 0; !s && i < cells; i++) {
        cell[i].metric = metric[i];
        s = hd_metric_finish(metric[i], &cell[i].score, err);
        if (!s) s = hd_bootstrap_interval(&cell[i].interval, score[i], SAMPLES, err);
        if (!s) s = hd_bootstrap_compare(&cell[i].first, score[i % HD_METRICS], score[i], SAMPLES, 0, err);
    }
    const hd_score_report report = {names, systems, HD_METRICS, cell, trials};
    if (s) return s;
    hd_score_report_text(page, &report, 2);
    s = hd_text_status(page, err);
    return s ? s : hd_score_report_json(json, &report, err);
}

static void reports_are_whole_or_refused(void **state)
{
    (void)state;
    hd_metric *metric[CELLS];
    for (int i = 0; i < CELLS; i++)
        metric[i] = metric_over((hd_metric_kind)(i % HD_METRICS), (hd_metric_opt){.refs = 1, .keep = true}, 2,
                                hyp, ref);
    for (size_t systems = 1; systems <= SYSTEMS; systems++) {
        hd_text page = {0}, json = {0};
        assert_int_equal(write_reports(metric, systems, &page, &json, NULL), HD_OK);
        assert_non_null(
            strstr(json.data, systems == 1 ? "{\"bleu\": " : "{\"name\": \"\xef\xbf\xbd\", \"bleu\": "));
        size_t before = hd_mem_now().blocks, failures = 0;
        for (size_t n = 1;; n++, failures++) {
            hd_text page_now = {0}, json_now = {0};
            hd_err err = {0};
            hd_mem_fail_at(n);
            hd_status s = write_reports(metric, systems, &page_now, &json_now, &err);
            hd_mem_fail_at(0);
            if (!s) {
                assert_string_equal(page_now.data, page.data);
                assert_string_equal(json_now.data, json.data);
            } else {
                assert_int_equal(s, HD_ENOMEM);
            }
            hd_text_release(&page_now);
            hd_text_release(&json_now);
            assert_int_equal(hd_mem_now().blocks, before);
            if (!s) break;
        }
        assert_true(failures > 50);
        hd_text_release(&page);
        hd_text_release(&json);
    }
    for (int i = 0; i < CELLS; i++) hd_metric_free(metric[i]);
}

int main(void)
{
    json_set_alloc_funcs(hd_mem_new, hd_mem_free); /* so that Jansson's fail, too */
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports_are_whole_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
