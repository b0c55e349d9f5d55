/* What queries see of a picture where they see only what is near their box: every query is a segment of its
   own over copies of these cells. With a probe it is a mask over all cells instead, so that whole maps are
   shown. */
#include <math.h>

#include "model/vision/detr.h"

enum { BOX = 4 };

#define LEAST 1.5 /* cells that are seen on each side of a center, whatever the size of the box */

typedef struct window {
    int32_t from[2], to[2]; /* rows and columns of cells, ends included */
} window;

static double share(hd_real x)
{
    return 1 / (1 + exp(-(double)x));
}

/* Cells of one axis around a center. */
static void span(int32_t *from, int32_t *to, double center, double size, double reach, int32_t cells)
{
    double at = center * cells, half = fmax(size * cells * (1 + reach) / 2, LEAST);
    double low = fmin(fmax(floor(at - half), 0), cells - 1),
           high = fmin(fmax(ceil(at + half) - 1, 0), cells - 1);
    *from = (int32_t)low, *to = (int32_t)high;
}

static window window_of(const hd_real *box, const int32_t *grid, float reach)
{
    window w;
    span(&w.from[0], &w.to[0], share(box[1]), share(box[3]), (double)reach, grid[0]);
    span(&w.from[1], &w.to[1], share(box[0]), share(box[2]), (double)reach, grid[1]);
    return w;
}

static size_t size_of(const window *w)
{
    return (size_t)(w->to[0] - w->from[0] + 1) * (size_t)(w->to[1] - w->from[1] + 1);
}

static bool inside(const window *w, int32_t y, int32_t x)
{
    return y >= w->from[0] && y <= w->to[0] && x >= w->from[1] && x <= w->to[1];
}

typedef struct looking { /* rows and the cells of their pictures */
    const hd_seg *memory, *rows;
    const window *window; /* [rows] */
} looking;

static hd_sight mask_of(hd_run *r, const hd_detr *m, const looking *k)
{
    size_t total = 0, heads = (size_t)m->opt.stack.heads, row = 0, n = 0;
    for (size_t i = 0; i < k->rows->items; i++)
        total += (size_t)k->rows->host_len[i] * (size_t)k->memory->host_len[i];
    hd_real *score = hd_host_take(r, (total * heads + 1) * sizeof *score);
    if (!score) return (hd_sight){0};
    for (size_t i = 0; i < k->rows->items; i++) {
        const int32_t *grid = k->memory->host_grid + 2 * i;
        for (int32_t q = 0; q < k->rows->host_len[i]; q++, row++)
            for (int32_t c = 0; c < k->memory->host_len[i]; c++)
                for (size_t h = 0; h < heads; h++)
                    score[n++] = inside(&k->window[row], c / grid[1], c % grid[1]) ? 0 : (hd_real)-1e30;
    }
    return (hd_sight){.mask = hd_from(r, total, heads, score)};
}

static hd_sight copies_of(hd_run *r, const looking *k)
{
    size_t rows = k->rows->rows, total = 0, row = 0, n = 0;
    int32_t *len = hd_host_take(r, 2 * (rows + 1) * sizeof *len), *one = len ? len + rows : NULL;
    if (!len) return (hd_sight){0};
    for (size_t i = 0; i < rows; i++)
        one[i] = 1, len[i] = (int32_t)size_of(&k->window[i]), total += (size_t)len[i];
    int32_t *cell = hd_host_take(r, (total + 1) * sizeof *cell);
    if (!cell) return (hd_sight){0};
    for (size_t i = 0, first = 0; i < k->rows->items; first += (size_t)k->memory->host_len[i], i++)
        for (int32_t q = 0; q < k->rows->host_len[i]; q++, row++) {
            const window *w = &k->window[row];
            for (int32_t y = w->from[0]; y <= w->to[0]; y++)
                for (int32_t x = w->from[1]; x <= w->to[1]; x++)
                    cell[n++] = (int32_t)first + y * k->memory->host_grid[2 * i + 1] + x;
        }
    return (hd_sight){.rows = hd_ints(r, cell, total),
                      .asking = hd_seg_of(r, one, rows, NULL),
                      .asked = hd_seg_of(r, len, rows, NULL)};
}

hd_sight hd_detr_near(hd_run *r, const hd_detr *m, const hd_seg *memory, const hd_seg *rows,
                      const hd_tensor *box)
{
    window *w = hd_host_take(r, (rows->rows + 1) * sizeof *w);
    hd_real *read = hd_host_take(r, (rows->rows + 1) * BOX * sizeof *read);
    looking k = {memory, rows, w};
    if (!w || !read || !box || !hd_read(r, box, read)) return (hd_sight){0};
    for (size_t i = 0, row = 0; i < rows->items; i++)
        for (int32_t q = 0; q < rows->host_len[i]; q++, row++)
            w[row] = window_of(read + row * BOX, memory->host_grid + 2 * i, m->opt.reach);
    return r->probe ? mask_of(r, m, &k) : copies_of(r, &k);
}
