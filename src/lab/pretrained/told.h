/* Tasks that are told in the input: a small language model reads a task, a number and its answer, again and
   again. The answer is one more than the number, or two, ..., as the task says. */
#ifndef HD_LAB_PRETRAINED_TOLD_H
#define HD_LAB_PRETRAINED_TOLD_H

#include "lab/experiment.h"

enum { HD_TOLD_TASKS = 3 };

typedef struct hd_told {
    double right; /* share of right answers that get more than half of the probability */
    double leak;  /* by how many nats a later word changes what is said of earlier ones, at most */
} hd_told;

/* told: a word says the task; else the same word stands there for all. */
hd_status hd_told_measure(hd_told *to, const hd_lab *lab, uint64_t seed, bool told, hd_err *err);

#endif
