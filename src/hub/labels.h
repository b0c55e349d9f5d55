/* What config.json of a published classifier says of its labels: "id2label", "num_labels" and "problem_type".
 */
#ifndef HD_HUB_LABELS_H
#define HD_HUB_LABELS_H

#include "hub/family.h"
#include "task/label/labeler.h"

/* In the order of their numbers; without names, those that transformers gives them. */
void hd_family_labels_read(hd_model_config *c, hd_vocab *labels);
/* Whether a number is asked for, which is one label; other kinds of problems are refused. */
bool hd_family_labels_number(hd_model_config *c, size_t labels);
/* Whether a folder's weights may fill such a classifier, before memory is taken for it. */
hd_status hd_family_labels_check_size(const hd_classifier_opt *opt, const char *folder, hd_err *err);
/* Whether a model folder's config.json is of a classifier, or of a regression, with this body. */
bool hd_family_labels_has(hd_model_config *c, const char *body);
void hd_family_labels_put(hd_text *to, const hd_model_folder *f);

#endif
