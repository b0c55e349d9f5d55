/* The head of a GPT-2 that gives labels has no bias: that of a classifier trained here goes elsewhere. */
#ifndef HD_HUB_GPT2_H
#define HD_HUB_GPT2_H

#include "model/encoder/classifier.h"

/* Adds what the bias of the labels does to that of the last norm, whose rows nothing else reads. HD_EARG
   where that cannot be. */
hd_status hd_family_gpt2_fold(const hd_classifier *m, const char *folder, hd_err *err);
/* Gives its weight another name, and its bias none: it is not written. */
hd_status hd_family_gpt2_name_head(hd_classifier *m, const char *name, hd_err *err);

#endif
