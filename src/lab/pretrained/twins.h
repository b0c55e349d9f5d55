/* Twins: a model of ordinary attention, and one of latent attention whose vector is as wide as the model,
   with the same weights. */
#ifndef HD_LAB_PRETRAINED_TWINS_H
#define HD_LAB_PRETRAINED_TWINS_H

#include "lab/experiment.h"

/* By how many nats they differ in what they say of a random text, at most. */
hd_status hd_twins_differ(double *gap, const hd_lab *lab, uint64_t seed, hd_err *err);

#endif
