/* The tasks of `heed train`. Each has a file with what its options are where they are not given, what they
   mean, and how a run of it goes. One table has the options of all: what belongs to another task is refused.
 */
#ifndef HD_CLI_TRAIN_TASKS_H
#define HD_CLI_TRAIN_TASKS_H

#include "run/options.h"
#include "cli/frame/verb.h"

/* HD_EARG where an option of another task is given. */
hd_status hd_train_belong(const hd_option_set sets[2], hd_err *err);
/* Whether the task does not have this option. */
bool hd_train_foreign(hd_train_task task, const char *name);

/* Gives every row that was not given the value its preset says; that of a language model its kind and its
   unit, that of a classifier or tagger its encoder. A preset of another task is refused. */
hd_status hd_train_translate_preset(const hd_option_set sets[2], hd_err *err);
hd_status hd_train_lm_preset(const hd_option_set sets[2], hd_err *err);
hd_status hd_train_label_preset(const hd_option_set sets[2], hd_err *err);
hd_status hd_train_mlm_preset(const hd_option_set sets[2], hd_err *err);

/* Whether an option means something to language models of a kind. */
bool hd_train_lm_has(hd_lm_kind kind, const char *option);

#endif
