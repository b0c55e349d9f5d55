/* The sum of what a row's experts gave, in the order of its experts, and its way back. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vector.h"

static void combine_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_combine_args *a = arg;
    size_t n = hd_cols_of(a->y), used = (size_t)a->used;
    (void)worker;
    for (size_t t = begin; t < end; t++) {
        hd_real *y = hd_row(a->y, t);
        if (!a->add) memset(y, 0, n * sizeof *y);
        for (size_t k = 0; k < used; k++) {
            int32_t at = a->place[t * used + k];
            if (at < 0) continue;
            const hd_real *x = hd_row(a->x, (size_t)at);
            vec w = hd_spread(a->weights ? hd_row(a->weights, t)[k] : 1);
            HD_COLUMNS(n, { S(y, hd_fma(w, L(x), L(y))); });
        }
    }
}

hd_status KERNEL(combine)(hd_backend *b, const hd_combine_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y) * (size_t)a->used),
                combine_part, (void *)a);
    return HD_OK;
}

static void combine_back_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_combine_back_args *a = arg;
    size_t n = hd_cols_of(a->dy), used = (size_t)a->used;
    (void)worker;
    for (size_t t = begin; t < end; t++) {
        const hd_real *dy = hd_row(a->dy, t);
        for (size_t k = 0; k < used; k++) {
            int32_t at = a->place[t * used + k];
            if (at < 0) continue;
            if (a->dx) {
                hd_real *dx = hd_row(a->dx, (size_t)at);
                vec w = hd_spread(a->weights ? hd_row(a->weights, t)[k] : 1);
                HD_COLUMNS(n, { S(dx, a->add ? hd_fma(w, L(dy), L(dx)) : w * L(dy)); });
            }
            if (!a->dweights) continue;
            const hd_real *x = hd_row(a->x, (size_t)at);
            vec sum = hd_set(0);
            HD_COLUMNS(n, { sum = hd_fma(L(dy), L(x), sum); });
            hd_row(a->dweights, t)[k] += hd_sum(sum);
        }
    }
}

hd_status KERNEL(combine_back)(hd_backend *b, const hd_combine_back_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->dy),
                hd_grain_rows(2 * hd_cols_of(a->dy) * (size_t)a->used), combine_back_part, (void *)a);
    return HD_OK;
}
