/* Recurrent layers: the walk of a cell over the rows of items. */
#ifndef HD_BACKEND_RECURRENCE_H
#define HD_BACKEND_RECURRENCE_H

#include "backend/function.h"
#include "backend/segment.h"
#include "tensor/tensor.h"

/* Recurrent cells as PyTorch defines them, their gates in its order: RNN h = act(z + w h + bias); GRU r,
   z, n; LSTM i, f, g, o. For backward a row keeps its gates, then GRU's w_n h + bias_n or LSTM's c. */
typedef enum hd_cell { HD_RNN, HD_GRU, HD_LSTM } hd_cell;

static inline size_t hd_cell_gates(hd_cell cell)
{
    return cell == HD_RNN ? 1 : cell == HD_GRU ? 3 : 4;
}
static inline size_t hd_cell_keeps(hd_cell cell)
{
    return cell == HD_RNN ? 0 : cell == HD_GRU ? 4 : 5;
}

/* One direction of a recurrent layer of width H and G gates, over segments that do not overlap. A state is
   [items, H], of an LSTM [items, 2H]: h and c side by side. */
typedef struct hd_recurrence {
    hd_cell cell;
    hd_unary act;              /* of HD_RNN: relu, sigmoid or tanh */
    bool reverse;              /* each segment from its last row to its first */
    const hd_tensor *w, *bias; /* [G*H, H]; [G*H] or NULL */
    const hd_tensor *start;    /* state before the first step; NULL: zeros, as is c of an LSTM's [items, H] */
    const hd_seg *seg;
} hd_recurrence;

/* y [rows, H] = h after each row, z [rows, G*H] being the inputs' part of the gates; last = the state
   after the last step (of an empty item: its start), or NULL; kept [rows, keeps*H] or NULL. Rows of no item
   are neither read nor written. */
typedef struct hd_recur_args {
    const hd_tensor *y, *last, *kept, *z;
    hd_recurrence re;
} hd_recur_args;

/* dz = the gradient of z, which is that of w h + bias too, but for GRU's n: that one's is dn [rows, H].
 * before [rows, H] = h before each row; dstart += ; these two may be NULL, as may dy and dlast. */
typedef struct hd_recur_back_args {
    const hd_tensor *dz, *dn, *before, *dstart, *dy, *dlast, *y, *kept;
    hd_recurrence re;
} hd_recur_back_args;

#endif
