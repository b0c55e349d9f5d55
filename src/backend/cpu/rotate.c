/* Rotation of pairs of columns. Cosines and sines of a row serve all its heads. */
#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

/* x and z are the first and the second columns of `n` pairs, `apart` columns from one to the next. */
static void turn(hd_real *x, hd_real *z, const hd_real *c, const hd_real *s, size_t n, size_t apart)
{
    if (apart == 1) {
        HD_COLUMNS(n, {
            vec a = L(x), b = L(z);
            S(x, a * L(c) - b * L(s));
            S(z, b * L(c) + a * L(s));
        });
        return;
    }
    for (size_t k = 0; k < n; k++) {
        hd_real a = x[k * apart], b = z[k * apart];
        x[k * apart] = a * c[k] - b * s[k];
        z[k * apart] = b * c[k] + a * s[k];
    }
}

static void rotate_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_rotate_args *a = arg;
    const hd_rotation *by = a->by;
    size_t pairs = (size_t)by->pairs;
    hd_real c[HD_ROTATION_PAIRS], s[HD_ROTATION_PAIRS];
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        hd_real *x = hd_row(a->x, r) + by->first;
        for (size_t k = 0; k < pairs; k++) {
            float angle = hd_rotation_angle(by, (int)k, a->pos[r]), sine = sinf(angle) * by->factor;
            c[k] = (hd_real)(cosf(angle) * by->factor);
            s[k] = (hd_real)(a->back ? -sine : sine);
        }
        for (int h = 0; h < a->heads; h++, x += by->width)
            turn(x, by->interleaved ? x + 1 : x + pairs, c, s, pairs, by->interleaved ? 2 : 1);
    }
}

hd_status KERNEL(rotate)(hd_backend *b, const hd_rotate_args *a)
{
    size_t cost = (size_t)(16 * a->by->pairs + 2 * a->by->pairs * a->heads);
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->x), 1 + HD_GRAIN / (1 + cost), rotate_part, (void *)a);
    return HD_OK;
}
