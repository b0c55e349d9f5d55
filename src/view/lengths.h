/* Scores by length: a table, JSON and a plot. */
#ifndef HD_VIEW_LENGTHS_H
#define HD_VIEW_LENGTHS_H

#include "metric/lengths.h"

/* All of it is borrowed; lengths are divided. */
typedef struct hd_lengths_view {
    const hd_lengths *lengths;
    const char *const *name; /* [systems] */
    size_t systems, metrics;
    hd_metric *const *metric; /* [systems][metrics], with what every segment counted */
    double *score;            /* [systems][metrics][buckets + 1], the last one that of all sentences */
} hd_lengths_view;

/* Fills in the scores. */
hd_status hd_lengths_view_open(hd_lengths_view *v, hd_err *err);
void hd_lengths_view_release(hd_lengths_view *v); /* the scores */

/* For each metric its signature and a table: a line for each bucket and one for all, a column for each
 * system.
 */
void hd_lengths_text(hd_text *to, const hd_lengths_view *v, int digits);
/* One object: "buckets", a list of {"from", "to", "sentences", "systems"}, "outside" (sentences in no
   bucket), "systems" with the scores of all sentences, and "signature". */
void hd_lengths_json(hd_text *to, const hd_lengths_view *v);
/* The first metric as curves, to a file that hd_plot_check allows. */
hd_status hd_lengths_save(const char *path, const hd_lengths_view *v, hd_err *err);

#endif
