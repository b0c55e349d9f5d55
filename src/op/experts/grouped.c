/* x w^T of rows sorted by expert, w being the experts' weights one below the other. Experts without rows are
   not touched, neither forward nor back. */
#include "op/op.h"

enum { X, W };

static void grouped_back(hd_run *r, const hd_node *n)
{
    const hd_dispatch *d = n->opt;
    hd_tensor *dy = n->y->grad, *dw = hd_grad(r, n->in[W], NULL);
    if (dw)
        HD_CALL(r, grouped_outer, .y = dw, .a = dy, .b = n->in[X], .begin = d->begin, .experts = d->experts);
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh);
    if (dx)
        HD_CALL(r, grouped, .y = dx, .a = dy, .b = n->in[W], .begin = d->begin, .experts = d->experts,
                .add = !fresh);
}

hd_tensor *hd_grouped_linear(hd_run *r, hd_tensor *x, hd_tensor *w, const hd_tensor *const *each,
                             const hd_dispatch *d)
{
    if (!x || !w || !d) return NULL;
    if (hd_cols_of(x) != hd_cols_of(w) || hd_rows_of(w) % d->experts)
        return hd_fail(r, HD_ESHAPE, "grouped_linear: x has %zu columns, w is %zu x %zu for %zu experts",
                       hd_cols_of(x), hd_rows_of(w), hd_cols_of(w), d->experts);
    if (hd_rows_of(x) != d->rows * (size_t)d->used)
        return hd_fail(r, HD_ESHAPE, "grouped_linear: %zu rows, not %zu of %d experts", hd_rows_of(x),
                       d->rows, d->used);
    hd_tensor *y = hd_new(r, hd_rows_of(x), hd_rows_of(w) / d->experts);
    HD_CALL(r, grouped, .y = y, .a = x, .b = w, .each = each, .begin = d->begin, .experts = d->experts,
            .b_transposed = true);
    return hd_record_opt(r, y, NULL, grouped_back, *d, x, w);
}
