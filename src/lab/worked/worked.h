/* Worked examples of lectures 000 and 004, number by number: what the engine computes beside what the lecture
   has there, and where the slides slip. (That of lecture 003 is in show/lecture.h.) */
#ifndef HD_LAB_WORKED_WORKED_H
#define HD_LAB_WORKED_WORKED_H

#include "op/run.h"
#include "view/paper/paper.h"

typedef struct hd_worked_opt {
    int lecture;      /* 0 or 4 */
    const char *only; /* a glob pattern of names ("gru.enc.*"); NULL: all */
    int digits;       /* decimals */
} hd_worked_opt;

/* Fills a paper that is empty. HD_EARG where nothing matches. */
hd_status hd_worked_run(hd_paper *to, hd_run *r, const hd_worked_opt *o, hd_err *err);

#endif
