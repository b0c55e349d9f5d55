/* Ops that move rows. What gathers forward scatters backward and the other way round. */
#include "op/op.h"

typedef struct index_opt {
    const int32_t *index;
    float scale;
} index_opt;

static void gather_back(hd_run *r, const hd_node *n)
{
    const index_opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[0], NULL);
    if (dx) HD_CALL(r, scatter, .y = dx, .x = n->y->grad, .index = o->index, .scale = o->scale, .add = true);
}

hd_tensor *hd_gather(hd_run *r, hd_tensor *x, const int32_t *index, size_t count, float scale)
{
    if (!x || !index) return NULL;
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), count, hd_cols_of(x));
    HD_CALL(r, gather, .y = y, .x = x, .index = index, .scale = scale);
    index_opt o = {index, scale};
    return hd_record_opt(r, y, NULL, gather_back, o, x);
}

/* y and its sum share memory: y's own node must not need its value, which holds for gathers. */
static void gather_add_back(hd_run *r, const hd_node *n)
{
    const index_opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[1], NULL);
    if (dx) HD_CALL(r, scatter, .y = dx, .x = n->y->grad, .index = o->index, .scale = 1, .add = true);
    hd_grad_pass(r, n->in[0], n->y);
}

hd_tensor *hd_gather_add(hd_run *r, hd_tensor *y, hd_tensor *x, const int32_t *index)
{
    if (!x || !y || !index) return NULL;
    if (hd_cols_of(x) != hd_cols_of(y))
        return hd_fail(r, HD_ESHAPE, "gather_add: %zu and %zu columns", hd_cols_of(y), hd_cols_of(x));
    hd_tensor *sum = hd_host_take(r, sizeof *sum);
    if (!sum) return NULL;
    *sum = hd_shaped(y->data, y->dtype, 2, (const size_t[]){hd_rows_of(y), hd_cols_of(y)});
    sum->stride = y->stride;
    HD_CALL(r, gather, .y = sum, .x = x, .index = index, .scale = 1, .add = true);
    index_opt o = {index, 1};
    return hd_record_opt(r, sum, NULL, gather_add_back, o, y, x);
}

static void scatter_back(hd_run *r, const hd_node *n)
{
    const index_opt *o = n->opt;
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[0], &fresh);
    if (dx) HD_CALL(r, gather, .y = dx, .x = n->y->grad, .index = o->index, .scale = 1, .add = !fresh);
}

hd_tensor *hd_scatter(hd_run *r, hd_tensor *x, const int32_t *index, size_t rows)
{
    if (!x || !index) return NULL;
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), rows, hd_cols_of(x));
    hd_clear(r, y);
    HD_CALL(r, scatter, .y = y, .x = x, .index = index, .scale = 1, .add = true);
    index_opt o = {index, 1};
    return hd_record_opt(r, y, NULL, scatter_back, o, x);
}

typedef struct concat_opt {
    size_t count;
    bool by_rows;
} concat_opt;

static hd_tensor part_of(const hd_tensor *whole, const hd_tensor *x, size_t *at, bool by_rows)
{
    size_t n = by_rows ? hd_rows_of(x) : hd_cols_of(x);
    hd_tensor part = by_rows ? hd_view_rows(whole, *at, n) : hd_view_cols(whole, *at, n);
    *at += n;
    return part;
}

static void concat_back(hd_run *r, const hd_node *n)
{
    const concat_opt *o = n->opt;
    size_t at = 0;
    for (size_t i = 0; i < o->count; i++) {
        hd_tensor part = part_of(n->y->grad, n->in[i], &at, o->by_rows);
        bool fresh;
        hd_tensor *dx = hd_grad(r, n->in[i], &fresh);
        if (dx) HD_CALL(r, mix, .y = dx, .x = &part, .a = 1, .add = !fresh);
    }
}

static hd_tensor *concat(hd_run *r, hd_tensor *const *x, size_t count, bool by_rows)
{
    size_t rows = 0, cols = 0;
    if (!count) return hd_fail(r, HD_EARG, "concat: 0 parts");
    for (size_t i = 0; i < count; i++) {
        if (!x[i]) return NULL;
        if (by_rows ? hd_cols_of(x[i]) != hd_cols_of(x[0]) : hd_rows_of(x[i]) != hd_rows_of(x[0]))
            return hd_fail(r, HD_ESHAPE, "concat: part %zu is %zu x %zu, the first %zu x %zu", i,
                           hd_rows_of(x[i]), hd_cols_of(x[i]), hd_rows_of(x[0]), hd_cols_of(x[0]));
        rows = by_rows ? rows + hd_rows_of(x[i]) : hd_rows_of(x[i]);
        cols = by_rows ? hd_cols_of(x[i]) : cols + hd_cols_of(x[i]);
    }
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x[0]), rows, cols);
    if (!y) return NULL;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        hd_tensor part = part_of(y, x[i], &at, by_rows);
        HD_CALL(r, mix, .y = &part, .x = x[i], .a = 1);
    }
    concat_opt o = {count, by_rows};
    return hd_record_node(r, y, NULL, concat_back, &o, sizeof o, false, x, count);
}

hd_tensor *hd_concat_rows(hd_run *r, hd_tensor *const *x, size_t count)
{
    return concat(r, x, count, true);
}
hd_tensor *hd_concat_cols(hd_run *r, hd_tensor *const *x, size_t count)
{
    return concat(r, x, count, false);
}

/* The gradient is handed on as it is where x has none yet. */
static void reshape_back(hd_run *r, const hd_node *n)
{
    hd_tensor *x = n->in[0], *dy = n->y->grad;
    hd_tensor d = hd_shaped(dy->data, dy->dtype, 2, (const size_t[]){hd_rows_of(x), hd_cols_of(x)});
    if (!x->grad && !x->base && !x->is_param) {
        *dy = d, x->grad = dy, n->y->grad = NULL;
        return;
    }
    hd_tensor *dx = hd_grad(r, x, NULL);
    if (dx) HD_CALL(r, mix, .y = dx, .x = &d, .a = 1, .add = true);
}

hd_tensor *hd_reshape(hd_run *r, hd_tensor *x, size_t rows, size_t cols)
{
    if (!x) return NULL;
    if (rows * cols != hd_count_of(x) || (x->stride != hd_cols_of(x) && hd_rows_of(x) > 1))
        return hd_fail(r, HD_ESHAPE, "reshape: %zu x %zu, %zu numbers apart, as %zu x %zu", hd_rows_of(x),
                       hd_cols_of(x), x->stride, rows, cols);
    hd_tensor *y = hd_host_take(r, sizeof *y);
    if (!y) return NULL;
    *y = hd_shaped(x->data, x->dtype, 2, (const size_t[]){rows, cols});
    return hd_record(r, y, reshape_back, x);
}

static void broadcast_back(hd_run *r, const hd_node *n)
{
    const hd_seg *seg = *(const hd_seg *const *)n->opt;
    hd_tensor *dx = hd_grad(r, n->in[0], NULL);
    if (dx) HD_CALL(r, scatter, .y = dx, .x = n->y->grad, .index = seg->item, .scale = 1, .add = true);
}

hd_tensor *hd_broadcast(hd_run *r, hd_tensor *x, const hd_seg *seg)
{
    if (!x || !seg) return NULL;
    if (hd_rows_of(x) != seg->items || !seg->item)
        return hd_fail(r, HD_ESHAPE, "broadcast: %zu rows for %zu items", hd_rows_of(x), seg->items);
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x), seg->rows, hd_cols_of(x));
    HD_CALL(r, gather, .y = y, .x = x, .index = seg->item, .scale = 1);
    return hd_record_opt(r, y, NULL, broadcast_back, seg, x);
}
