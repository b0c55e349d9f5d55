/* Pictures as rows of numbers. */
#include "op/op.h"

hd_rows hd_pixel_rows(hd_run *r, const hd_pixels *in, int p)
{
    hd_rows none = {0};
    if (!in) return none;
    if (in->channels < 1) return hd_fail(r, HD_EARG, "pixel_rows: %d channels", in->channels), none;
    hd_seg size = {.grid = in->size, .host_grid = in->host_size, .key = in->key, .items = in->items};
    hd_seg *to = hd_grid_under(r, "pixel_rows", &size, &(hd_grid_window){{p, p}, {p, p}, {0, 0}});
    hd_tensor *y = to ? hd_new(r, to->rows, (size_t)in->channels * (size_t)p * (size_t)p) : NULL;
    if (!y) return none;
    HD_CALL(r, pixels, .y = y, .in = in, .to = to, .p = p);
    return r->err.status ? none : (hd_rows){y, to};
}
