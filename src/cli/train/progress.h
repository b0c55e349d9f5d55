/* What `heed train` shows while it runs: a line that changes on a terminal, plain lines elsewhere. */
#ifndef HD_CLI_TRAIN_PROGRESS_H
#define HD_CLI_TRAIN_PROGRESS_H

#include "cli/frame/verb.h"
#include "run/task.h"

typedef struct hd_train_progress {
    const hd_command *command;
    const hd_task *task;
    uint64_t steps, epochs; /* limits; 0: none */
    uint64_t warmup;        /* updates, as asked for */
    double peak;            /* learning rate */
    double drawn;           /* when the line was last drawn */
    bool open;              /* the line is on the screen */
    bool warned;            /* of a rate that is 0 */
} hd_train_progress;

void hd_train_progress_tell(hd_train_progress *p, const hd_news *n);
void hd_train_progress_end(hd_train_progress *p); /* takes the line away */

/* "12:34" or "1:02:03" of seconds; "-" where they are not known. */
const char *hd_clock(double seconds, char buffer[32]);

#endif
