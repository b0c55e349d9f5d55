/* Options of --task classify, regress and tag: what they are where they are not given, and which of them have
   an effect. */
#ifndef HD_TASK_LABEL_RECIPE_H
#define HD_TASK_LABEL_RECIPE_H

#include "run/recipe.h"

extern const hd_recipe hd_recipe_labels;

#endif
