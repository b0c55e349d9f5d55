/* Sums, products, elementwise functions, dropout, noise. z may be one row (all) or one column (mul). */
#include "op/op.h"

static bool fits(hd_run *r, const char *op, const hd_tensor *x, const hd_tensor *z, bool column)
{
    char a[64], b[64];
    bool row = hd_rows_of(z) == 1 && hd_cols_of(z) == hd_cols_of(x);
    bool col = column && hd_cols_of(z) == 1 && hd_rows_of(z) == hd_rows_of(x);
    bool same = hd_rows_of(x) == hd_rows_of(z) && hd_cols_of(x) == hd_cols_of(z);
    if (!same && !row && !col)
        hd_fail(r, HD_ESHAPE, "%s: %s and %s do not fit", op, hd_shape_text(x, a, sizeof a),
                hd_shape_text(z, b, sizeof b));
    return same || row || col;
}

typedef struct mix_opt {
    float a, b;
} mix_opt;

static void mix_back(hd_run *r, const hd_node *n)
{
    const mix_opt *o = n->opt;
    hd_tensor *x = n->in[0], *z = n->in[1], *dy = n->y->grad;
    bool fresh, one_row = z && hd_rows_of(z) == 1 && hd_rows_of(dy) > 1;
    hd_tensor *dz = z ? hd_grad(r, z, one_row ? NULL : &fresh) : NULL;
    if (dz && one_row) {
        hd_tensor *signed_dy = dy;
        if (o->b != 1) {
            signed_dy = hd_like(r, dy);
            HD_CALL(r, mix, .y = signed_dy, .x = dy, .a = o->b);
        }
        HD_CALL(r, column_sum, .y = dz, .x = signed_dy);
    } else if (dz) {
        HD_CALL(r, mix, .y = dz, .x = dy, .a = o->b, .add = !fresh);
    }
    if (o->a == 1) {
        hd_grad_pass(r, x, n->y);
        return;
    }
    hd_tensor *dx = hd_grad(r, x, &fresh);
    if (dx) HD_CALL(r, mix, .y = dx, .x = dy, .a = o->a, .add = !fresh);
}

static hd_tensor *mixed(hd_run *r, hd_tensor *x, hd_tensor *z, float a, float b)
{
    hd_tensor *y = hd_like(r, x);
    HD_CALL(r, mix, .y = y, .x = x, .z = z, .a = a, .b = b);
    mix_opt o = {a, b};
    return hd_record_opt(r, y, NULL, mix_back, o, x, z);
}

hd_tensor *hd_add(hd_run *r, hd_tensor *x, hd_tensor *z)
{
    return x && z && fits(r, "add", x, z, false) ? mixed(r, x, z, 1, 1) : NULL;
}
hd_tensor *hd_sub(hd_run *r, hd_tensor *x, hd_tensor *z)
{
    return x && z && fits(r, "sub", x, z, false) ? mixed(r, x, z, 1, -1) : NULL;
}
hd_tensor *hd_scale(hd_run *r, hd_tensor *x, float by)
{
    return x ? mixed(r, x, NULL, by, 0) : NULL;
}

static void mul_back(hd_run *r, const hd_node *n)
{
    hd_tensor *x = n->in[0], *z = n->in[1], *dy = n->y->grad;
    bool fresh;
    hd_tensor *dx = hd_grad(r, x, &fresh);
    if (dx) HD_CALL(r, mul, .y = dx, .x = dy, .z = z, .add = !fresh);
    bool row = hd_rows_of(z) < hd_rows_of(x), col = hd_cols_of(z) < hd_cols_of(x);
    hd_tensor *dz = hd_grad(r, z, row || col ? NULL : &fresh);
    if (!dz) return;
    if (!row && !col) {
        HD_CALL(r, mul, .y = dz, .x = dy, .z = x, .add = !fresh);
        return;
    }
    hd_tensor *p = hd_like(r, dy);
    HD_CALL(r, mul, .y = p, .x = dy, .z = x);
    if (row) {
        HD_CALL(r, column_sum, .y = dz, .x = p);
    } else { /* one column: sums over rows' columns are a product with ones */
        hd_tensor *ones = hd_ones(r, hd_cols_of(p), 1);
        HD_CALL(r, gemm, .y = dz, .a = p, .b = ones, .add = true);
    }
}

hd_tensor *hd_mul(hd_run *r, hd_tensor *x, hd_tensor *z)
{
    if (!x || !z || !fits(r, "mul", x, z, true)) return NULL;
    hd_tensor *y = hd_like(r, x);
    HD_CALL(r, mul, .y = y, .x = x, .z = z);
    return hd_record(r, y, mul_back, x, z);
}

static void unary_back(hd_run *r, const hd_node *n)
{
    hd_unary f = *(const hd_unary *)n->opt;
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[0], &fresh);
    if (dx)
        HD_CALL(r, unary_back, .dx = dx, .dy = n->y->grad, .kept = hd_unary_keeps_x(f) ? n->in[0] : n->y,
                .f = f, .add = !fresh);
}

hd_tensor *hd_apply(hd_run *r, hd_tensor *x, hd_unary f)
{
    if (!x) return NULL;
    if (f <= HD_IDENTITY || f >= HD_UNARIES)
        return f == HD_IDENTITY ? x : hd_fail(r, HD_EARG, "apply: there is no function %d", (int)f);
    hd_tensor *y = hd_like(r, x);
    HD_CALL(r, unary, .y = y, .x = x, .f = f);
    return hd_record_opt(r, y, NULL, unary_back, f, x);
}

static void gated_back(hd_run *r, const hd_node *n)
{
    hd_tensor *x = n->in[0];
    size_t half = hd_cols_of(x) / 2;
    bool fresh;
    hd_tensor *dx = hd_grad(r, x, &fresh);
    if (!dx) return;
    hd_tensor left = hd_view_cols(x, 0, half), right = hd_view_cols(x, half, half),
              dleft = hd_view_cols(dx, 0, half), dright = hd_view_cols(dx, half, half);
    HD_CALL(r, gate_back, .dx = &dleft, .dz = &dright, .dy = n->y->grad, .x = &left, .z = &right,
            .f = *(const hd_unary *)n->opt, .add = !fresh);
}

hd_tensor *hd_gated(hd_run *r, hd_tensor *x, hd_unary f)
{
    if (!x) return NULL;
    if (hd_cols_of(x) % 2)
        return hd_fail(r, HD_ESHAPE, "gated: %zu columns are not two halves", hd_cols_of(x));
    if (f >= HD_UNARIES) return hd_fail(r, HD_EARG, "gated: there is no function %d", (int)f);
    size_t half = hd_cols_of(x) / 2;
    hd_tensor left = hd_view_cols(x, 0, half), right = hd_view_cols(x, half, half);
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), hd_rows_of(x), half);
    HD_CALL(r, gate, .y = y, .x = &left, .z = &right, .f = f);
    return hd_record_opt(r, y, NULL, gated_back, f, x);
}

static void dropout_back(hd_run *r, const hd_node *n)
{
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[0], &fresh);
    if (dx) HD_CALL(r, dropout, .y = dx, .x = n->y->grad, .draw = *(const hd_draw *)n->opt, .add = !fresh);
}

hd_tensor *hd_dropout(hd_run *r, hd_tensor *x, float p, const hd_seg *seg)
{
    if (!x) return NULL;
    if (!(p >= 0 && p < 1)) return hd_fail(r, HD_EARG, "dropout: %g is not in [0, 1)", (double)p);
    if (!hd_seg_fits(r, "dropout", x, seg, true)) return NULL;
    hd_draw draw = hd_draw_next(r, p, seg);
    if (draw.p <= 0) return x;
    hd_tensor *y = hd_like(r, x);
    HD_CALL(r, dropout, .y = y, .x = x, .draw = draw);
    return hd_record_opt(r, y, NULL, dropout_back, draw, x);
}

static void gumbel_back(hd_run *r, const hd_node *n)
{
    hd_grad_pass(r, n->in[0], n->y);
}

hd_tensor *hd_gumbel(hd_run *r, hd_tensor *x, const hd_seg *seg)
{
    if (!x || !hd_seg_fits(r, "gumbel", x, seg, true)) return NULL;
    hd_tensor *y = hd_like(r, x);
    HD_CALL(r, gumbel, .y = y, .x = x, .draw = hd_draw_next(r, 0, seg));
    return hd_record(r, y, gumbel_back, x);
}
