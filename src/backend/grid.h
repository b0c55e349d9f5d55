/* Windows over grids of rows, and the arguments of the kernels that move them: pixels, patches (for
   convolutions), pooling. Conventions as in kernel.h. */
#ifndef HD_BACKEND_GRID_H
#define HD_BACKEND_GRID_H

#include "backend/pixels.h"
#include "backend/segment.h"
#include "tensor/tensor.h"

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

/* A window that moves over a grid: the cells it covers, by how many it moves, how many cells of padding are
   on each side; height, then width. */
typedef struct hd_grid_window {
    int kernel[2], stride[2], padding[2];
} hd_grid_window;

/* Places of a window along a side of so many cells; of none on an empty one. */
HD_BOTH static inline int32_t hd_grid_places(int32_t cells, int kernel, int stride, int padding)
{
    int32_t room = cells + 2 * padding - kernel;
    return cells > 0 && room >= 0 ? room / stride + 1 : 0;
}

/* Each row of x begins with a matrix [height, width]: y (+)= its transpose, row by row. Without `add`,
   further columns of y become 0. */
typedef struct hd_transpose_args {
    const hd_tensor *y, *x;
    size_t height, width;
    bool add;
} hd_transpose_args;

/* The segments of a window's places on items of these sizes: grid, len and begin of the items, item and pos
   of the rows; rows behind the last item get item -1. All in backend memory. */
typedef struct hd_regrid_args {
    int32_t *begin, *len, *grid, *item, *pos;
    const int32_t *size; /* [items, 2] */
    size_t items, rows;
    hd_grid_window window;
} hd_regrid_args;

/* The segments of `from` with `lead` more rows before those of each item that is not empty: begin, len of the
   items, item and pos of the rows, and index, the row of `from` or -1. Rows behind the last item get -1, too.
   Items lie one behind the other. */
typedef struct hd_lead_args {
    int32_t *begin, *len, *item, *pos, *index;
    const hd_seg *from;
    size_t rows;
    int32_t lead;
} hd_lead_args;

/* The segments of `from` with k of its rows as one, the last maybe of fewer: begin, len of the items, item
   and pos of the rows; rows behind the last item get item -1. Items lie one behind the other. */
typedef struct hd_refold_args {
    int32_t *begin, *len, *item, *pos;
    const hd_seg *from;
    size_t rows;
    int k;
} hd_refold_args;

/* y [rows, channels * p * p]: a square of p x p pixels for each row of `to`, in the order channel, row,
   column; zeros in rows of no item. */
typedef struct hd_pixels_args {
    const hd_tensor *y;
    const hd_pixels *in;
    const hd_seg *to;
    int p;
} hd_pixels_args;

/* Row j of y = the cells of x under the window of row first + j of `to`: window row by row, the columns of a
   cell together. Zeros outside of the grid, in rows of no item and in further columns of y. */
typedef struct hd_patches_args {
    const hd_tensor *y, *x;
    const hd_seg *to, *from;
    hd_grid_window window;
    size_t first;
} hd_patches_args;

/* The reverse for rows [begin, end) of dx: dx (+)= what rows of dy have at its cell, by rising row. Without
   `add`, rows of no item become 0. */
typedef struct hd_patches_back_args {
    const hd_tensor *dx, *dy;
    const hd_seg *to, *from;
    hd_grid_window window;
    size_t first, begin, end;
    bool add;
} hd_patches_back_args;

/* Padding never wins a maximum, and counts as zeros for a mean. */
typedef enum hd_grid_pool { HD_GRID_MAX, HD_GRID_MEAN } hd_grid_pool;

/* y = the maximum or the mean under the window of each row of `to`; zeros in rows of no item. which: [rows,
   cols] int32, the row of x with the maximum (the first of equal ones), or NULL. */
typedef struct hd_pool_args {
    const hd_tensor *y, *which, *x;
    const hd_seg *to, *from;
    hd_grid_window window;
    hd_grid_pool kind;
} hd_pool_args;

/* dx (+)= ...; without `add`, rows of no item become 0 */
typedef struct hd_pool_back_args {
    const hd_tensor *dx, *dy, *which;
    const hd_seg *to, *from;
    hd_grid_window window;
    hd_grid_pool kind;
    bool add;
} hd_pool_back_args;

#endif
