/* The options of a run of a language model: what they are where they are not given, and what they mean. */
#ifndef HD_TASK_LANGUAGE_OPTIONS_H
#define HD_TASK_LANGUAGE_OPTIONS_H

#include "model/lm/lm.h"
#include "run/recipe.h"

/* HD_EARG where options do not go together. */
hd_status hd_language_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary. */
hd_lm_opt hd_language_model(const hd_train_options *o);

extern const hd_recipe hd_recipe_lm;

/* Whether a row can have an effect on language models of a kind, whatever the others are. */
bool hd_language_has(hd_lm_kind kind, const hd_option *row);

#endif
