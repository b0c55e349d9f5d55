/* Training as `heed train` does it, for other verbs that train, too. */
#ifndef HD_CLI_TRAIN_TRAIN_H
#define HD_CLI_TRAIN_TRAIN_H

#include "base/file/lock.h"
#include "cli/frame/verb.h"
#include "run/task.h"

/* Trains as o says, into o->out; what is not given is filled in. given: one for each row of hd_train_table.
   Threads and log are the command's, whose `misused` tells kinds of failures apart; c->exit is
   hd_signals_status() where a signal stopped it and everything is saved. */
hd_status hd_train_run(hd_command *c, hd_train_options *o, hd_given *given, hd_err *err);

/* Whether the run in the folder o->out is the one that hd_train_run would begin with o and `given`: HD_EARG
   with the first option that differs. Device and reports may. */
hd_status hd_train_same(const hd_train_options *o, const hd_given *given, hd_err *err);

/* -- the folder of a run, and the options that are kept in its training.yml -- */

/* A new run wants an empty folder, or with --overwrite a model's. */
hd_status hd_train_folder_check(const hd_train_options *o, hd_err *err);
/* Makes the folder of a new run, with its options. */
hd_status hd_train_folder_open(const hd_train_options *o, hd_err *err);
/* That there is a checkpoint to go on from. */
hd_status hd_train_folder_resumable(const hd_train_options *o, hd_err *err);
/* Gives files their full names, so that a run can be resumed from anywhere. */
hd_status hd_train_folder_name(hd_train_options *o, hd_arena *memory, hd_err *err);
/* Makes o the options of the run in o->out, with what may change as it is given now; HD_EARG where something
   else is given that differs. */
hd_status hd_train_folder_resume(hd_train_options *o, hd_given *given, hd_arena *memory, hd_err *err);

/* -- what is said of a run before it begins -- */

/* Help of `heed train`: with --task or other options the rows of that run with its values, else all rows. */
hd_status hd_train_help_rows(hd_row_help *rows, const hd_option_set *set, hd_err *err);
/* Prints every option that has an effect, its value, and where that is from. */
hd_status hd_train_options_show(const hd_command *c, const hd_train_options *o, const hd_given *given,
                                hd_err *err);
/* Prints a plan, its memory beside what the device has; a run that does not fit is warned of, with what would
   help. */
void hd_train_plan_show(const hd_command *c, const hd_train_options *o, const hd_plan *p);
/* The same in short, to the log. */
void hd_train_plan_say(const hd_command *c, const hd_plan *p);

/* -- what is shown while it runs: a line that changes on a terminal, plain lines elsewhere -- */

typedef struct hd_train_progress {
    const hd_command *command;
    const hd_train_options *options;
    double drawn; /* when the line was last drawn */
    bool open;    /* the line is on the screen */
    bool warned;  /* of a rate that is 0 */
} hd_train_progress;

void hd_train_progress_tell(void *progress, const hd_news *n);
void hd_train_progress_end(hd_train_progress *p); /* takes the line away */

/* "12:34" or "1:02:03" of seconds; "-" where they are not known. */
const char *hd_clock(double seconds, char buffer[32]);

/* -- signals: those that end programs (SIGINT, SIGTERM, SIGHUP) end this one at once while there is nothing
   to save; later they are noted, and whoever asks saves and ends. What was ignored when the program began, as
   by nohup, stays so. Nobody who reads the messages is no reason to end. -- */

/* From now on, until hd_signals_restore. The lock is given back where the program ends; both must stay where
   they are. */
void hd_signals_catch(hd_lock *lock, const hd_log *log);
void hd_signals_note(void);  /* from now on there is something to save */
int hd_signals_noted(void);  /* the last one since hd_signals_catch, or 0 */
int hd_signals_status(void); /* the exit status of a run that one stopped: 130 after Ctrl-C */
void hd_signals_restore(void);

#endif
