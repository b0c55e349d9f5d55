/* One row per item from the rows of its segment. */
#include "op/op.h"

typedef struct opt {
    const hd_seg *seg;
    hd_reduction kind;
} opt;

static void reduce_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[0], NULL);
    if (dx)
        HD_CALL(r, reduce_back, .dx = dx, .dy = n->y->grad, .which = n->in[1], .seg = o->seg,
                .kind = o->kind);
}

hd_tensor *hd_reduce(hd_run *r, hd_tensor *x, const hd_seg *seg, hd_reduction kind)
{
    if (!x || !seg || !hd_seg_fits(r, "reduce", x, seg, false)) return NULL;
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), seg->items, hd_cols_of(x));
    hd_tensor *which = r->taping && kind == HD_MAX ? hd_new_ints(r, seg->items, hd_cols_of(x)) : NULL;
    HD_CALL(r, reduce, .y = y, .which = which, .x = x, .seg = seg, .kind = kind);
    opt o = {seg, kind};
    return hd_record_opt(r, y, NULL, reduce_back, o, x, which);
}
