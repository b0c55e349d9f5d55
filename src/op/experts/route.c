/* The router of a mixture of experts: a product, the choice, the weights. Scores are hd_real whatever rows
   are: a choice by rounded scores would be another one. */
#include "op/op.h"

typedef struct opt {
    hd_routing how;
    const int32_t *item;
    const int32_t *load;
    size_t loads;
    float coef;
} opt;

enum { X, W, IDS, SCORES };

static void route_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *scores = n->in[SCORES], *x = n->in[X], *w = n->in[W];
    hd_tensor *dlogits = hd_new_reals(r, hd_rows_of(scores), hd_cols_of(scores));
    if (!dlogits) return;
    HD_CALL(r, route_back, .dlogits = dlogits, .dweights = n->y->grad, .ids = n->in[IDS], .weights = n->y,
            .scores = scores, .item = o->item, .load = o->load, .loads = o->loads, .coef = o->coef,
            .how = o->how);
    hd_tensor *dw = hd_grad(r, w, NULL);
    if (dw) HD_CALL(r, gemm, .y = dw, .a = dlogits, .a_transposed = true, .b = x, .add = true);
    bool fresh;
    hd_tensor *dx = hd_grad(r, x, &fresh);
    if (dx) HD_CALL(r, gemm, .y = dx, .a = dlogits, .b = w, .add = !fresh);
}

static bool fits(hd_run *r, hd_rows x, const hd_tensor *w, const hd_tensor *bias, const hd_routing *how)
{
    size_t experts = hd_rows_of(w), groups = (size_t)how->groups;
    if (hd_cols_of(x.t) != hd_cols_of(w))
        hd_fail(r, HD_ESHAPE, "route: x has %zu columns, w takes %zu", hd_cols_of(x.t), hd_cols_of(w));
    else if (experts > HD_EXPERTS_MOST || how->used < 1 || (size_t)how->used > experts ||
             how->used > HD_EXPERTS_USED_MOST)
        hd_fail(r, HD_EARG, "route: %d of %zu experts: at most %d of %d", how->used, experts,
                HD_EXPERTS_USED_MOST, HD_EXPERTS_MOST);
    else if (groups && (experts % groups || how->groups_used < 1 || how->groups_used > how->groups ||
                        experts / groups * (size_t)how->groups_used < (size_t)how->used))
        hd_fail(r, HD_EARG, "route: %d of %d groups of %zu experts cannot give %d", how->groups_used,
                how->groups, experts, how->used);
    else if (bias && (bias->dtype != HD_REAL || hd_count_of(bias) != experts))
        hd_fail(r, HD_ESHAPE, "route: a bias of %zu for %zu experts", hd_count_of(bias), experts);
    else
        return hd_seg_fits(r, "route", x.t, x.seg, true);
    return false;
}

hd_tensor *hd_route(hd_run *r, hd_rows x, hd_tensor *w, const hd_tensor *bias, const hd_route_opt *opt_,
                    hd_tensor **ids)
{
    if (!x.t || !w || !fits(r, x, w, bias, &opt_->how)) return NULL;
    size_t rows = hd_rows_of(x.t), experts = hd_rows_of(w), used = (size_t)opt_->how.used;
    opt o = {opt_->how, x.seg && !x.seg->full ? x.seg->item : NULL, opt_->load, opt_->loads, opt_->coef};
    if (o.loads > 1) o.item = x.seg ? x.seg->item : NULL;
    if (o.loads > 1 && (!o.item || x.seg->items != o.loads))
        return hd_fail(r, HD_EARG, "route: %zu loads are not one for each item", o.loads);
    hd_tensor *weights = hd_new_reals(r, rows, used), *scores = hd_new_reals(r, rows, experts),
              *logits = hd_new_reals(r, rows, experts);
    *ids = hd_new_ints(r, rows, used);
    if (r->err.status) return NULL;
    HD_CALL(r, gemm, .y = logits, .a = x.t, .b = w, .b_transposed = true);
    HD_CALL(r, route, .ids = *ids, .weights = weights, .scores = scores, .logits = logits, .bias = bias,
            .item = o.item, .load = opt_->counted ? NULL : opt_->load, .loads = o.loads, .how = o.how);
    hd_probe_offer(r, "router", scores, x.seg);
    return hd_record_opt(r, weights, NULL, route_back, o, x.t, w, *ids, scores);
}
