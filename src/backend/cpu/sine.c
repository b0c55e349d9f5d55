/* The sine code of positions. Angles are computed in double: a code of many periods is worth its digits. */
#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

/* Column of x whose code has place a: pairs are exchanged. */
static size_t column_of(size_t a)
{
    return a ^ 1;
}

static void sine_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_sine_args *a = arg;
    size_t axes = hd_cols_of(a->x), n = hd_cols_of(a->dy ? a->dy : a->y) / axes;
    const double fall = pow((double)a->temperature, -2 / (double)n);
    (void)worker;
    for (size_t r = begin; r < end; r++)
        for (size_t i = 0; i < axes; i++) {
            double at = (double)hd_row(a->x, r)[column_of(i)] * (double)a->scale, sum = 0, wave = 1;
            for (size_t k = 0; k + 1 < n; k += 2, wave *= fall) {
                double s = sin(at * wave), c = cos(at * wave);
                size_t to = i * n + k;
                if (a->y)
                    hd_row(a->y, r)[to] = (hd_real)s, hd_row(a->y, r)[to + 1] = (hd_real)c;
                else
                    sum += wave * ((double)hd_row(a->dy, r)[to] * c - (double)hd_row(a->dy, r)[to + 1] * s);
            }
            if (a->dx) hd_row(a->dx, r)[column_of(i)] += (hd_real)(sum * (double)a->scale);
        }
}

hd_status KERNEL(sine)(hd_backend *b, const hd_sine_args *a)
{
    size_t cols = hd_cols_of(a->dy ? a->dy : a->y);
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), 1 + HD_GRAIN / (32 * cols), sine_part, (void *)a);
    return HD_OK;
}
