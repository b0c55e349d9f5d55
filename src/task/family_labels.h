/* What config.json of a published classifier says of its labels: "id2label", "num_labels" and "problem_type".
 */
#ifndef HD_TASK_FAMILY_LABELS_H
#define HD_TASK_FAMILY_LABELS_H

#include "task/family.h"
#include "task/labeller.h"

/* In the order of their numbers; without names, those that transformers gives them. */
void hd_family_labels_read(hd_model_config *c, hd_vocab *labels);
/* Whether a number is asked for, which is one label; other kinds of problems are refused. */
bool hd_family_labels_number(hd_model_config *c, size_t labels);
void hd_family_labels_put(hd_text *to, const hd_labeller *l);

#endif
