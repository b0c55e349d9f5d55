/* What `heed train --task classify` and `--task tag` say of a run. */
#ifndef HD_CLI_TRAIN_LABELS_H
#define HD_CLI_TRAIN_LABELS_H

#include "cli/verb.h"
#include "task/label_train.h"

void hd_train_label_say(const hd_command *c, const hd_label_plan *p);
void hd_train_label_say_end(const hd_command *c, const hd_label_result *r);
int hd_train_label_show(const hd_command *c, const hd_label_train_opt *t); /* --dry-run; the exit status */

#endif
