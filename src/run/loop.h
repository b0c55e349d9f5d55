/* What all tasks of `heed train` take from the options alike. */
#ifndef HD_RUN_LOOP_H
#define HD_RUN_LOOP_H

#include "run/options.h"
#include "train/trainer.h"

hd_optimizer_opt hd_train_optimizer(const hd_train_options *o);
hd_trainer_opt hd_train_loop(const hd_train_options *o);
double hd_train_work(const hd_train_options *o); /* flops of an update as a multiple of the forward pass's */
/* How the tokenizer is learned. */
hd_tokenizer_opt hd_train_vocabulary(const hd_train_options *o);
/* The tokenizer file of a task with one tokenizer; NULL: there is none. vocab.json and merges.txt are one, by
   the first of them. */
hd_status hd_train_tokenizer(const char **to, const hd_train_options *o, hd_err *err);
/* HD_EARG where a task that learns from one file gets none or several, or --valid and --valid-fraction. what:
   "a language model learns from one text". */
hd_status hd_train_check_files(const hd_train_options *o, const char *what, hd_err *err);
hd_status hd_train_check_end(const hd_train_options *o, hd_err *err); /* that the run can end */

#endif
