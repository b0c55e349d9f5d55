/* The options of a run of a translator: what they are where they are not given, and what they mean. */
#ifndef HD_TASK_TRANSLATE_OPTIONS_H
#define HD_TASK_TRANSLATE_OPTIONS_H

#include "model/encdec/encdec.h"
#include "run/recipe.h"

/* HD_EARG where options do not go together. */
hd_status hd_translate_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabularies, and what it is fed in training. */
hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err);

extern const hd_recipe hd_recipe_translate;

/* HD_HAS_... of the model. */
unsigned hd_translate_parts(const hd_train_options *o);
/* What --encoder and --decoder say. */
hd_status hd_translate_stages(hd_stages *encoder, hd_stages *decoder, const hd_train_options *o, hd_err *err);

#endif
