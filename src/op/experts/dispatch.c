/* Rows sorted by expert, each as often as it has experts. Backward sums a row's gradients in the order of its
   experts. */
#include "op/op.h"

bool hd_dispatch_of(hd_run *r, hd_dispatch *d, const hd_tensor *ids, size_t experts, const hd_tensor *load)
{
    if (!ids || r->err.status) return false;
    size_t rows = hd_rows_of(ids), used = hd_cols_of(ids), each = rows * used;
    if (each > INT32_MAX)
        return hd_fail(r, HD_ESHAPE, "dispatch: %zu rows of %zu experts are too many", rows, used), false;
    int32_t *room = hd_step_take(r, (2 * each + experts + 1) * sizeof *room);
    if (!room) return false;
    *d = (hd_dispatch){room, room + experts + 1, room + experts + 1 + each, experts, rows, (int)used};
    HD_CALL(r, dispatch, .ids = ids, .begin = room, .token = room + experts + 1,
            .place = room + experts + 1 + each, .experts = experts, .load = load);
    return !r->err.status;
}

static void rows_back(hd_run *r, const hd_node *n)
{
    const hd_dispatch *d = n->opt;
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[0], &fresh);
    if (dx) HD_CALL(r, combine, .y = dx, .x = n->y->grad, .place = d->place, .used = d->used, .add = !fresh);
}

hd_tensor *hd_dispatch_rows(hd_run *r, hd_tensor *x, const hd_dispatch *d)
{
    if (!x || !d) return NULL;
    if (hd_rows_of(x) != d->rows)
        return hd_fail(r, HD_ESHAPE, "dispatch: %zu rows, not %zu", hd_rows_of(x), d->rows);
    size_t each = d->rows * (size_t)d->used;
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), each, hd_cols_of(x));
    HD_CALL(r, gather, .y = y, .x = x, .index = d->token, .scale = 1);
    return hd_record_opt(r, y, NULL, rows_back, *d, x);
}
