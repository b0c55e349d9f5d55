/* The computing of an update: forward and backward of the parts of a batch, the sum over processes, the
   optimizer; and whether what it leads to are still numbers. */
#ifndef HD_TRAIN_UPDATE_H
#define HD_TRAIN_UPDATE_H

#include "train/gradient_sum.h"
#include "train/trainer.h"

typedef struct hd_update {
    hd_run *run;
    hd_optimizer *optimizer;
    const hd_trainee *trainee;
    const hd_progress *at;     /* whose step is named in errors */
    size_t parts;              /* of the last one */
    hd_gradient_sum gradients; /* of several processes */
} hd_update;

/* Computes a batch and updates the weights; what is known of it before is in run->now. loss: the sum over the
   batch; found: its norm, and whether the update was left out. */
hd_status hd_update_compute(hd_update *u, const hd_load *load, double *loss, hd_step *found, hd_err *err);
/* Where this process has no batch, for the reason s: tells the others. */
hd_status hd_update_fail(hd_update *u, hd_status s, hd_err *err);

/* Whether the weights are numbers, their average, and the gradient where it is asked for. */
hd_status hd_update_finite(hd_update *u, bool gradient, bool *good, hd_err *err);
/* Whether the weights of now are worth keeping: they are numbers, and so is the gradient that they give. The
   update that made them does not tell, it began with those before. So the last batch is computed once more
   (again: there was one), and nothing is done with it. step: the folder of the checkpoint, which has what is
   carried from batch to batch. */
hd_status hd_update_check(hd_update *u, bool again, const char *step, bool *good, hd_err *err);

#endif
