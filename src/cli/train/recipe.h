/* The options of a run as they are shown: in help, and before a run. */
#ifndef HD_CLI_TRAIN_RECIPE_H
#define HD_CLI_TRAIN_RECIPE_H

#include "cli/frame/verb.h"
#include "run/options.h"

/* Help of `heed train`: with --task or other options the rows of that run with its values, else all rows. */
hd_status hd_train_recipe_rows(hd_row_help *rows, const hd_option_set *set, hd_err *err);

/* Prints every option that has an effect, its value, and where that is from. */
hd_status hd_train_recipe_show(const hd_command *c, const hd_train_options *o, const hd_given *given,
                               hd_err *err);

#endif
