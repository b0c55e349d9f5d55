/* A course: the updates that a model of an experiment learns by. What it learns from is the learner's own.

       hd_run *r = hd_course_begin(c);
       ... send a lot, losses of its rows ...
       s = hd_course_end(c, hd_course_falling(c, rate, of), rows, err);
 */
#ifndef HD_LAB_COURSE_H
#define HD_LAB_COURSE_H

#include "train/optimizer.h"

typedef struct hd_course {
    hd_run *run; /* borrowed */
    hd_optimizer optimizer;
    uint64_t seed;    /* of weights, and of what is dropped */
    uint64_t updates; /* begun so far */
} hd_course;

/* Draws the weights, which a model may then change where it begins otherwise, for updates by Adam. Lives
   where it was opened; the caller closes it whatever happens. */
hd_status hd_course_open(hd_course *c, hd_run *run, hd_params *p, uint64_t seed, hd_err *err);
void hd_course_close(hd_course *c); /* accepts {0} */
/* Its optimizer begins anew. */
hd_status hd_course_renew(hd_course *c, hd_err *err);

/* Begins the step of an update. */
hd_run *hd_course_begin(hd_course *c);
/* A rate that falls to 0 over all `of` updates, in the one that was begun. */
double hd_course_falling(const hd_course *c, double rate, uint32_t of);
/* Backward through the losses of the step, and the update by them; weight: of how many rows they are. */
hd_status hd_course_end(hd_course *c, double rate, double weight, hd_err *err);

#endif
