/* heed train --task classify and regress --from MODEL: what options are where a model is fine-tuned. */
#ifndef HD_CLI_TRAIN_TUNING_H
#define HD_CLI_TRAIN_TUNING_H

#include "run/options.h"

/* Gives classify and regress what is not given. Sizes are those of the model in --from, and HD_EARG is
   whatever contradicts them; the recipe is one for weights that know a language already. */
hd_status hd_train_tuning_preset(const hd_option_set sets[2], hd_err *err);

#endif
