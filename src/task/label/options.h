/* The options of a run of a classifier or tagger: what they are where they are not given, and what they mean.
 */
#ifndef HD_TASK_LABEL_OPTIONS_H
#define HD_TASK_LABEL_OPTIONS_H

#include "run/recipe.h"
#include "task/label/labeler.h"

/* HD_EARG where options do not go together. */
hd_status hd_label_check(const hd_train_options *o, hd_err *err);
/* The stages of --encoder, or the one of --model. */
hd_status hd_label_stages(hd_stages *out, const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary and classes; with --from but for its body. */
hd_status hd_label_model(hd_classifier_opt *to, const hd_train_options *o, hd_err *err);

extern const hd_recipe hd_recipe_labels;

#endif
