/* The options of a run of a masked language model: what they are where they are not given, and what they
 * mean. */
#ifndef HD_TASK_MASKED_OPTIONS_H
#define HD_TASK_MASKED_OPTIONS_H

#include "model/encoder/bert.h"
#include "run/recipe.h"

/* HD_EARG where options do not go together. */
hd_status hd_masked_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary. */
hd_status hd_masked_model(hd_bert_opt *to, const hd_train_options *o, hd_err *err);

extern const hd_recipe hd_recipe_mlm;

#endif
