/* What `heed score --by-length` writes: a table, JSON, a plot. */
#ifndef HD_CLI_VERB_SCORE_LENGTHS_H
#define HD_CLI_VERB_SCORE_LENGTHS_H

#include "metric/lengths.h"

/* All of it is borrowed; lengths are divided. */
typedef struct hd_score_lengths {
    const hd_lengths *lengths;
    const char *const *name; /* [systems] */
    size_t systems, metrics;
    hd_metric *const *metric; /* [systems][metrics], with what every segment counted */
    int digits;
} hd_score_lengths;

/* For each metric its signature and a table: a line for each bucket and one for all, a column for each
   system. */
hd_status hd_score_lengths_text(hd_text *to, const hd_score_lengths *s, hd_err *err);
/* One object: "buckets", a list of {"from", "to", "sentences", "systems"}, "outside" (sentences in no
   bucket), "systems" with the scores of all sentences, and "signature". */
hd_status hd_score_lengths_json(hd_text *to, const hd_score_lengths *s, hd_err *err);
/* The first metric as curves. */
hd_status hd_score_lengths_plot(const char *path, const hd_score_lengths *s, hd_err *err);

#endif
