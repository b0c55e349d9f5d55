/* The scores of one system or of several, as text or as JSON. */
#ifndef HD_METRIC_REPORT_H
#define HD_METRIC_REPORT_H

#include "metric/bootstrap.h"

/* One metric of one system. */
typedef struct hd_score_report_cell {
    const hd_metric *metric;
    double score;
    hd_interval interval; /* with resampling */
    hd_comparison first;  /* with resampling: against the first system */
} hd_score_report_cell;

/* All of it is borrowed. */
typedef struct hd_score_report {
    const char *const *name; /* [systems] */
    size_t systems, metrics;
    const hd_score_report_cell *cell; /* [systems][metrics] */
    hd_metric_trials trials;
} hd_score_report;

/* One system: a line for each metric as sacreBLEU writes it, aligned at the equals sign. Several: under each
   metric a line for each system. */
void hd_score_report_text(hd_text *to, const hd_score_report *r, int digits);

/* One object on one line: a number for each metric under its key, and "signature", an object with a text for
   each; with resampling also "bootstrap". Several systems: a list of such objects under "systems". */
hd_status hd_score_report_json(hd_text *to, const hd_score_report *r, hd_err *err);

/* The scores of the segment last added to each metric, on one line: tabs between, or as JSON. */
void hd_score_report_segment(hd_text *to, hd_metric *const *metric, size_t metrics, int digits);
void hd_score_report_segment_json(hd_text *to, hd_metric *const *metric, size_t metrics);

#endif
