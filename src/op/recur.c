/* Recurrent cells over the segments' time: one op for all steps. The inputs' part of the gates is computed
   before by one product, and in backward the weight's gradient is one product over all rows as well. */
#include "op/op.h"

enum { Z, W, BIAS, START, KEPT };

/* dw += d^T before, db += sums of d: gates [from, from + d's columns) of the weight. */
static void weight_back(hd_run *r, const hd_tensor *dw, const hd_tensor *db, const hd_tensor *d,
                        const hd_tensor *before, size_t from)
{
    if (dw) {
        hd_tensor part = hd_view_rows(dw, from, hd_cols_of(d));
        HD_CALL(r, gemm, .y = &part, .a = d, .a_transposed = true, .b = before, .add = true);
    }
    if (db) {
        hd_tensor flat = hd_shaped(db->data, db->dtype, 2, (const size_t[]){1, hd_count_of(db)}),
                  part = hd_view_cols(&flat, from, hd_cols_of(d));
        HD_CALL(r, column_sum, .y = &part, .x = d);
    }
}

static bool whole(const hd_seg *seg, const hd_tensor *x)
{
    return seg->full && seg->rows == hd_rows_of(x);
}

static hd_tensor *cleared(hd_run *r, hd_tensor *t, bool clear)
{
    if (clear) hd_clear(r, t);
    return t;
}

static void recur_back(hd_run *r, const hd_node *n)
{
    const hd_recurrence *re = n->opt;
    hd_tensor *z = n->in[Z], *dw = hd_grad(r, n->in[W], NULL), *db = hd_grad(r, n->in[BIAS], NULL);
    size_t rows = hd_rows_of(z), width = hd_cols_of(n->in[W]);
    bool fresh, gaps = !whole(re->seg, z), gru = re->cell == HD_GRU;
    hd_tensor *to = hd_grad(r, z, &fresh), *d = to && fresh ? to : hd_like(r, z);
    hd_tensor *dn = gru ? hd_new_of(r, z->dtype, rows, width) : NULL,
              *before = dw ? hd_new_of(r, n->y->dtype, rows, width) : NULL;
    if (r->err.status) return;
    HD_CALL(r, recur_back, .dz = cleared(r, d, gaps), .dn = cleared(r, dn, gaps),
            .before = cleared(r, before, gaps), .dstart = hd_grad(r, n->in[START], NULL), .dy = n->y->grad,
            .dlast = n->also ? n->also->grad : NULL, .y = n->y, .kept = n->in[KEPT], .re = *re);
    if (to && to != d) HD_CALL(r, mix, .y = to, .x = d, .a = 1, .add = true);
    if (!gru) {
        weight_back(r, dw, db, d, before, 0);
        return;
    }
    hd_tensor gates = hd_view_cols(d, 0, 2 * width);
    weight_back(r, dw, db, &gates, before, 0);
    weight_back(r, dw, db, dn, before, 2 * width);
}

static bool fits(hd_run *r, hd_rows z, const hd_tensor *w, const hd_tensor *bias, const hd_tensor *start,
                 const hd_recur_opt *o)
{
    size_t width = hd_cols_of(w), gates = hd_cell_gates(o->cell), items = z.seg->items;
    if (o->cell == HD_RNN && o->act != HD_tanh && o->act != HD_sigmoid && o->act != HD_relu)
        return hd_fail(r, HD_EARG, "recur: a cell of %s, not of tanh, sigmoid or relu",
                       o->act < HD_UNARIES ? hd_unary_name(o->act) : "nothing known"),
               false;
    if (hd_rows_of(w) != gates * width || hd_cols_of(z.t) != gates * width)
        return hd_fail(r, HD_ESHAPE, "recur: z has %zu columns, w is %zu x %zu, the cell has %zu gates",
                       hd_cols_of(z.t), hd_rows_of(w), width, gates),
               false;
    if (bias && hd_count_of(bias) != gates * width)
        return hd_fail(r, HD_ESHAPE, "recur: bias has %zu, w gives %zu columns", hd_count_of(bias),
                       gates * width),
               false;
    size_t cols = start ? hd_cols_of(start) : width;
    if ((start && hd_rows_of(start) != items) || (cols != width && (o->cell != HD_LSTM || cols != 2 * width)))
        return hd_fail(r, HD_ESHAPE, "recur: a state of %zu x %zu for %zu items of width %zu",
                       start ? hd_rows_of(start) : items, cols, items, width),
               false;
    if (z.seg->overlap) return hd_fail(r, HD_EARG, "recur: segments overlap"), false;
    return hd_seg_fits(r, "recur", z.t, z.seg, false);
}

/* What a probe gets besides the result: the gates of every row. */
static void offer(hd_run *r, const hd_tensor *kept, const hd_recurrence *re)
{
    static const char *const names[][5] = {
        {NULL}, {"r", "z", "n", "hidden_n", NULL}, {"i", "f", "g", "o", "c"}};
    size_t width = hd_cols_of(re->w);
    for (size_t k = 0; r->probe && k < hd_cell_keeps(re->cell); k++) {
        hd_tensor one = hd_view_cols(kept, k * width, width);
        hd_probe_offer(r, names[re->cell][k], &one, re->seg);
    }
}

hd_rows hd_recur(hd_run *r, hd_rows z, hd_tensor *w, hd_tensor *bias, hd_tensor *start, const hd_recur_opt *o,
                 hd_tensor **last)
{
    hd_rows none = {0};
    if (last) *last = NULL;
    if (!z.t || !z.seg || !w || r->err.status || !fits(r, z, w, bias, start, o)) return none;
    size_t rows = hd_rows_of(z.t), width = hd_cols_of(w), keeps = hd_cell_keeps(o->cell);
    hd_recurrence re = {o->cell, o->act, o->reverse, w, bias, start, z.seg};
    hd_tensor *y = cleared(r, hd_new(r, rows, width), !whole(z.seg, z.t)); /* rows of no item get zeros */
    hd_tensor *end = last ? hd_new_reals(r, z.seg->items, (o->cell == HD_LSTM ? 2 : 1) * width) : NULL,
              *kept = keeps && (r->taping || r->probe) ? hd_new(r, rows, keeps * width) : NULL;
    if (r->err.status) return none;
    HD_CALL(r, recur, .y = y, .last = end, .kept = kept, .z = z.t, .re = re);
    if (r->err.status) return none;
    hd_probe_offer(r, "before", start, NULL);
    if (r->probe && kept) offer(r, kept, &re);
    y = hd_record_opt(r, y, end, recur_back, re, z.t, w, bias, start, kept);
    if (last) *last = y ? end : NULL;
    return hd_rows_with(z, y);
}
