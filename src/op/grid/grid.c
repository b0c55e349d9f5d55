/* Segments whose rows are the cells of grids. What a window makes of them is computed twice, by the host for
   shapes and by the backend for kernels: a captured step may send nothing. */
#include "op/run.h"

/* Height * width of each item; NULL on failure. */
static int32_t *cells_of(hd_run *r, const int32_t *size, size_t items)
{
    int32_t *len = hd_host_take(r, (items + 1) * sizeof *len);
    for (size_t i = 0; len && i < items; i++) {
        int32_t height = size[2 * i], width = size[2 * i + 1];
        if (height < 0 || width < 0 || (int64_t)height * width > INT32_MAX)
            return hd_fail(r, HD_EARG, "grid %zu has %d x %d cells", i, height, width);
        len[i] = height * width;
    }
    return len;
}

static hd_seg *with_grid(hd_run *r, hd_seg *s, const int32_t *size, size_t items)
{
    int32_t *host = s ? hd_host_take(r, (2 * s->items + 1) * sizeof *host) : NULL;
    for (size_t i = 0; host && i < 2 * items; i++) host[i] = size[i];
    const int32_t *sent = host ? hd_ints(r, host, 2 * s->items) : NULL;
    if (!sent) return NULL;
    s->grid = sent, s->host_grid = host;
    return s;
}

hd_seg *hd_grid_of(hd_run *r, const int32_t *size, size_t items, const int32_t *key)
{
    const int32_t *len = cells_of(r, size, items);
    return len ? with_grid(r, hd_seg_of(r, len, items, key), size, items) : NULL;
}

hd_seg *hd_grid_within(hd_run *r, const int32_t *size, size_t items, const int32_t *key, hd_bounds bounds)
{
    const int32_t *len = cells_of(r, size, items);
    return len ? with_grid(r, hd_seg_within(r, len, items, key, bounds), size, items) : NULL;
}

enum { MOST = 1 << 20 }; /* of a window's numbers, so that sums of them are ints */

static bool window_fits(hd_run *r, const char *op, const hd_grid_window *w)
{
    for (int i = 0; i < 2; i++)
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->padding[i] < 0 || w->kernel[i] > MOST ||
            w->stride[i] > MOST || w->padding[i] > MOST) {
            hd_fail(r, HD_EARG, "%s: a window of %d x %d, strides %d and %d, padding %d and %d", op,
                    w->kernel[0], w->kernel[1], w->stride[0], w->stride[1], w->padding[0], w->padding[1]);
            return false;
        }
    return true;
}

/* The grids under the window, [items, 2]; NULL on failure. */
static int32_t *places_of(hd_run *r, const char *op, const hd_seg *from, const hd_grid_window *w)
{
    int32_t *grid = hd_host_take(r, (2 * from->items + 1) * sizeof *grid);
    for (size_t i = 0; grid && i < from->items; i++) {
        const int32_t *size = from->host_grid + 2 * i;
        if (size[0] > INT32_MAX - 2 * MOST || size[1] > INT32_MAX - 2 * MOST)
            return hd_fail(r, HD_ELIMIT, "%s: item %zu has %d x %d cells", op, i, size[0], size[1]);
        for (int k = 0; k < 2; k++)
            grid[2 * i + (size_t)k] = hd_grid_places(size[k], w->kernel[k], w->stride[k], w->padding[k]);
        bool empty = size[0] < 1 || size[1] < 1;
        if (empty) grid[2 * i] = grid[2 * i + 1] = 0;
        if (!empty && !(grid[2 * i] && grid[2 * i + 1]))
            return hd_fail(r, HD_ESHAPE, "%s: a window of %d x %d does not fit item %zu of %d x %d cells", op,
                           w->kernel[0], w->kernel[1], i, size[0], size[1]);
    }
    return grid;
}

hd_seg *hd_grid_under(hd_run *r, const char *op, const hd_seg *from, const hd_grid_window *w)
{
    if (!from->grid || !from->host_grid)
        return hd_fail(r, HD_EARG, "%s: the rows are not cells of a grid", op);
    if (from->lead) return hd_fail(r, HD_EARG, "%s: %zu rows of each item are no cells", op, from->lead);
    if (!window_fits(r, op, w)) return NULL;
    size_t n = from->items, rows = 0, longest = 0;
    int32_t *grid = places_of(r, op, from, w), *len = grid ? cells_of(r, grid, n) : NULL;
    for (size_t i = 0; len && i < n; i++) {
        rows += (size_t)len[i];
        if ((size_t)len[i] > longest) longest = (size_t)len[i];
    }
    if (rows > INT32_MAX) return hd_fail(r, HD_ELIMIT, "a batch of %zu rows is too large", rows);
    hd_seg *s = len ? hd_host_take(r, sizeof *s) : NULL;
    int32_t *at = s ? hd_step_take(r, (4 * n + 2 * rows + 1) * sizeof *at) : NULL;
    if (!at) return NULL;
    HD_CALL(r, regrid, .begin = at, .len = at + n, .grid = at + 2 * n, .item = at + 4 * n,
            .pos = at + 4 * n + rows, .size = from->grid, .items = n, .rows = rows, .window = *w);
    *s = (hd_seg){.begin = at,
                  .len = at + n,
                  .grid = at + 2 * n,
                  .item = at + 4 * n,
                  .pos = at + 4 * n + rows,
                  .host_len = len,
                  .host_grid = grid,
                  .key = from->key,
                  .items = n,
                  .rows = rows,
                  .longest = longest,
                  .full = true};
    return s;
}
