/* What `heed score --by-length` writes: a table or JSON, and a plot. */
#ifndef HD_CLI_VERB_SCORE_LENGTHS_H
#define HD_CLI_VERB_SCORE_LENGTHS_H

#include "cli/frame/verb.h"
#include "metric/lengths.h"

/* All of it is borrowed. */
typedef struct hd_score_lengths {
    hd_lengths *lengths;
    const char *const *name; /* [systems] */
    size_t systems, metrics;
    hd_metric *const *metric; /* [systems][metrics], with what every segment counted */
    int digits;
    bool json;
    const char *plot;
} hd_score_lengths;

/* Text: for each metric its signature and a table, a line for each bucket and one for all, a column for each
   system. JSON: one object, "buckets", a list of {"from", "to", "sentences", "systems"}, "outside" (sentences
   in no bucket), "systems" with the scores of all sentences, and "signature". The plot has the first metric
   as curves. */
hd_status hd_score_lengths_show(const hd_command *c, const hd_score_lengths *s, hd_err *err);

#endif
