/* The log of a run: what the loop tells, put down in the journal. A log that cannot be opened or written
   costs a warning, not the run. */
#ifndef HD_TRAIN_LOG_RUN_LOG_H
#define HD_TRAIN_LOG_RUN_LOG_H

#include "train/log/journal.h"
#include "train/trainer.h"

typedef struct hd_run_log {
    hd_journal *journal; /* NULL: none, or no more */
    const hd_log *log;   /* gets the warnings; borrowed */
} hd_run_log;

/* From where the run goes on; of several processes only the first (rank 0) writes one. */
void hd_run_log_open(hd_run_log *l, const hd_trainer_opt *o, int rank, const hd_log *log);
void hd_run_log_close(hd_run_log *l);
void hd_run_log_tell(hd_run_log *l, const hd_news *n);

#endif
