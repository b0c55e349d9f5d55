/* The weighted sum of what a row's experts gave. */
#include "op/op.h"

enum { X, WEIGHTS };

static void combine_back(hd_run *r, const hd_node *n)
{
    const hd_dispatch *d = n->opt;
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh), *dweights = hd_grad(r, n->in[WEIGHTS], NULL);
    if (dx || dweights)
        HD_CALL(r, combine_back, .dx = dx, .dweights = dweights, .dy = n->y->grad, .x = n->in[X],
                .weights = n->in[WEIGHTS], .place = d->place, .used = d->used, .add = !fresh);
}

hd_tensor *hd_combine_experts(hd_run *r, hd_tensor *x, hd_tensor *weights, const hd_dispatch *d)
{
    if (!x || !weights || !d) return NULL;
    if (hd_rows_of(x) != d->rows * (size_t)d->used || hd_rows_of(weights) != d->rows ||
        hd_cols_of(weights) != (size_t)d->used || weights->dtype != HD_REAL)
        return hd_fail(r, HD_ESHAPE, "combine: %zu rows and %zu x %zu weights, not %zu of %d experts",
                       hd_rows_of(x), hd_rows_of(weights), hd_cols_of(weights), d->rows, d->used);
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), d->rows, hd_cols_of(x));
    HD_CALL(r, combine, .y = y, .x = x, .weights = weights, .place = d->place, .used = d->used);
    return hd_record_opt(r, y, NULL, combine_back, *d, x, weights);
}
