/* Rows of segments laid out step after step, for layers whose next row needs the one before. Every step
   has a row for every item, also past its end, where the result is not used. */
#ifndef HD_NN_UNROLL_H
#define HD_NN_UNROLL_H

#include "op/op.h"

typedef struct hd_unrolled {
    size_t steps, items;
    const hd_seg *single; /* one row an item */
    const int32_t *row;   /* [steps * items]: the row of an item in a step, -1 past its end. NULL: there is
                             one step and the rows are its rows */
    const int32_t *place; /* [rows of the segments]: where each one is among [steps * items] */
} hd_unrolled;

/* The layout made for these segments before (seg->steps), or a new one, which is sent: call it before
   anything is captured. NULL on failure. */
const hd_unrolled *hd_unroll(hd_run *r, const hd_seg *seg);

#endif
