/* Some columns of each row: what is left of an output layer that was multiplied for the sentences of a batch
   together is, for each, what it would be alone. */
#include "backend/cpu/form/form.h"

static void narrow_part(void *arg, size_t begin, size_t end, int worker)
{
    const hd_narrow_args *a = arg;
    const size_t wide = hd_cols_of(a->y);
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        const hd_columns *c = a->columns[r];
        const hd_real *x = hd_row(a->x, r);
        hd_real *y = hd_row(a->y, r);
        for (size_t j = 0; j < c->count; j++) y[j] = x[c->from[j]];
        for (size_t j = c->count; j < wide; j++) y[j] = -INFINITY;
    }
}

hd_status hd_cpu_narrow(hd_backend *b, const hd_narrow_args *a)
{
    hd_team_run(((hd_cpu *)b)->team, hd_rows_of(a->y), hd_grain_rows(hd_cols_of(a->y)), narrow_part,
                (void *)a);
    return HD_OK;
}
