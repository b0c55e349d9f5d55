/* What the options of a run mean to a masked language model. */
#ifndef HD_TASK_MASKED_OPTIONS_H
#define HD_TASK_MASKED_OPTIONS_H

#include "model/bert.h"
#include "run/options.h"

/* HD_EARG where options do not go together. */
hd_status hd_masked_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary. */
hd_status hd_masked_model(hd_bert_opt *to, const hd_train_options *o, hd_err *err);

#endif
