/* Stacked recurrent layers, one way or both, with the names and the arithmetic of PyTorch's nn.RNN, nn.GRU
   and nn.LSTM: their weights can be exchanged. */
#ifndef HD_NN_RECURRENT_H
#define HD_NN_RECURRENT_H

#include "nn/cache/cache.h"
#include "nn/param.h"
#include "op/op.h"

enum { HD_RECURRENT_LAYERS = 16 };

typedef struct hd_recurrent_opt {
    hd_cell cell;
    hd_unary act; /* of HD_RNN; HD_IDENTITY counts as HD_tanh */
    size_t in, width;
    int layers;
    bool both_ways; /* a second direction; its h is appended to the first one's: rows of 2H */
    bool reverse;   /* the only direction is from the last row to the first */
    bool no_bias;
    float dropout;    /* between layers */
    const char *name; /* "rnn" for rnn.weight_ih_l0, ... */
} hd_recurrent_opt;

typedef struct hd_recurrent_pass { /* one direction of one layer */
    hd_param *w_in, *w, *b_in, *b; /* weight_ih, weight_hh, bias_ih, bias_hh */
} hd_recurrent_pass;

typedef struct hd_recurrent {
    hd_cell cell;
    hd_unary act;
    size_t width;
    int layers, directions;
    bool reverse;
    float dropout;
    hd_recurrent_pass pass[HD_RECURRENT_LAYERS][2];
} hd_recurrent;

/* A failure stays in p->err. */
hd_recurrent hd_recurrent_make(hd_params *p, const hd_recurrent_opt *o);

/* Columns of what it returns, and of the state of one layer and direction ([N, H]; LSTM [N, 2H], h and c side
 * by side). */
size_t hd_recurrent_out(const hd_recurrent *m);
size_t hd_recurrent_state(const hd_recurrent *m);

double hd_recurrent_flops(const hd_recurrent *m); /* of a row, all layers */

/* All rows of x through all layers. start and last are NULL or have layers * directions states, those of a
   layer together: start may hold NULL (zeros), last receives the final states. slot is NULL or the first of
   `layers` STATE slots that follow each other: each carries its layer's state from one call to the next, and
   takes precedence over start. No gradient flows into a carried state. A bidirectional layer has no slot. */
hd_rows hd_recurrent_of(hd_run *r, const hd_recurrent *m, hd_rows x, hd_tensor *const *start,
                        hd_tensor **last, hd_slot *slot);

#endif
