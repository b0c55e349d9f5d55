/* Options that the model of a run has nothing to do with. */
#ifndef HD_CLI_TRAIN_USELESS_H
#define HD_CLI_TRAIN_USELESS_H

#include "run/options.h"

/* Refuses option `name` where it is given with another value than it has without (what training.yml says of
   it begins the same run): "--heads is for OWNER, not for --model lstm". without NULL: as in the table. */
hd_status hd_train_useless(const hd_option_set sets[2], const char *name, const char *without,
                           const char *owner, const char *model, hd_err *err);

#endif
