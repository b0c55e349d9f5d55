/* Rows that are cells of grids, on the device: where a row lies, and the places of a window over a cell. A
   few lanes of a warp share a row, as many as its columns need. */
#ifndef HD_BACKEND_CUDA_GRID_PLACE_H
#define HD_BACKEND_CUDA_GRID_PLACE_H

#include "backend/cuda/walk.h"

typedef struct grids {
    const int32_t *item, *pos, *grid;  /* of the rows at hand */
    const int32_t *begin, *other_grid; /* of the rows on the other side of the window */
    hd_grid_window window;
} grids;

static inline grids grids_of(const hd_seg *at, const hd_seg *other, const hd_grid_window *w)
{
    return (grids){at->item, at->pos, at->grid, other->begin, other->grid, *w};
}

typedef struct place {
    int row, col;      /* in its grid */
    int height, width; /* of the other grid */
    int begin;         /* its first row */
} place;

DEVICE bool place_of(place *p, const grids &g, size_t row)
{
    int i = g.item[row];
    if (i < 0) return false;
    int across = g.grid[2 * i + 1], pos = g.pos[row];
    p->row = pos / across, p->col = pos - p->row * across;
    p->height = g.other_grid[2 * i], p->width = g.other_grid[2 * i + 1], p->begin = g.begin[i];
    return true;
}

/* The places [*first, *last] of a window of so many that cover a cell. */
DEVICE void covering(int *first, int *last, int cell, int kernel, int stride, int padding, int places)
{
    int at = cell + padding, low = at - kernel + 1;
    *first = low > 0 ? (low + stride - 1) / stride : 0;
    *last = min(at / stride, places - 1);
}

enum { GRID_THREADS = 256 };

/* Lanes of a row that has so many steps: a power of two. */
static inline int lanes_of(size_t steps)
{
    int lanes = 1;
    while (lanes < 32 && (size_t)lanes < steps) lanes *= 2;
    return lanes;
}
static inline unsigned lane_blocks(size_t rows, int lanes)
{
    return hd_blocks(rows, (size_t)(GRID_THREADS / lanes));
}
DEVICE size_t lane_row(int lanes)
{
    return (size_t)blockIdx.x * (GRID_THREADS / lanes) + threadIdx.x / lanes;
}

#endif
