/* Convolution: the cells under each place of the window side by side (patches), times the weight, in chunks
   of rows, so that all patches never exist at once; backward makes them again. The columns of a patch are in
   the order row, column, channel, as cells lie in memory; the weight is brought into that order first. */
#include "op/op.h"

typedef struct opt {
    hd_grid_window window;
    const hd_seg *to, *from;
    hd_unary act;
} opt;

enum { X, W, BIAS, KEPT };

/* Columns of patches: whole eights where numbers are bf16, for products that read eight at a time. */
static size_t patch_columns(const hd_run *r, size_t cols)
{
    return r->backend->compute == HD_BF16 ? (cols + 7) / 8 * 8 : cols;
}

/* Rows of patches at a time, in whole tiles of every instruction set: on the cpu about a megabyte. */
static size_t chunk_rows(const hd_run *r, size_t cols, size_t rows)
{
    size_t most = r->backend->logits / 16 / (cols * hd_dtype_bytes(r->backend->compute)) / 24 * 24;
    if (most < 120) most = 120;
    return rows < most ? rows : most;
}

/* The weight in the order of patches; w itself where the two orders are the same. */
static hd_tensor *weight_of(hd_run *r, hd_tensor *w, size_t channels, size_t wide)
{
    size_t cells = hd_cols_of(w) / channels;
    if ((cells == 1 || channels == 1) && wide == hd_cols_of(w)) return w;
    hd_tensor *t = hd_new(r, hd_rows_of(w), wide);
    HD_CALL(r, transpose, .y = t, .x = w, .height = channels, .width = cells);
    return t;
}

static void conv_product(hd_run *r, const opt *o, hd_tensor *x, hd_tensor *w, hd_tensor *bias, hd_tensor *y,
                         hd_tensor *before)
{
    size_t rows = o->to->rows, wide = patch_columns(r, hd_cols_of(w)), chunk = chunk_rows(r, wide, rows);
    hd_arena_mark mark = hd_arena_here(&r->step);
    hd_tensor *t = weight_of(r, w, hd_cols_of(x), wide), *patches = hd_new(r, chunk, wide);
    for (size_t at = 0; t && patches && at < rows; at += chunk) {
        size_t n = rows - at < chunk ? rows - at : chunk;
        hd_tensor p = hd_view_rows(patches, 0, n), part = hd_view_rows(y, at, n),
                  kept = before ? hd_view_rows(before, at, n) : part;
        HD_CALL(r, patches, .y = &p, .x = x, .to = o->to, .from = o->from, .window = o->window, .first = at);
        HD_CALL(r, gemm, .y = &part, .a = &p, .b = t, .b_transposed = true, .bias = bias, .act = o->act,
                .before = before ? &kept : NULL);
    }
    hd_arena_rewind(&r->step, mark);
}

/* The rows of x that rows [at, at + n) of y read lie between *begin and *end. */
static void rows_read(const opt *o, size_t at, size_t n, size_t *begin, size_t *end)
{
    size_t to = 0, from = 0;
    *begin = *end = 0;
    for (size_t i = 0; i < o->to->items && to < at + n; i++) {
        const int32_t *in = o->from->host_grid + 2 * i, *out = o->to->host_grid + 2 * i;
        size_t cells = (size_t)in[0] * (size_t)in[1], places = (size_t)out[0] * (size_t)out[1];
        if (places && to + places > at) {
            size_t first = at > to ? at - to : 0, last = (at + n < to + places ? at + n - to : places) - 1;
            int64_t top = (int64_t)(first / (size_t)out[1]) * o->window.stride[0] - o->window.padding[0],
                    bottom = (int64_t)(last / (size_t)out[1]) * o->window.stride[0] - o->window.padding[0] +
                             o->window.kernel[0];
            top = top < 0 ? 0 : top > in[0] ? in[0] : top;
            bottom = bottom < 0 ? 0 : bottom > in[0] ? in[0] : bottom;
            if (!*end) *begin = from + (size_t)top * (size_t)in[1];
            *end = from + (size_t)bottom * (size_t)in[1];
        }
        to += places, from += cells;
    }
}

static void conv_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *x = n->in[X], *w = n->in[W], *dz = n->y->grad, *dw = hd_grad(r, w, NULL),
              *dbias = hd_grad(r, n->in[BIAS], NULL);
    if (o->act != HD_IDENTITY) /* in place: dy is not read after this */
        HD_CALL(r, unary_back, .dx = dz, .dy = dz, .kept = n->in[KEPT], .sums = dbias, .f = o->act);
    else if (dbias)
        HD_CALL(r, column_sum, .y = dbias, .x = dz);
    size_t rows = o->to->rows, channels = hd_cols_of(x), cols = hd_cols_of(w), wide = patch_columns(r, cols),
           chunk = chunk_rows(r, wide, rows);
    bool fresh, whole = chunk == rows;
    hd_tensor *dx = hd_grad(r, x, &fresh), *patches = hd_new(r, chunk, wide),
              *t = dx ? weight_of(r, w, channels, wide) : NULL,
              *dt = dw ? hd_new_reals(r, hd_rows_of(w), wide) : NULL;
    if (!patches || (dx && !t) || (dw && !dt)) return;
    if (dx && fresh && (!whole || !rows)) hd_clear(r, dx), fresh = false;
    if (dt && !rows) hd_clear(r, dt);
    for (size_t at = 0; at < rows; at += chunk) {
        size_t count = rows - at < chunk ? rows - at : chunk, begin = 0, end = hd_rows_of(x);
        hd_tensor p = hd_view_rows(patches, 0, count), d = hd_view_rows(dz, at, count);
        if (dt) {
            HD_CALL(r, patches, .y = &p, .x = x, .to = o->to, .from = o->from, .window = o->window,
                    .first = at);
            HD_CALL(r, gemm, .y = dt, .a = &d, .a_transposed = true, .b = &p, .add = at > 0);
        }
        if (!dx) continue;
        if (!whole) rows_read(o, at, count, &begin, &end);
        HD_CALL(r, gemm, .y = &p, .a = &d, .b = t);
        HD_CALL(r, patches_back, .dx = dx, .dy = &p, .to = o->to, .from = o->from, .window = o->window,
                .first = at, .begin = begin, .end = end, .add = !fresh);
    }
    if (dw)
        HD_CALL(r, transpose, .y = dw, .x = dt, .height = cols / channels, .width = channels, .add = true);
}

static bool conv_fits(hd_run *r, hd_rows x, const hd_tensor *w, const hd_tensor *bias, const hd_conv_opt *c)
{
    size_t cols = hd_cols_of(x.t) * (size_t)c->kernel[0] * (size_t)c->kernel[1];
    if (c->act >= HD_UNARIES)
        hd_fail(r, HD_EARG, "conv: there is no function %d", (int)c->act);
    else if (cols != hd_cols_of(w) || !cols)
        hd_fail(r, HD_ESHAPE, "conv: x has %zu columns, a window %d x %d cells, w takes %zu columns",
                hd_cols_of(x.t), c->kernel[0], c->kernel[1], hd_cols_of(w));
    else if (bias && hd_count_of(bias) != hd_rows_of(w))
        hd_fail(r, HD_ESHAPE, "conv: bias has %zu, w gives %zu columns", hd_count_of(bias), hd_rows_of(w));
    else
        return hd_seg_fits(r, "conv", x.t, x.seg, true);
    return false;
}

hd_rows hd_conv(hd_run *r, hd_rows x, hd_tensor *w, hd_tensor *bias, const hd_conv_opt *c)
{
    hd_rows none = {0};
    if (!x.t || !x.seg || !w) return none;
    opt o = {.window = {{c->kernel[0], c->kernel[1]},
                        {c->stride[0], c->stride[1]},
                        {c->padding[0], c->padding[1]}},
             .from = x.seg,
             .act = c->act};
    if (c->kernel[0] == 1 && c->kernel[1] == 1 && c->stride[0] == 1 && c->stride[1] == 1 && !c->padding[0] &&
        !c->padding[1] && x.seg->grid)
        return hd_rows_with(x, hd_linear(r, x.t, w, bias, c->act));
    o.to = hd_grid_under(r, "conv", x.seg, &o.window);
    if (!o.to || !conv_fits(r, x, w, bias, c)) return none;
    hd_tensor *y = hd_new(r, o.to->rows, hd_rows_of(w)),
              *before = r->taping && hd_unary_keeps_x(c->act) ? hd_new(r, o.to->rows, hd_rows_of(w)) : NULL;
    if (!y || r->err.status) return none;
    conv_product(r, &o, x.t, w, bias, y, before);
    return (hd_rows){hd_record_opt(r, y, NULL, conv_back, o, x.t, w, bias, before ? before : y), o.to};
}
