/* How evenly the experts of a model are used: MaxVio of a layer is the largest load of an expert by their
   mean, minus 1. Easy to get wrong: of several processes each has seen its part. */
#ifndef HD_TRAIN_EXPERTS_LOAD_H
#define HD_TRAIN_EXPERTS_LOAD_H

#include "nn/param.h"
#include "op/run.h"

enum { HD_EXPERT_LAYERS = 256 }; /* of which reports speak */

typedef struct hd_expert_load {
    size_t layers; /* 0: there are no experts */
    double violation[HD_EXPERT_LAYERS], mean;
} hd_expert_load;

/* Of the last update. */
hd_expert_load hd_expert_load_last(const hd_params *p);

/* Between the two, steps that nobody learns from are counted; the end gives what all processes have counted.
   All call it, right after an exchange. */
void hd_expert_load_begin(hd_run *r);
hd_status hd_expert_load_end(hd_run *r, const hd_params *p, hd_expert_load *out, hd_err *err);

#endif
