/* Pooling under a window, and back: each cell of dx looks at the windows over it. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

/* The cells of a side that the window at a place covers: [from, till). */
INLINE void covered(int32_t *from, int32_t *till, int32_t place, int kernel, int stride, int padding,
                    int32_t cells)
{
    int32_t at = place * stride - padding;
    *from = at < 0 ? 0 : at;
    *till = at + kernel < cells ? at + kernel : cells;
}

/* Where this row is larger; NaN is larger than any number. */
#define LARGER (x[c] > y[c] || x[c] != x[c])

/* Without branches, so that compilers make vectors of it. */
static void pool_maximum(hd_real *restrict y, int32_t *restrict which, const hd_real *restrict x, size_t row,
                         bool first, size_t n)
{
    if (first) memcpy(y, x, n * sizeof *y);
    for (size_t c = 0; first && which && c < n; c++) which[c] = (int32_t)row;
    if (first) return;
    for (size_t c = 0; which && c < n; c++) which[c] = LARGER ? (int32_t)row : which[c];
    for (size_t c = 0; c < n; c++) y[c] = LARGER ? x[c] : y[c];
}

static void pool_row(const hd_pool_args *a, size_t r, int32_t item)
{
    const hd_grid_window *w = &a->window;
    size_t n = hd_cols_of(a->x);
    hd_real *y = hd_row(a->y, r);
    int32_t *which = a->which ? (int32_t *)a->which->data + r * a->which->stride : NULL;
    int32_t height = a->from->grid[2 * item], width = a->from->grid[2 * item + 1],
            across = a->to->grid[2 * item + 1], pos = a->to->pos[r], top, bottom, left, right;
    covered(&top, &bottom, pos / across, w->kernel[0], w->stride[0], w->padding[0], height);
    covered(&left, &right, pos % across, w->kernel[1], w->stride[1], w->padding[1], width);
    for (int32_t i = top; i < bottom; i++)
        for (int32_t j = left; j < right; j++) {
            size_t row = (size_t)a->from->begin[item] + (size_t)i * (size_t)width + (size_t)j;
            const hd_real *x = hd_row(a->x, row);
            if (a->kind == HD_GRID_MAX)
                pool_maximum(y, which, x, row, i == top && j == left, n);
            else
                HD_COLUMNS(n, { S(y, L(y) + L(x)); });
        }
    vec share = hd_set(1.0 / ((double)w->kernel[0] * w->kernel[1]));
    if (a->kind == HD_GRID_MEAN) HD_COLUMNS(n, { S(y, L(y) * share); });
}

static void pool_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_pool_args *a = arg;
    size_t n = hd_cols_of(a->x);
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        memset(hd_row(a->y, r), 0, n * sizeof(hd_real));
        int32_t item = a->to->item[r];
        if (item >= 0)
            pool_row(a, r, item);
        else if (a->which)
            memset((int32_t *)a->which->data + r * a->which->stride, 0xFF, n * sizeof(int32_t));
    }
}

static size_t pool_grain(const hd_grid_window *w, size_t cols)
{
    return hd_grain_rows(cols * (size_t)w->kernel[0] * (size_t)w->kernel[1]);
}

hd_status KERNEL(pool)(hd_backend *b, const hd_pool_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), pool_grain(&a->window, hd_cols_of(a->x)), pool_part,
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

/* As many rows as a vector has numbers. */
typedef int32_t rows_loose __attribute__((vector_size(VL * 4), aligned(4), may_alias));

/* dy to this row where it was the largest. In vectors, because compilers keep the branch. */
static void pass_maximum(hd_real *dx, const hd_real *dy, const int32_t *which, int32_t row, size_t n)
{
    const vec nothing = hd_set(-0.0); /* that changes no number it is added to */
    size_t c = 0;
    for (; c + VL <= n; c += VL) {
        ivec mine = __builtin_convertvector(*(const rows_loose *)(which + c) == row, ivec);
        hd_store(dx + c, hd_load(dx + c) + hd_pick(mine, hd_load(dy + c), nothing));
    }
    for (; c < n; c++)
        if (which[c] == row) dx[c] += dy[c];
}

static void pool_back_row(const hd_pool_back_args *a, size_t r, int32_t item)
{
    const hd_grid_window *w = &a->window;
    size_t n = hd_cols_of(a->dx);
    hd_real *dx = hd_row(a->dx, r);
    int32_t width = a->from->grid[2 * item + 1], down = a->to->grid[2 * item],
            across = a->to->grid[2 * item + 1], pos = a->from->pos[r], top, bottom, left, right;
    vec share = hd_set(1.0 / ((double)w->kernel[0] * w->kernel[1]));
    covering(&top, &bottom, pos / width, w->kernel[0], w->stride[0], w->padding[0], down);
    covering(&left, &right, pos % width, w->kernel[1], w->stride[1], w->padding[1], across);
    for (int32_t i = top; i <= bottom; i++)
        for (int32_t j = left; j <= right; j++) {
            size_t row = (size_t)a->to->begin[item] + (size_t)i * (size_t)across + (size_t)j;
            const hd_real *dy = hd_row(a->dy, row);
            if (a->kind == HD_GRID_MEAN)
                HD_COLUMNS(n, { S(dx, L(dx) + share * L(dy)); });
            else
                pass_maximum(dx, dy, (const int32_t *)a->which->data + row * a->which->stride, (int32_t)r, n);
        }
}

static void pool_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_pool_back_args *a = arg;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        if (!a->add) memset(hd_row(a->dx, r), 0, hd_cols_of(a->dx) * sizeof(hd_real));
        if (a->from->item[r] >= 0) pool_back_row(a, r, a->from->item[r]);
    }
}

hd_status KERNEL(pool_back)(hd_backend *b, const hd_pool_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->dx), pool_grain(&a->window, hd_cols_of(a->dx)),
                pool_back_part, (void *)a);
    return HD_OK;
}
