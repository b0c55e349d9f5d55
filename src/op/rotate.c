/* Rotary positions. The way back is the rotation by the negative angles, of the gradient in place. */
#include "op/op.h"

typedef struct opt {
    hd_rotation by;
    const int32_t *pos;
    size_t heads;
} opt;

static void rotate_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    HD_CALL(r, rotate, .x = n->y->grad, .pos = o->pos, .by = &o->by, .heads = (int)o->heads, .back = true);
    hd_grad_pass(r, n->in[0], n->y);
}

hd_tensor *hd_rotate(hd_run *r, hd_tensor *x, const int32_t *pos, const hd_rotation *by, size_t heads)
{
    if (!x) return NULL;
    if (!pos) return hd_fail(r, HD_EARG, "rotate: rows without positions");
    size_t width = (size_t)by->width;
    if (!width || heads > hd_cols_of(x) / width)
        return hd_fail(r, HD_ESHAPE, "rotate: %zu columns are not %zu heads of %zu", hd_cols_of(x), heads,
                       width);
    hd_tensor *y = hd_host_take(r, sizeof *y);
    if (!y) return NULL;
    *y = hd_shaped(x->data, x->dtype, 2, (const size_t[]){hd_rows_of(x), hd_cols_of(x)});
    y->stride = x->stride;
    HD_CALL(r, rotate, .x = y, .pos = pos, .by = by, .heads = (int)heads);
    opt o = {*by, pos, heads};
    return hd_record_opt(r, y, NULL, rotate_back, o, x);
}
