/* heed compare --test: several classifiers on one table. */
#ifndef HD_CLI_VERB_COMPARE_LABELS_H
#define HD_CLI_VERB_COMPARE_LABELS_H

#include "cli/frame/verb.h"

/* Those of the operands. All have classes, or all have numbers; HD_EARG where they are mixed. */
hd_status hd_compare_labels(const hd_command *c, const char *table, const char *device, int precision,
                            bool json, hd_err *err);

#endif
