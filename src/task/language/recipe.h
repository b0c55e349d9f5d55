/* Options of --task lm: what they are where they are not given, and which of them have an effect. */
#ifndef HD_TASK_LANGUAGE_RECIPE_H
#define HD_TASK_LANGUAGE_RECIPE_H

#include "model/lm/lm.h"
#include "run/recipe.h"

extern const hd_recipe hd_recipe_lm;

/* Whether a row can have an effect on language models of a kind, whatever the others are. */
bool hd_language_has(hd_lm_kind kind, const hd_option *row);

#endif
