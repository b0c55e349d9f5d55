/* The state of a training run on disk, below its model folder: train/step-N/ holds weights, moments and
   numbers; the one-line file train/current names the folder that counts, and is replaced by one rename. A
   kill at any moment leaves the old state or the new one, whole. */
#ifndef HD_TRAIN_CHECKPOINT_H
#define HD_TRAIN_CHECKPOINT_H

#include "base/file/folder.h"
#include "train/optimizer.h"

/* Where a run stands. All of it goes into state.json and comes back with the same bits; nothing in it depends
   on the clock. */
typedef struct hd_progress {
    uint64_t step;            /* updates asked for, skipped ones too */
    uint64_t epoch, batch;    /* of the batch that comes next */
    uint64_t tokens;          /* target tokens seen */
    uint64_t skipped, broken; /* updates left out: in all, and in a row until now */
    uint64_t decay_steps;     /* length of the schedule, as it was when the run began */
    double flops;             /* of all forward and backward passes */
    double best;              /* quality of the best validation; NaN before the first */
    double best_loss;         /* its loss: decides between equal ones; NaN before the first */
    uint64_t best_step;
    uint64_t worse;  /* validations since */
    uint64_t corpus; /* hash of the training data */
} hd_progress;

/* Writes the checkpoint of p->step, whole but not current yet; its folder in `step`. A failure leaves no half
   of it. */
hd_status hd_checkpoint_write(const char *folder, const hd_progress *p, hd_optimizer *o, char step[HD_PATH],
                              hd_err *err);
/* Makes what was written current; older ones are removed. A failure leaves the current one as it was. */
hd_status hd_checkpoint_commit(const char *folder, const char *step, hd_err *err);
/* Removes what was written, unless it is current. */
void hd_checkpoint_drop(const char *folder, const char *step);

/* Removes all of a run, train/ and what is in it; first the file that names a checkpoint, so that none is
   named that is not there. */
hd_status hd_checkpoint_remove(const char *folder, hd_err *err);

/* Loads the current one into an optimizer and its model; o NULL: only the numbers. */
hd_status hd_checkpoint_load(const char *folder, hd_progress *p, hd_optimizer *o, hd_err *err);

/* Weights of the current one alone, averaged if the run averages, for use without training. */
hd_status hd_checkpoint_weights(const char *folder, hd_params *params, hd_err *err);

/* Whether there is a run to go on with. */
bool hd_checkpoint_exists(const char *folder);

/* Removes what a killed run left: half-written checkpoints and temporary files. */
hd_status hd_checkpoint_sweep(const char *folder, hd_err *err);

#endif
