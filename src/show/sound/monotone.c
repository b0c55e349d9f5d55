/* The best path that never goes back, found row by row. */
#include "show/sound/monotone.h"

#include <stdint.h>

#include "base/mem.h"

void hd_monotone_release(hd_monotone *m)
{
    hd_mem_free(m->most);
    hd_mem_free(m->path);
    *m = (hd_monotone){0};
}

/* best[i][j]: the largest sum of rows up to i whose last column is j at most; from[i][j]: that column. */
static void find_path(const float *w, size_t rows, size_t cols, double *best, size_t *from, size_t *path)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            double here = (double)w[i * cols + j] + (i ? best[(i - 1) * cols + j] : 0);
            bool left = j && best[i * cols + j - 1] >= here;
            best[i * cols + j] = left ? best[i * cols + j - 1] : here;
            from[i * cols + j] = left ? from[i * cols + j - 1] : j;
        }
    for (size_t i = rows, j = cols - 1; i--; j = path[i]) path[i] = from[i * cols + j];
}

hd_status hd_monotone_of(hd_monotone *out, const float *weight, size_t rows, size_t cols, hd_err *err)
{
    size_t cells = 0;
    if (!hd_size_mul(rows, cols, &cells) || cells > SIZE_MAX / 16)
        return hd_err_set(err, HD_ELIMIT, "attention of %zu over %zu", rows, cols);
    hd_monotone m = {.rows = rows,
                     .most = hd_mem_array(rows + 1, sizeof *m.most),
                     .path = hd_mem_array(rows + 1, sizeof *m.path)};
    double *best = hd_mem_array(cells + 1, sizeof *best);
    size_t *from = hd_mem_array(cells + 1, sizeof *from), low = cols, high = 0;
    hd_status s = m.most && m.path && best && from ? HD_OK : hd_err_nomem(err, cells * sizeof *best);
    for (size_t i = 0; !s && i < rows; i++) {
        const float *row = weight + i * cols;
        for (size_t j = 0; j < cols; j++)
            if (row[j] > row[m.most[i]]) m.most[i] = j;
        if (m.most[i] < low) low = m.most[i];
        if (m.most[i] > high) high = m.most[i];
        m.in_order += !i || m.most[i] >= m.most[i - 1];
    }
    if (!s && rows) m.span = (double)(high - low + 1) / (double)cols;
    if (!s) find_path(weight, rows, cols, best, from, m.path);
    hd_mem_free(best);
    hd_mem_free(from);
    if (s) hd_monotone_release(&m);
    *out = m;
    return s;
}
