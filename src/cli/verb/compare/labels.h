/* `heed compare` of classifiers: how well they predict the labels of a table. */
#ifndef HD_CLI_VERB_COMPARE_LABELS_H
#define HD_CLI_VERB_COMPARE_LABELS_H

#include "cli/frame/verb.h"
#include "op/run.h"

/* n folders, of classifiers or of regressions, on a table with labels. */
hd_status hd_compare_labels(const hd_command *c, hd_run *r, char *const *folder, size_t n, const char *file,
                            bool json, hd_err *err);

/* A training time: "1.25 s", "72 s", or "-" for NaN. */
const char *hd_compare_time(double seconds, char number[HD_DECIMAL]);

#endif
