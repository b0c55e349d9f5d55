/* What the trainings of all tasks share. */
#ifndef HD_TASK_TRAINING_H
#define HD_TASK_TRAINING_H

#include "train/trainer.h"

/* The hash of the data of a run. Validations decide what is published and when a run ends: theirs counts,
   too; 0: there are none. */
uint64_t hd_training_hash(uint64_t train, uint64_t valid);

/* Every process reads the data and learns the vocabulary for itself: what they cut their batches from, and
   what they sum the gradients of, must be the same. */
hd_status hd_training_same(uint64_t hash, const hd_params *p, hd_err *err);

/* One batch forward and backward on the null backend, for the memory it takes. */
hd_status hd_training_rehearse(hd_run *r, const hd_trainee *t, hd_err *err);

#endif
