/* Pictures as rows of numbers, and the segments of a window's places on grids. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

hd_status KERNEL(regrid)(hd_backend *b, const hd_regrid_args *a)
{
    const hd_grid_window *w = &a->window;
    size_t at = 0;
    (void)b;
    for (size_t i = 0; i < a->items; i++) {
        int32_t height = a->size[2 * i], width = a->size[2 * i + 1];
        int32_t down = hd_grid_places(height, w->kernel[0], w->stride[0], w->padding[0]),
                across = hd_grid_places(width, w->kernel[1], w->stride[1], w->padding[1]);
        if (!down || !across) down = across = 0;
        a->begin[i] = (int32_t)at, a->len[i] = down * across;
        a->grid[2 * i] = down, a->grid[2 * i + 1] = across;
        for (int32_t j = 0; j < down * across && at < a->rows; j++, at++)
            a->item[at] = (int32_t)i, a->pos[at] = j;
    }
    for (; at < a->rows; at++) a->item[at] = -1, a->pos[at] = 0;
    return HD_OK;
}

/* One square of a picture, channel by channel. */
static void square(hd_real *y, const hd_pixels *in, size_t item, int32_t row, int32_t col, int p)
{
    size_t channels = (size_t)in->channels, width = (size_t)in->size[2 * item + 1];
    const uint8_t *from =
        in->bytes + in->begin[item] + ((size_t)row * (size_t)p * width + (size_t)col * (size_t)p) * channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < (size_t)p; i++)
            for (size_t j = 0; j < (size_t)p; j++)
                *y++ = in->worth[256 * c + from[(i * width + j) * channels + c]];
}

static void pixels_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_pixels_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r);
        int32_t item = a->to->item[r];
        if (item < 0) {
            memset(y, 0, hd_cols_of(a->y) * sizeof *y);
            continue;
        }
        int32_t across = a->to->grid[2 * item + 1], pos = a->to->pos[r];
        square(y, a->in, (size_t)item, pos / across, pos % across, a->p);
    }
}

hd_status KERNEL(pixels)(hd_backend *b, const hd_pixels_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), pixels_part,
                (void *)a);
    return HD_OK;
}
