/* What the trainings of all tasks share. */
#ifndef HD_RUN_TRAINING_H
#define HD_RUN_TRAINING_H

#include "text/tokenizer.h"
#include "train/trainer.h"

/* What a run computes on. Of a dry run it is the null backend, which counts what the device would hold: bf16
   and more logits on a card, whether there is one here or not. */
hd_status hd_training_backend(hd_backend **out, const char *device, hd_precision precision, int threads,
                              bool dry, const hd_log *log, hd_err *err);

/* The hash of the data of a run. Validations decide what is published and when a run ends: theirs counts,
   too; 0: there are none. */
uint64_t hd_training_hash(uint64_t train, uint64_t valid);

/* Every process reads the data and learns the vocabulary for itself: what they cut their batches from, and
   what they sum the gradients of, must be the same. */
hd_status hd_training_same(uint64_t hash, const hd_params *p, hd_err *err);

/* The tokenizer of a run that begins: that of a file or folder, which says its kind but where it is a list of
   pieces, or (NULL) one that is learned. */
hd_status hd_training_tokenizer(hd_tokenizer **out, hd_tokenizer_kind kind, const char *file, hd_feed lines,
                                const hd_tokenizer_opt *opt, hd_err *err);

/* The weights that a run begins with: those of the model in the folder `from`, or (NULL) drawn. One that is
   resumed has those of its checkpoint in their place, and needs no other folder. */
hd_status hd_training_weights(hd_params *p, const char *from, const hd_trainer_opt *o, hd_err *err);

/* In how many parts a batch of so many items is computed: as asked for, but none is empty. */
size_t hd_training_parts(size_t wanted, size_t items);

/* One batch forward and backward on the null backend, for the memory it takes. */
hd_status hd_training_rehearse(hd_run *r, const hd_trainee *t, hd_err *err);

#endif
