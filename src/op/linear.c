/* Linear maps with bias and activation in the same pass. */
#include "op/op.h"

typedef struct opt {
    hd_unary act;
    bool by_output; /* w is [out, in] */
    hd_draw draw;
} opt;

enum { X, W, BIAS, KEPT };

static void linear_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dz = n->y->grad, *dw = hd_grad(r, n->in[W], NULL), *dbias = hd_grad(r, n->in[BIAS], NULL);
    if (o->act != HD_IDENTITY || o->draw.p > 0) /* in place: dy is not read after this */
        HD_CALL(r, unary_back, .dx = dz, .dy = dz, .kept = n->in[KEPT], .sums = dbias, .f = o->act,
                .draw = o->draw);
    else if (dbias)
        HD_CALL(r, column_sum, .y = dbias, .x = dz);
    if (dw && o->by_output)
        HD_CALL(r, gemm, .y = dw, .a = dz, .a_transposed = true, .b = n->in[X], .add = true);
    if (dw && !o->by_output)
        HD_CALL(r, gemm, .y = dw, .a = n->in[X], .a_transposed = true, .b = dz, .add = true);
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh);
    if (dx) HD_CALL(r, gemm, .y = dx, .a = dz, .b = n->in[W], .b_transposed = !o->by_output, .add = !fresh);
}

static hd_tensor *linear(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, hd_unary act, hd_draw draw)
{
    if (!x || !w) return NULL;
    if (act >= HD_UNARIES) return hd_fail(r, HD_EARG, "linear: there is no function %d", (int)act);
    if (hd_cols_of(x) != hd_cols_of(w))
        return hd_fail(r, HD_ESHAPE, "linear: x has %zu columns, w takes %zu", hd_cols_of(x), hd_cols_of(w));
    if (bias && bias->dtype != HD_REAL && bias->wants_grad)
        return hd_fail(r, HD_ESHAPE, "linear: a bias with a gradient is in f32");
    if (bias && hd_count_of(bias) != hd_rows_of(w))
        return hd_fail(r, HD_ESHAPE, "linear: bias has %zu, w gives %zu columns", hd_count_of(bias),
                       hd_rows_of(w));
    hd_tensor *y = hd_new(r, hd_rows_of(x), hd_rows_of(w));
    hd_tensor *before = r->taping && hd_unary_keeps_x(act) ? hd_new(r, hd_rows_of(x), hd_rows_of(w)) : NULL;
    HD_CALL(r, gemm, .y = y, .a = x, .b = w, .b_transposed = true, .bias = bias, .act = act, .before = before,
            .draw = draw);
    opt o = {act, true, draw};
    return hd_record_opt(r, y, NULL, linear_back, o, x, w, bias, before ? before : y);
}

hd_tensor *hd_linear(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, hd_unary act)
{
    return linear(r, x, w, bias, act, (hd_draw){0});
}

hd_tensor *hd_linear_output(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias)
{
    hd_tensor *y = hd_linear(r, x, w, bias, HD_IDENTITY);
    if (!y || r->err.status || r->taping || !r->backend->rescore) return y;
    hd_status s = r->backend->rescore(r->backend, &(hd_rescore_args){y, x, w, bias, NULL});
    if (s) hd_call_failed(r, s, "rescore");
    return y;
}

hd_tensor *hd_linear_narrow(hd_run *r, hd_tensor *x, const hd_narrowed *w)
{
    if (!r->backend->narrow)
        return hd_fail(r, HD_EMISSING, "a shortlist needs the CPU: use --device cpu, or leave it out");
    hd_tensor *all = hd_linear(r, x, w->part, w->part_bias, HD_IDENTITY);
    if (!all || r->err.status) return NULL;
    hd_tensor *y = hd_new(r, hd_rows_of(x), w->wide);
    if (!y) return NULL;
    hd_status s = r->backend->narrow(r->backend, &(hd_narrow_args){y, all, w->columns});
    if (!s && r->backend->rescore)
        s = r->backend->rescore(r->backend, &(hd_rescore_args){y, x, w->whole, w->bias, w->columns});
    if (s) hd_call_failed(r, s, "narrow");
    return y;
}

/* In the same pass only if backward does not need the value before dropout. */
hd_tensor *hd_linear_dropout(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, hd_unary act, float p,
                             const hd_seg *seg)
{
    if (act != HD_relu && !hd_unary_keeps_x(act)) return hd_dropout(r, hd_linear(r, x, w, bias, act), p, seg);
    if (!x || !hd_seg_fits(r, "linear", x, seg, true)) return NULL;
    if (!(p >= 0 && p < 1)) return hd_fail(r, HD_EARG, "linear: dropout %g is not in [0, 1)", (double)p);
    return linear(r, x, w, bias, act, hd_draw_next(r, p, seg));
}

hd_tensor *hd_matmul(hd_run *r, hd_tensor *x, hd_tensor *w)
{
    if (!x || !w) return NULL;
    if (hd_cols_of(x) != hd_rows_of(w))
        return hd_fail(r, HD_ESHAPE, "matmul: x has %zu columns, w takes %zu", hd_cols_of(x), hd_rows_of(w));
    hd_tensor *y = hd_new(r, hd_rows_of(x), hd_cols_of(w));
    HD_CALL(r, gemm, .y = y, .a = x, .b = w);
    opt o = {.act = HD_IDENTITY};
    return hd_record_opt(r, y, NULL, linear_back, o, x, w);
}

/* -- low-rank parts, which go to some columns of the result in the same buffer -- */

enum { PARTS = BIAS + 1, EACH = 2, MOST = 4 };

typedef struct parts_opt {
    size_t parts, at[MOST];
} parts_opt;

static void low_rank_back(hd_run *r, const hd_node *n)
{
    const parts_opt *o = n->opt;
    hd_tensor *dz = n->y->grad, *dw = hd_grad(r, n->in[W], NULL), *dbias = hd_grad(r, n->in[BIAS], NULL);
    bool fresh;
    if (dbias) HD_CALL(r, column_sum, .y = dbias, .x = dz);
    if (dw) HD_CALL(r, gemm, .y = dw, .a = dz, .a_transposed = true, .b = n->in[X], .add = true);
    for (size_t i = 0; i < o->parts; i++) {
        hd_tensor *h = n->in[PARTS + EACH * i], *b = n->in[PARTS + EACH * i + 1], *db = hd_grad(r, b, NULL);
        hd_tensor dy = hd_view_cols(dz, o->at[i], hd_rows_of(b));
        if (db) HD_CALL(r, gemm, .y = db, .a = &dy, .a_transposed = true, .b = h, .add = true);
        hd_tensor *dh = hd_grad(r, h, &fresh);
        if (dh) HD_CALL(r, gemm, .y = dh, .a = &dy, .b = b, .add = !fresh);
    }
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh);
    if (dx) HD_CALL(r, gemm, .y = dx, .a = dz, .b = n->in[W], .add = !fresh);
}

static bool part_fits(hd_run *r, const hd_tensor *x, const hd_tensor *w, const hd_low_rank *p)
{
    if (hd_rows_of(p->h) == hd_rows_of(x) && hd_cols_of(p->h) == hd_cols_of(p->b) &&
        p->at + hd_rows_of(p->b) <= hd_rows_of(w))
        return true;
    hd_fail(r, HD_ESHAPE, "low rank: %zu x %zu by %zu x %zu does not fit at column %zu of %zu",
            hd_rows_of(p->h), hd_cols_of(p->h), hd_rows_of(p->b), hd_cols_of(p->b), p->at, hd_rows_of(w));
    return false;
}

hd_tensor *hd_linear_low_rank(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias, const hd_low_rank *part,
                              size_t parts)
{
    parts_opt o = {.parts = parts};
    hd_tensor *in[PARTS + EACH * MOST] = {x, w, bias};
    if (!x || !w || r->err.status) return NULL;
    if (parts > MOST) return hd_fail(r, HD_EARG, "low rank: %zu parts are too many", parts);
    if (hd_cols_of(x) != hd_cols_of(w) || (bias && hd_count_of(bias) != hd_rows_of(w)))
        return hd_fail(r, HD_ESHAPE, "low rank: x has %zu columns, w takes %zu and gives %zu", hd_cols_of(x),
                       hd_cols_of(w), hd_rows_of(w));
    hd_tensor *y = hd_new(r, hd_rows_of(x), hd_rows_of(w));
    HD_CALL(r, gemm, .y = y, .a = x, .b = w, .b_transposed = true, .bias = bias);
    for (size_t i = 0; y && i < parts; i++) {
        const hd_low_rank *p = &part[i];
        if (!p->h || !part_fits(r, x, w, p)) return NULL;
        hd_tensor to = hd_view_cols(y, p->at, hd_rows_of(p->b));
        HD_CALL(r, gemm, .y = &to, .a = p->h, .b = p->b, .b_transposed = true, .add = true);
        in[PARTS + EACH * i] = p->h, in[PARTS + EACH * i + 1] = p->b, o.at[i] = p->at;
    }
    return hd_record_node(r, y, NULL, low_rank_back, &o, sizeof o, false, in, PARTS + EACH * parts);
}
