/* What the options of a run mean to a translator. */
#ifndef HD_TASK_TRANSLATE_OPTIONS_H
#define HD_TASK_TRANSLATE_OPTIONS_H

#include "model/encdec/encdec.h"
#include "run/options.h"

/* HD_EARG where options do not go together. */
hd_status hd_translate_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabularies, and what it is fed in training. */
hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err);

/* HD_EARG where an option is given that has no effect on such a model. */
hd_status hd_train_encdec_belong(const hd_option_set sets[2], hd_err *err);
bool hd_train_encdec_idle(const hd_train_options *o, const char *option);

#endif
