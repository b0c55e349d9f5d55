/* Pooling: one cell for the cells under each place of a window. */
#include "op/op.h"

typedef struct opt {
    hd_grid_window window;
    const hd_seg *to, *from;
    hd_grid_pool kind;
} opt;

enum { X, WHICH };

static void pool_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh);
    if (dx)
        HD_CALL(r, pool_back, .dx = dx, .dy = n->y->grad, .which = n->in[WHICH], .to = o->to, .from = o->from,
                .window = o->window, .kind = o->kind, .add = !fresh);
}

hd_rows hd_pool_grid(hd_run *r, hd_rows x, const hd_pool_opt *p)
{
    hd_rows none = {0};
    if (!x.t || !x.seg || !hd_seg_fits(r, "pool_grid", x.t, x.seg, true)) return none;
    opt o = {.window = {{p->kernel[0], p->kernel[1]},
                        {p->stride[0], p->stride[1]},
                        {p->padding[0], p->padding[1]}},
             .from = x.seg,
             .kind = p->kind};
    for (int i = 0; i < 2; i++)
        if (p->padding[i] > p->kernel[i] / 2)
            return hd_fail(r, HD_EARG, "pool_grid: padding %d of a window of %d cells: at most half of it",
                           p->padding[i], p->kernel[i]),
                   none;
    o.to = hd_grid_under(r, "pool_grid", x.seg, &o.window);
    if (!o.to) return none;
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x.t), o.to->rows, hd_cols_of(x.t));
    hd_tensor *which =
        r->taping && p->kind == HD_GRID_MAX ? hd_new_ints(r, o.to->rows, hd_cols_of(x.t)) : NULL;
    HD_CALL(r, pool, .y = y, .which = which, .x = x.t, .to = o.to, .from = o.from, .window = o.window,
            .kind = o.kind);
    return (hd_rows){hd_record_opt(r, y, NULL, pool_back, o, x.t, which), o.to};
}
