/* One sitting of a run, whatever its task: from an empty folder or a checkpoint to the end or to a signal,
   with its progress shown. */
#ifndef HD_CLI_TRAIN_SITTING_H
#define HD_CLI_TRAIN_SITTING_H

#include "run/options.h"
#include "cli/train/progress.h"

typedef struct hd_train_sitting {
    const hd_train_options *options;
    hd_train_progress progress;
} hd_train_sitting;

/* Refuses a folder that cannot be the run's, and makes the loop tell this sitting, which must stay where it
   is. */
hd_status hd_train_sitting_begin(hd_train_sitting *s, const hd_command *c, const hd_train_options *o,
                                 hd_trainer_opt *loop, hd_err *err);
/* Makes the folder of a new run; context: the sitting. */
hd_status hd_train_sitting_open(void *context, hd_err *err);
/* The command of a sitting that comes back as the context of the loop. */
const hd_command *hd_train_sitting_command(const void *context);
bool hd_train_stopped(void);    /* by a signal, since the last training began */
int hd_train_stop_status(void); /* the exit status of a run that a signal stopped: 130 after Ctrl-C */
/* Says why it ended, and what can be done now; returns the exit status. */
int hd_train_sitting_end(const hd_train_sitting *s, const hd_progress *p, hd_ending ending);

#endif
