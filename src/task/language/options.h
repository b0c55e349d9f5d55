/* What the options of a run mean to a language model. */
#ifndef HD_TASK_LANGUAGE_OPTIONS_H
#define HD_TASK_LANGUAGE_OPTIONS_H

#include "model/lm/lm.h"
#include "run/options.h"

/* HD_EARG where options do not go together. */
hd_status hd_language_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary. */
hd_lm_opt hd_language_model(const hd_train_options *o);

#endif
