/* The part of `heed info` that shows a model folder. */
#ifndef HD_CLI_VERB_INFO_MODELS_H
#define HD_CLI_VERB_INFO_MODELS_H

#include "base/status.h"
#include "cli/frame/fields.h"

/* What is in the folder, without loading weights; tensors: with the name and shape of each. */
hd_status hd_info_model(hd_sheet *page, const char *folder, bool tensors, hd_err *err);

#endif
