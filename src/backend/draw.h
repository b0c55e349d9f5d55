/* Random draws of kernels: a draw follows from the seed, the step, the op, the item and the position, never
   from how a batch was put together. */
#ifndef HD_BACKEND_DRAW_H
#define HD_BACKEND_DRAW_H

#include "backend/segment.h"
#include "backend/step.h"

/* Randomness of an op: its number in the step, and the item and position of each row. */
typedef struct hd_draw {
    const hd_step *step;
    uint32_t op;
    float p;           /* probability of dropping; 0: nothing is drawn */
    bool whole;        /* one draw for all numbers of an item (stochastic depth), not one for each */
    const hd_seg *seg; /* gives item and row; NULL: item 0 and the row number */
} hd_draw;

#endif
