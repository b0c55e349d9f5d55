/* The sum of gradients over processes, piece by piece while the backward pass goes on: a piece is sent as
   soon as nothing on the tape will add to it, or where work is queued, marked in the queue there and sent
   once the step was queued: also one that is replayed, which has the marks in it. All processes send the
   pieces in one order, whatever is complete first in each, and none may leave any out: whoever fails on the
   way still calls hd_gradient_sum_end, before it tells the others. */
#ifndef HD_TRAIN_GRADIENT_SUM_H
#define HD_TRAIN_GRADIENT_SUM_H

#include "nn/param.h"
#include "op/tape.h"

enum { HD_GRADIENT_PIECES = 32 };

typedef struct hd_gradient_sum {
    hd_params *params;
    hd_grad_watch watch;
    uint32_t open[HD_GRADIENT_PIECES];
    bool done[HD_GRADIENT_PIECES];
    size_t order[HD_GRADIENT_PIECES]; /* of pieces: weights from the last layer to the first, then the rest */
    size_t pieces, sent;
    hd_status failed;
} hd_gradient_sum;

/* What the backend cannot sum meanwhile has no pieces: hd_optimizer_update sums it. */
void hd_gradient_sum_init(hd_gradient_sum *g, hd_params *params);

/* Around the last forward and backward pass of an update, in which no gradient may be touched by others. */
void hd_gradient_sum_begin(hd_gradient_sum *g, hd_run *r);
/* Behind the backward pass, in what is captured: pieces that no op has told of are complete now, too. */
void hd_gradient_sum_rest(hd_gradient_sum *g, const hd_run *r);
/* Sends what is left, once the step runs. */
void hd_gradient_sum_send(hd_gradient_sum *g);
/* Sends what is left and waits for all; also after a failure, and where nothing was begun. True: the
   gradients are those of all processes. */
bool hd_gradient_sum_end(hd_gradient_sum *g, hd_run *r);

#endif
