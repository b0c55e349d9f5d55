/* What the options of a run mean to a translator. */
#ifndef HD_TASK_TRANSLATE_OPTIONS_H
#define HD_TASK_TRANSLATE_OPTIONS_H

#include "model/encdec/encdec.h"
#include "run/options.h"

/* HD_EARG where options do not go together. */
hd_status hd_translate_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabularies, and what it is fed in training. */
hd_status hd_translate_model(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err);

#endif
