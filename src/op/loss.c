/* Losses. Each is a start of backward: its gradient is coef times that of the sum over rows; nothing is
 * divided here. */
#include "op/op.h"

#include <math.h>

#include "base/mem.h"

typedef struct opt {
    const int32_t *target;
    float smoothing, coef;
    hd_distance_kind kind;
    hd_policy_opt policy;
} opt;

enum { X, WEIGHT, TARGET, POLICY = TARGET };

static bool weight_fits(hd_run *r, const char *op, const hd_tensor *x, const hd_loss_opt *o)
{
    if (o->smoothing < 0 || o->smoothing >= 1)
        return hd_fail(r, HD_EARG, "%s: smoothing %g is not in [0, 1)", op, (double)o->smoothing) != NULL;
    if (o->policy_rows &&
        (hd_rows_of(o->policy_rows) != hd_rows_of(x) || hd_cols_of(o->policy_rows) != HD_POLICY_COLUMNS))
        return hd_fail(r, HD_ESHAPE, "%s: %zu x %zu of a policy for %zu rows", op, hd_rows_of(o->policy_rows),
                       hd_cols_of(o->policy_rows), hd_rows_of(x)) != NULL;
    if (o->policy_rows && o->smoothing > 0)
        return hd_fail(r, HD_EARG, "%s: a policy has no smoothing", op) != NULL;
    if (!o->weight || (hd_rows_of(o->weight) == hd_rows_of(x) && hd_cols_of(o->weight) == 1)) return true;
    return hd_fail(r, HD_ESHAPE, "%s: %zu weights for %zu rows", op, hd_count_of(o->weight), hd_rows_of(x)) !=
           NULL;
}

static void cross_entropy_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh);
    if (dx)
        HD_CALL(r, cross_entropy, .dx = dx, .x = n->in[X], .target = o->target, .weight = n->in[WEIGHT],
                .policy_rows = n->in[POLICY], .policy = o->policy, .smoothing = o->smoothing, .coef = o->coef,
                .add = !fresh);
}

hd_tensor *hd_cross_entropy(hd_run *r, hd_tensor *x, const int32_t *target, const hd_loss_opt *l)
{
    if (!x || !target || !weight_fits(r, "cross_entropy", x, l)) return NULL;
    hd_tensor *loss = hd_new_reals(r, hd_rows_of(x), 1),
              *logp = l->logp ? hd_new_reals(r, hd_rows_of(x), 1) : NULL;
    HD_CALL(r, cross_entropy, .loss = loss, .logp = logp, .x = x, .target = target, .weight = l->weight,
            .policy_rows = l->policy_rows, .policy = l->policy, .smoothing = l->smoothing);
    if (l->logp) *l->logp = logp;
    opt o = {.target = target, .smoothing = l->smoothing, .coef = l->coef, .policy = l->policy};
    return hd_record_start(r, loss, cross_entropy_back, o, x, l->weight, l->policy_rows);
}

/* z = cap * tanh(z / cap); t keeps the tanh for the way back. */
static void cap_logits(hd_run *r, const hd_tensor *z, const hd_tensor *t, float cap)
{
    HD_CALL(r, mix, .y = t, .x = z, .a = 1 / cap);
    HD_CALL(r, unary, .y = t, .x = t, .f = HD_tanh);
    HD_CALL(r, mix, .y = z, .x = t, .a = cap);
}

/* Rows of logits that exist at a time, in whole tiles of every instruction set. */
static size_t chunk_rows(const hd_run *r, size_t classes)
{
    size_t rows = r->backend->logits / (classes * hd_dtype_bytes(r->backend->compute)) / 24 * 24;
    return rows > 120 ? rows : 120;
}

hd_tensor *hd_linear_cross_entropy(hd_run *r, hd_tensor *x, hd_tensor *w, hd_tensor *bias,
                                   const int32_t *target, const hd_loss_opt *l)
{
    if (!x || !w || !target || !weight_fits(r, "linear_cross_entropy", x, l)) return NULL;
    if (hd_cols_of(x) != hd_cols_of(w))
        return hd_fail(r, HD_ESHAPE, "linear_cross_entropy: x has %zu columns, w takes %zu", hd_cols_of(x),
                       hd_cols_of(w));
    if (bias && hd_count_of(bias) != hd_rows_of(w))
        return hd_fail(r, HD_ESHAPE, "linear_cross_entropy: bias has %zu, w gives %zu", hd_count_of(bias),
                       hd_rows_of(w));
    size_t rows = hd_rows_of(x), most = l->chunk ? l->chunk : chunk_rows(r, hd_rows_of(w));
    if (rows < most) most = rows;
    hd_tensor *loss = hd_new_reals(r, rows, 1), *logp = l->logp ? hd_new_reals(r, rows, 1) : NULL;
    bool back = r->taping && (x->wants_grad || w->wants_grad || (bias && bias->wants_grad)), fresh = false;
    hd_tensor *dx = back ? hd_grad(r, x, &fresh) : NULL, *dw = back ? hd_grad(r, w, NULL) : NULL,
              *dbias = back ? hd_grad(r, bias, NULL) : NULL;
    hd_arena_mark mark = hd_arena_here(&r->step);
    hd_tensor *logits = hd_new(r, most, hd_rows_of(w)), *tanhs = l->cap > 0 ? hd_like(r, logits) : logits;
    if (!logits || !loss || !tanhs) return NULL;
    for (size_t at = 0; at < rows; at += most) {
        size_t n = rows - at < most ? rows - at : most;
        hd_tensor z = hd_view_rows(logits, 0, n), t = hd_view_rows(tanhs, 0, n), xs = hd_view_rows(x, at, n),
                  ls = hd_view_rows(loss, at, n);
        hd_tensor ps = logp ? hd_view_rows(logp, at, n) : ls,
                  ws = l->weight ? hd_view_rows(l->weight, at, n) : ls,
                  os = l->policy_rows ? hd_view_rows(l->policy_rows, at, n) : ls;
        HD_CALL(r, gemm, .y = &z, .a = &xs, .b = w, .b_transposed = true, .bias = bias);
        if (l->cap > 0) cap_logits(r, &z, &t, l->cap);
        HD_CALL(r, cross_entropy, .loss = &ls, .logp = logp ? &ps : NULL, .dx = back ? &z : NULL, .x = &z,
                .target = target + at, .weight = l->weight ? &ws : NULL,
                .policy_rows = l->policy_rows ? &os : NULL, .policy = l->policy, .smoothing = l->smoothing,
                .coef = l->coef);
        if (back && l->cap > 0) HD_CALL(r, unary_back, .dx = &z, .dy = &z, .kept = &t, .f = HD_tanh);
        if (dx) {
            hd_tensor d = hd_view_rows(dx, at, n);
            HD_CALL(r, gemm, .y = &d, .a = &z, .b = w, .add = !fresh);
        }
        if (dw) HD_CALL(r, gemm, .y = dw, .a = &z, .a_transposed = true, .b = &xs, .add = true);
        if (dbias) HD_CALL(r, column_sum, .y = dbias, .x = &z);
    }
    hd_arena_rewind(&r->step, mark);
    if (l->logp) *l->logp = logp;
    return r->err.status ? NULL : loss;
}

static void distance_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[X], NULL), *dt = hd_grad(r, n->in[TARGET], NULL);
    HD_CALL(r, distance, .loss = n->y, .dx = dx, .dtarget = dt, .x = n->in[X], .target = n->in[TARGET],
            .weight = n->in[WEIGHT], .kind = o->kind, .coef = o->coef);
}

static hd_tensor *distance(hd_run *r, const char *op, hd_tensor *x, hd_tensor *target, hd_distance_kind kind,
                           const hd_loss_opt *l)
{
    if (!x || !target || !weight_fits(r, op, x, l)) return NULL;
    if (hd_rows_of(x) != hd_rows_of(target) || hd_cols_of(x) != hd_cols_of(target))
        return hd_fail(r, HD_ESHAPE, "%s: x is %zu x %zu, the target %zu x %zu", op, hd_rows_of(x),
                       hd_cols_of(x), hd_rows_of(target), hd_cols_of(target));
    hd_tensor *loss = hd_new_reals(r, hd_rows_of(x), 1);
    HD_CALL(r, distance, .loss = loss, .x = x, .target = target, .weight = l->weight, .kind = kind);
    opt o = {.coef = l->coef, .kind = kind};
    return hd_record_start(r, loss, distance_back, o, x, l->weight, target);
}

hd_tensor *hd_squared_error(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *l)
{
    return distance(r, "squared_error", x, target, HD_SQUARED, l);
}
hd_tensor *hd_binary_cross_entropy(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *l)
{
    return distance(r, "binary_cross_entropy", x, target, HD_BINARY, l);
}

hd_tensor *hd_absolute_error(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *l)
{
    return distance(r, "absolute_error", x, target, HD_ABSOLUTE, l);
}
hd_tensor *hd_box_error(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *l)
{
    if (x && hd_cols_of(x) != 4)
        return hd_fail(r, HD_ESHAPE, "box_error: boxes have 4 columns, x has %zu", hd_cols_of(x));
    return distance(r, "box_error", x, target, HD_GIOU, l);
}

static void sum_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[0], NULL), *ones = hd_ones(r, 1, hd_cols_of(n->in[0]));
    if (dx) HD_CALL(r, mix, .y = dx, .x = dx, .z = ones, .a = 1, .b = o->coef);
}

hd_tensor *hd_sum_loss(hd_run *r, hd_tensor *x, float coef)
{
    if (!x) return NULL;
    hd_tensor *y = hd_new_reals(r, 1, 1);
    HD_CALL(r, total, .y = y, .x = x, .scale = 1);
    opt o = {.coef = coef};
    return hd_record_start(r, y, sum_back, o, x);
}

double hd_loss_total(hd_run *r, const hd_tensor *loss)
{
    if (!loss || r->err.status) return NAN;
    double sum = 0;
    hd_real *host = hd_mem_array(hd_count_of(loss), sizeof *host);
    if (!host) return hd_err_nomem(&r->err, hd_count_of(loss) * sizeof *host), NAN;
    hd_read(r, loss, host);
    for (size_t i = 0; i < hd_count_of(loss); i++) sum += (double)host[i];
    hd_mem_free(host);
    return sum;
}

void hd_loss_put(hd_run *r, const hd_tensor *loss)
{
    hd_tensor sum = hd_matrix(&r->block->loss, 1, 1);
    if (loss) HD_CALL(r, total, .y = &sum, .x = loss, .scale = 1);
}
