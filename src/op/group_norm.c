/* Batch norm and group norm, with a shortcut and an activation in the same pass. The running statistics of
   batch norm change in the forward pass of a training step, so a block that is computed again leaves them
   alone. */
#include "op/op.h"

typedef struct opt {
    const hd_seg *seg;
    int groups;
    bool together, given;
    hd_unary act;
} opt;

enum { X, ADD, GAIN, BIAS, STAT, KEPT };

static void group_norm_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dz = n->y->grad;
    if (o->act != HD_IDENTITY) /* in place: dy is not read after this */
        HD_CALL(r, unary_back, .dx = dz, .dy = dz, .kept = n->in[KEPT], .f = o->act);
    bool fresh;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh), *dgain = hd_grad(r, n->in[GAIN], NULL),
              *dbias = hd_grad(r, n->in[BIAS], NULL);
    if (dx || dgain || dbias)
        HD_CALL(r, group_norm_back, .dx = dx, .dgain = dgain, .dbias = dbias, .dz = dz, .x = n->in[X],
                .gain = n->in[GAIN], .stat = n->in[STAT], .seg = o->seg, .groups = o->groups,
                .together = o->together, .given = o->given, .add = !fresh);
    hd_grad_pass(r, n->in[ADD], n->y);
}

static bool fits(hd_run *r, const char *op, const hd_tensor *x, const hd_tensor *vector, const char *what)
{
    if (!vector || hd_count_of(vector) == hd_cols_of(x)) return true;
    hd_fail(r, HD_ESHAPE, "%s: %s has %zu, x has %zu columns", op, what, hd_count_of(vector), hd_cols_of(x));
    return false;
}

/* a: what both norms have said so far. */
static hd_tensor *normed(hd_run *r, const char *op, hd_tensor *x, hd_tensor *add, hd_tensor *gain,
                         hd_tensor *bias, hd_group_norm_args a)
{
    if (!fits(r, op, x, gain, "gain") || !fits(r, op, x, bias, "bias") || !hd_seg_fits(r, op, x, a.seg, true))
        return NULL;
    if (a.act >= HD_UNARIES) return hd_fail(r, HD_EARG, "%s: there is no function %d", op, (int)a.act);
    if (a.seg && !a.seg->item) return hd_fail(r, HD_EARG, "%s: items that share rows cannot be normed", op);
    if (add && (hd_rows_of(add) != hd_rows_of(x) || hd_cols_of(add) != hd_cols_of(x)))
        return hd_fail(r, HD_ESHAPE, "%s: x is %zu x %zu, what is added %zu x %zu", op, hd_rows_of(x),
                       hd_cols_of(x), hd_rows_of(add), hd_cols_of(add));
    hd_tensor *y = hd_like(r, x),
              *stat = hd_new_reals(r, 2 * hd_group_sets(a.seg, a.together), hd_cols_of(x)),
              *before = r->taping && hd_unary_keeps_x(a.act) ? hd_like(r, x) : NULL;
    if (r->err.status) return NULL;
    a.y = y, a.before = before, a.x = x, a.add = add, a.gain = gain, a.bias = bias, a.stat = stat;
    hd_status s = r->backend->kernel.group_norm(r->backend, &a);
    if (s) hd_call_failed(r, s, "group_norm");
    opt o = {a.seg, a.groups, a.together, a.given, a.act};
    return hd_record_opt(r, y, NULL, group_norm_back, o, x, add, gain, bias, stat, before ? before : y);
}

hd_tensor *hd_batch_norm(hd_run *r, hd_tensor *x, hd_tensor *gain, hd_tensor *bias, const hd_seg *seg,
                         const hd_batch_norm_opt *o)
{
    if (!x) return NULL;
    bool given = o->frozen || !r->training;
    if (given && (!o->mean || !o->variance))
        return hd_fail(r, HD_EARG, "batch_norm: there are no running statistics");
    if (!fits(r, "batch_norm", x, o->mean, "mean") || !fits(r, "batch_norm", x, o->variance, "variance"))
        return NULL;
    hd_group_norm_args a = {.seg = seg,
                            .groups = (int)hd_cols_of(x),
                            .together = true,
                            .given = given,
                            .eps = o->eps,
                            .momentum = o->momentum,
                            .act = o->act};
    if (given || !r->again) a.mean = o->mean, a.variance = o->mean ? o->variance : NULL;
    return normed(r, "batch_norm", x, o->add, gain, bias, a);
}

hd_rows hd_group_norm(hd_run *r, hd_rows x, hd_tensor *gain, hd_tensor *bias, const hd_group_norm_opt *o)
{
    if (!x.t) return (hd_rows){NULL, x.seg};
    if (o->groups < 1 || hd_cols_of(x.t) % (size_t)o->groups) {
        hd_fail(r, HD_EARG, "group_norm: %zu columns are not %d groups of equal width", hd_cols_of(x.t),
                o->groups);
        return (hd_rows){NULL, x.seg};
    }
    hd_group_norm_args a = {.seg = x.seg, .groups = o->groups, .eps = o->eps, .act = o->act};
    return hd_rows_with(x, normed(r, "group_norm", x.t, o->add, gain, bias, a));
}
