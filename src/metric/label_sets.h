/* Scores of models that give any number of labels to each item. */
#ifndef HD_METRIC_LABEL_SETS_H
#define HD_METRIC_LABEL_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct hd_set_scores {
    double micro_f1;          /* of all labels of all items together */
    double macro_f1;          /* the mean of the labels that are there or are predicted */
    double exact;             /* share of the items of which all is right */
    double average_precision; /* the mean of the labels that are there */
} hd_set_scores;

/* probability, truth [items, classes]; a label of one half is predicted. F1 and average precision are those
   of scikit-learn, whose f1_score(average="macro") counts labels, too, that are neither there nor predicted.
 */
hd_status hd_label_sets_score(hd_set_scores *out, const double *probability, const bool *truth, size_t items,
                              size_t classes, hd_err *err);

#endif
