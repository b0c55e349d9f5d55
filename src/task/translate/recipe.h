/* Options of --task translate: what they are where they are not given, and which of them have an effect. */
#ifndef HD_TASK_TRANSLATE_RECIPE_H
#define HD_TASK_TRANSLATE_RECIPE_H

#include "model/stages.h"
#include "run/recipe.h"

extern const hd_recipe hd_recipe_translate;

/* HD_HAS_... of the model. */
unsigned hd_translate_parts(const hd_train_options *o);
/* What --encoder and --decoder say. */
hd_status hd_translate_stages(hd_stages *encoder, hd_stages *decoder, const hd_train_options *o, hd_err *err);

#endif
