/* What all tasks of `heed train` take from the options alike. */
#ifndef HD_CLI_TRAIN_LOOP_H
#define HD_CLI_TRAIN_LOOP_H

#include "run/options.h"
#include "train/trainer.h"

hd_optimizer_opt hd_train_optimizer(const hd_train_options *o);
hd_trainer_opt hd_train_loop(const hd_train_options *o);
/* The tokenizer file of a task with one tokenizer; NULL: there is none. vocab.json and merges.txt are one, by
   the first of them. */
hd_status hd_train_tokenizer(const char **to, const hd_train_options *o, hd_err *err);
hd_status hd_train_check_end(const hd_train_options *o, hd_err *err); /* that the run can end */

#endif
