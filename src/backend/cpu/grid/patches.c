/* The cells under a window side by side, and back. Back gathers: each cell of dx sums what the windows over
   it have, by rising row, whatever the chunks of dy and the threads are. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

/* Where a row lies: its item's grids and first rows, and the place in its grid. */
typedef struct place {
    int32_t height, width, row, col; /* of the grid it lies in */
    size_t other;                    /* first row of the item in the other segments */
    int32_t other_height, other_width;
} place;

INLINE bool place_of(place *p, const hd_seg *in, const hd_seg *other, size_t row)
{
    int32_t i = in->item[row];
    if (i < 0) return false;
    p->height = in->grid[2 * i], p->width = in->grid[2 * i + 1];
    p->row = in->pos[row] / p->width, p->col = in->pos[row] % p->width;
    p->other = (size_t)other->begin[i];
    p->other_height = other->grid[2 * i], p->other_width = other->grid[2 * i + 1];
    return true;
}

/* One row of the window: `count` cells from row `first` of x on, between zeros. */
INLINE hd_real *window_row(hd_real *y, const hd_tensor *x, size_t first, size_t before, size_t count,
                           size_t after, size_t n)
{
    memset(y, 0, before * n * sizeof *y), y += before * n;
    if (x->stride == n)
        memcpy(y, hd_row(x, first), count * n * sizeof *y);
    else
        for (size_t i = 0; i < count; i++) memcpy(y + i * n, hd_row(x, first + i), n * sizeof *y);
    y += count * n;
    memset(y, 0, after * n * sizeof *y);
    return y + after * n;
}

static void patches_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_patches_args *a = arg;
    const hd_grid_window *w = &a->window;
    size_t n = hd_cols_of(a->x), wide = hd_cols_of(a->y),
           all = n * (size_t)w->kernel[0] * (size_t)w->kernel[1];
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *y = hd_row(a->y, r);
        place p;
        if (!place_of(&p, a->to, a->from, a->first + r)) {
            memset(y, 0, wide * sizeof *y);
            continue;
        }
        memset(y + all, 0, (wide - all) * sizeof *y);
        int32_t top = p.row * w->stride[0] - w->padding[0], left = p.col * w->stride[1] - w->padding[1];
        int32_t from = left < 0 ? -left : 0, till = p.other_width - left;
        if (from > w->kernel[1]) from = w->kernel[1];
        if (till > w->kernel[1]) till = w->kernel[1];
        if (till < from) till = from;
        for (int32_t k = 0; k < w->kernel[0]; k++) {
            int32_t row = top + k;
            bool inside = row >= 0 && row < p.other_height && till > from;
            size_t first = inside ? p.other + (size_t)row * (size_t)p.other_width + (size_t)(left + from) : 0;
            if (inside)
                y = window_row(y, a->x, first, (size_t)from, (size_t)(till - from),
                               (size_t)(w->kernel[1] - till), n);
            else
                memset(y, 0, (size_t)w->kernel[1] * n * sizeof *y), y += (size_t)w->kernel[1] * n;
        }
    }
}

hd_status KERNEL(patches)(hd_backend *b, const hd_patches_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), patches_part,
                (void *)a);
    return HD_OK;
}

/* The places [*first, *last] of a window of so many that cover a cell. */
INLINE void covering(int32_t *first, int32_t *last, int32_t cell, int kernel, int stride, int padding,
                     int32_t places)
{
    int32_t at = cell + padding, low = at - kernel + 1;
    *first = low > 0 ? (low + stride - 1) / stride : 0;
    *last = at / stride < places ? at / stride : places - 1;
}

static void patches_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_patches_back_args *a = arg;
    const hd_grid_window *w = &a->window;
    size_t n = hd_cols_of(a->dx), rows = hd_rows_of(a->dy);
    (void)worker;
    for (size_t r = a->begin + begin; r < a->begin + end; r++) {
        hd_real *dx = hd_row(a->dx, r);
        place p;
        if (!a->add) memset(dx, 0, n * sizeof *dx);
        if (!place_of(&p, a->from, a->to, r)) continue;
        int32_t top, bottom, left, right;
        covering(&top, &bottom, p.row, w->kernel[0], w->stride[0], w->padding[0], p.other_height);
        covering(&left, &right, p.col, w->kernel[1], w->stride[1], w->padding[1], p.other_width);
        for (int32_t i = top; i <= bottom; i++)
            for (int32_t j = left; j <= right; j++) {
                size_t row = p.other + (size_t)i * (size_t)p.other_width + (size_t)j;
                if (row < a->first || row - a->first >= rows) continue;
                int32_t down = p.row + w->padding[0] - i * w->stride[0],
                        across = p.col + w->padding[1] - j * w->stride[1];
                const hd_real *dy =
                    hd_row(a->dy, row - a->first) + (size_t)(down * w->kernel[1] + across) * n;
                HD_COLUMNS(n, { S(dx, L(dx) + L(dy)); });
            }
    }
}

hd_status KERNEL(patches_back)(hd_backend *b, const hd_patches_back_args *a)
{
    size_t cells = (size_t)a->window.kernel[0] * (size_t)a->window.kernel[1];
    hd_team_run(((hd_cpu *)b)->team, a->end - a->begin, hd_grain_rows(hd_cols_of(a->dx) * cells),
                patches_back_part, (void *)a);
    return HD_OK;
}

static void transpose_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_transpose_args *a = arg;
    size_t all = a->height * a->width;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        const hd_real *x = hd_row(a->x, r);
        hd_real *y = hd_row(a->y, r);
        for (size_t j = 0; j < a->width; j++)
            for (size_t i = 0; i < a->height; i++) {
                hd_real *to = y + j * a->height + i;
                *to = (a->add ? *to : 0) + x[i * a->width + j];
            }
        if (!a->add) memset(y + all, 0, (hd_cols_of(a->y) - all) * sizeof *y);
    }
}

hd_status KERNEL(transpose)(hd_backend *b, const hd_transpose_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), transpose_part,
                (void *)a);
    return HD_OK;
}
