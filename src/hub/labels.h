/* What config.json of a published classifier says of its labels: "id2label", "num_labels" and "problem_type".
 */
#ifndef HD_HUB_LABELS_H
#define HD_HUB_LABELS_H

#include "hub/family.h"
#include "task/label/labeler.h"

/* Fills p->m.labels, in the order of their numbers, without names with those that transformers gives them,
   and what p->classifier says of classes and the head. Kinds of problems that heed does not have are refused.
 */
void hd_family_labels_read(hd_model_config *c, hd_passage *p);
/* The names alone. apart: one that is there already gets its number behind it. */
void hd_family_label_names(hd_model_config *c, hd_vocab *labels, bool apart);
/* Whether a model folder's config.json gives labels with this body. */
bool hd_family_labels_has(hd_model_config *c, const char *body);
void hd_family_labels_put(json_t *to, const hd_model_folder *f);

#endif
