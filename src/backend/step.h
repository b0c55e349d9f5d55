/* The step block: all values that change from step to step, in backend memory. Kernels read it by pointer
   and never take such a value as an argument, so that a captured step can be replayed. */
#ifndef HD_BACKEND_STEP_H
#define HD_BACKEND_STEP_H

#include "tensor/tensor.h"

typedef struct hd_step {
    uint64_t seed;    /* of dropout and sampling */
    uint32_t number;  /* counts training or decoding steps: second part of every random key */
    uint32_t updates; /* t of Adam: updates done, this one included; the clip kernel counts */
    float rate;       /* learning rate of this step */
    float settled;    /* share of the peak rate that the schedule has taken away since the warm-up */
    double weight;    /* divisor of the summed gradients: tokens of all micro-batches and processes */
    double norm;      /* global norm of the divided gradient, as measured */
    float clip;       /* factor of the clipping; 1 if nothing is clipped */
    int32_t skip;     /* 1: the gradient is not finite and the update is skipped */
    hd_real loss;     /* sum over the rows of the step, for the host to read */
} hd_step;

#endif
