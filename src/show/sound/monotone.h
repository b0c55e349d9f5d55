/* How monotone attention over time is: speech is said in order, and attention that reads it goes from left to
   right. */
#ifndef HD_SHOW_SOUND_MONOTONE_H
#define HD_SHOW_SOUND_MONOTONE_H

#include "base/status.h"

typedef struct hd_monotone {
    size_t rows;
    size_t *most;    /* [rows]: the column each row attends to most */
    size_t *path;    /* [rows]: columns that never go back, with the largest sum of weights there is */
    size_t in_order; /* rows whose largest weight is not before that of the row above; the first is */
    double span;     /* share of the columns from the first to the last that some row attends to most: small
                        where attention stands still, which is in order, too */
} hd_monotone;

/* weight [rows, cols], cols at least 1. */
hd_status hd_monotone_of(hd_monotone *out, const float *weight, size_t rows, size_t cols, hd_err *err);
void hd_monotone_release(hd_monotone *m); /* accepts {0} */

static inline double hd_monotone_share(const hd_monotone *m)
{
    return m->rows ? (double)m->in_order / (double)m->rows : 1;
}

#endif
