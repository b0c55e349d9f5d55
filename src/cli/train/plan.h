/* What `heed train` says of a run before it begins. */
#ifndef HD_CLI_TRAIN_PLAN_H
#define HD_CLI_TRAIN_PLAN_H

#include "cli/frame/verb.h"
#include "run/task.h"

/* Prints a plan, its memory beside what the device has; a run that does not fit is warned of, with what would
   help. */
void hd_train_plan_show(const hd_command *c, const hd_train_options *o, const hd_task *task,
                        const hd_plan *p);
/* The same in short, to the log. */
void hd_train_plan_say(const hd_command *c, const hd_plan *p);

#endif
