/* Training as `heed train` does it, for other verbs that train. */
#ifndef HD_CLI_TRAIN_TRAIN_H
#define HD_CLI_TRAIN_TRAIN_H

#include "run/options.h"
#include "cli/frame/verb.h"

/* Trains as o says, into o->out; what is not given is filled in. given: one for each row of hd_train_table.
   Threads and log are the command's. The exit status; hd_train_stop_status() where a
   signal stopped it and everything is saved. */
int hd_train_run(const hd_command *c, hd_train_options *o, hd_given *given);

/* Whether the run in the folder o->out is the one that hd_train_run would begin with o and `given`: HD_EARG
   with the first option that differs. Device and reports may. */
hd_status hd_train_same(const hd_train_options *o, const hd_given *given, hd_err *err);

#endif
