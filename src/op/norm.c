/* Layer and RMS norm, alone or fused with the residual add and its dropout. */
#include "op/op.h"

typedef struct opt {
    bool rms, from_one;
    hd_draw draw;
} opt;

enum { X, BRANCH, GAIN, BIAS, SUM, STAT };

static void norm_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *sum = n->in[SUM], *dsum = n->also ? n->also->grad : NULL;
    if (!n->y->grad) { /* only the residual stream is used later */
        hd_tensor *db = hd_grad(r, n->in[BRANCH], NULL), *dx = hd_grad(r, n->in[X], NULL);
        if (db && o->draw.p > 0)
            HD_CALL(r, dropout, .y = db, .x = dsum, .draw = o->draw, .add = true);
        else if (db)
            HD_CALL(r, mix, .y = db, .x = dsum, .a = 1, .add = true);
        if (dx) HD_CALL(r, mix, .y = dx, .x = dsum, .a = 1, .add = true);
        return;
    }
    bool fresh_x, fresh_branch;
    hd_tensor *dx = hd_grad(r, n->in[X], &fresh_x), *dbranch = hd_grad(r, n->in[BRANCH], &fresh_branch);
    HD_CALL(r, norm_back, .dx = dx, .dbranch = dbranch, .dgain = hd_grad(r, n->in[GAIN], NULL),
            .dbias = hd_grad(r, n->in[BIAS], NULL), .dy = n->y->grad, .dsum = dsum, .sum = sum,
            .stat = n->in[STAT], .gain = n->in[GAIN], .rms = o->rms, .from_one = o->from_one,
            .add_x = !fresh_x, .add_branch = !fresh_branch, .draw = o->draw);
}

static bool fits(hd_run *r, const hd_tensor *x, const hd_tensor *vector, const char *what)
{
    if (!vector || hd_count_of(vector) == hd_cols_of(x)) return true;
    hd_fail(r, HD_ESHAPE, "norm: %s has %zu, x has %zu columns", what, hd_count_of(vector), hd_cols_of(x));
    return false;
}

/* What a probe gets besides the result: the sum, and mean and standard deviation of each row as the
   lectures print them. */
static void offer(hd_run *r, hd_tensor *sum, const hd_tensor *stat, const hd_norm_opt *o)
{
    if (!r->probe || o->quiet) return;
    hd_probe_offer(r, "sum", sum, o->seg);
    hd_tensor mean = hd_view_cols(stat, 0, 1), inverse = hd_view_cols(stat, 1, 1);
    hd_probe_offer(r, "mean", &mean, o->seg);
    hd_probe_offer(r, "inverse_sd", &inverse, o->seg);
}

static hd_draw branch_draw(hd_run *r, const hd_norm_opt *o)
{
    hd_draw d = hd_draw_next(r, o->drop_path > 0 ? o->drop_path : o->dropout, o->seg);
    d.whole = o->drop_path > 0;
    return d;
}

static hd_tensor *normed(hd_run *r, hd_tensor *x, hd_tensor *branch, hd_tensor *gain, hd_tensor *bias,
                         const hd_norm_opt *o, hd_tensor **stream)
{
    if (!fits(r, x, gain, "gain") || !fits(r, x, bias, "bias") || !hd_seg_fits(r, "norm", x, o->seg, true))
        return NULL;
    if (!(o->dropout >= 0 && o->dropout < 1) || !(o->drop_path >= 0 && o->drop_path < 1))
        return hd_fail(r, HD_EARG, "norm: dropout %g is not in [0, 1)",
                       (double)(o->drop_path > 0 ? o->drop_path : o->dropout));
    opt kept = {o->rms, o->from_one, branch ? branch_draw(r, o) : (hd_draw){0}};
    bool keep_sum = branch && (r->taping || stream || r->probe);
    hd_tensor *sum = keep_sum ? hd_like(r, x) : NULL;
    hd_tensor *y = hd_like(r, x), *stat = r->taping || r->probe ? hd_new_reals(r, hd_rows_of(x), 2) : NULL;
    HD_CALL(r, norm, .y = y, .sum = sum, .stat = stat, .x = x, .branch = branch, .gain = gain, .bias = bias,
            .eps = o->eps, .rms = o->rms, .from_one = o->from_one, .draw = kept.draw);
    if (r->err.status) return NULL;
    offer(r, branch ? sum : x, stat, o);
    if (stream) *stream = sum;
    return hd_record_opt(r, y, stream ? sum : NULL, norm_back, kept, x, branch, gain, bias, branch ? sum : x,
                         stat);
}

hd_tensor *hd_norm(hd_run *r, hd_tensor *x, hd_tensor *gain, hd_tensor *bias, const hd_norm_opt *o)
{
    return x ? normed(r, x, NULL, gain, bias, o, NULL) : NULL;
}

hd_tensor *hd_norm_residual(hd_run *r, hd_tensor *x, hd_tensor *branch, hd_tensor *gain, hd_tensor *bias,
                            const hd_norm_opt *o, hd_tensor **sum)
{
    if (sum) *sum = NULL;
    if (!x || !branch) return NULL;
    if (hd_rows_of(x) != hd_rows_of(branch) || hd_cols_of(x) != hd_cols_of(branch))
        return hd_fail(r, HD_ESHAPE, "norm_residual: x is %zu x %zu, branch %zu x %zu", hd_rows_of(x),
                       hd_cols_of(x), hd_rows_of(branch), hd_cols_of(branch));
    if (o->drop_path > 0)
        branch = hd_dropout(r, branch, o->dropout, o->seg); /* then the fused draw is the item's */
    return branch ? normed(r, x, branch, gain, bias, o, sum) : NULL;
}
