/* Softmax and its logarithm, over rows and over segments. */
#include "op/op.h"

typedef struct opt {
    bool log;
    const hd_seg *seg; /* NULL: over the row */
} opt;

static void softmax_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    bool fresh;
    hd_tensor *dx =
        hd_grad(r, n->in[0], o->seg ? NULL : &fresh); /* rows outside every segment keep a gradient of zero */
    if (!dx) return;
    if (o->seg)
        HD_CALL(r, segment_softmax_back, .dx = dx, .dy = n->y->grad, .y = n->y, .seg = o->seg, .log = o->log,
                .add = true);
    else
        HD_CALL(r, softmax_back, .dx = dx, .dy = n->y->grad, .y = n->y, .log = o->log, .add = !fresh);
}

static hd_tensor *softmax_of(hd_run *r, hd_tensor *x, const hd_seg *seg, bool log)
{
    if (!x || !hd_seg_fits(r, "segment_softmax", x, seg, false)) return NULL;
    /* a logarithm in the compute type would be too coarse to rank sentences */
    hd_tensor *y = log ? hd_new_reals(r, hd_rows_of(x), hd_cols_of(x)) : hd_like(r, x);
    if (seg) hd_clear(r, y);
    if (seg)
        HD_CALL(r, segment_softmax, .y = y, .x = x, .seg = seg, .log = log);
    else
        HD_CALL(r, softmax, .y = y, .x = x, .log = log);
    opt o = {log, seg};
    return hd_record_opt(r, y, NULL, softmax_back, o, x);
}

hd_tensor *hd_softmax(hd_run *r, hd_tensor *x)
{
    return softmax_of(r, x, NULL, false);
}
hd_tensor *hd_log_softmax(hd_run *r, hd_tensor *x)
{
    return softmax_of(r, x, NULL, true);
}
hd_tensor *hd_segment_softmax(hd_run *r, hd_tensor *x, const hd_seg *seg)
{
    return seg ? softmax_of(r, x, seg, false) : NULL;
}
hd_tensor *hd_segment_log_softmax(hd_run *r, hd_tensor *x, const hd_seg *seg)
{
    return seg ? softmax_of(r, x, seg, true) : NULL;
}
