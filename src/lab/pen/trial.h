/* A trial: what one that has learned to write makes of new texts, and of one that is changed by a letter. */
#ifndef HD_LAB_PEN_TRIAL_H
#define HD_LAB_PEN_TRIAL_H

#include "lab/pen/penman.h"

typedef struct hd_trial {
    double right;                    /* share of points of new texts that it writes where they belong */
    double back;                     /* the least that its window moved from point to point */
    double moved[HD_PENMAN_LETTERS]; /* letters that the window moves on while one is written */
    double before, behind;           /* how far points of the two texts are apart at most, before the changed
                                        letter and in it */
    hd_penman_line line[2];          /* the two as it writes them */
    hd_penman_trace trace;           /* of the first of them */
} hd_trial;

/* Without a window, nothing moves. */
hd_status hd_trial_run(hd_trial *to, hd_penman *w, hd_err *err);
/* Its window over the first of the two texts, and both as they are written. */
void hd_trial_put(hd_paper *to, const hd_trial *t);

#endif
