/* One sitting of a run, whatever its task: from an empty folder or a checkpoint to the end or to a signal,
   with its progress shown. */
#ifndef HD_CLI_TRAIN_SITTING_H
#define HD_CLI_TRAIN_SITTING_H

#include "cli/frame/verb.h"
#include "run/options.h"

/* Trains as the options say, or with --dry-run only says what it would be; the exit status. */
int hd_train_sit(const hd_command *c, const hd_train_options *o, const hd_given *given);
bool hd_train_stopped(void);    /* by a signal, since the last training began */
int hd_train_stop_status(void); /* the exit status of a run that a signal stopped: 130 after Ctrl-C */

#endif
