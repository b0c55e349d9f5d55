/* Connectionist temporal classification as a loss. */
#include "op/op.h"

typedef struct opt {
    const hd_seg *seg, *labels;
    const int32_t *label;
    int32_t blank;
    float coef;
} opt;

enum { X, WEIGHT, FORWARD, LSE };

static bool fits(hd_run *r, hd_rows x, const hd_seg *labels, int32_t blank, const hd_loss_opt *l)
{
    if (!hd_seg_fits(r, "ctc", x.t, x.seg, false)) return false;
    if (x.seg->overlap || !x.seg->item)
        return hd_fail(r, HD_ESHAPE, "ctc: each frame belongs to one item at most") != NULL;
    if (labels->items != x.seg->items)
        return hd_fail(r, HD_ESHAPE, "ctc: labels of %zu items, frames of %zu", labels->items,
                       x.seg->items) != NULL;
    if (blank < 0 || (size_t)blank >= hd_cols_of(x.t))
        return hd_fail(r, HD_EARG, "ctc: blank %d of %zu columns", blank, hd_cols_of(x.t)) != NULL;
    if (l->weight && (hd_rows_of(l->weight) != x.seg->items || hd_cols_of(l->weight) != 1))
        return hd_fail(r, HD_ESHAPE, "ctc: %zu weights for %zu items", hd_count_of(l->weight),
                       x.seg->items) != NULL;
    return true;
}

static void ctc_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[X], NULL);
    hd_alignment of = {n->in[X],  n->in[FORWARD], n->in[LSE], o->seg,
                       o->labels, o->label,       o->blank,   n->in[WEIGHT]};
    if (dx) HD_CALL(r, ctc_back, .dx = dx, .of = of, .coef = o->coef);
}

hd_tensor *hd_ctc(hd_run *r, hd_rows x, const int32_t *label, const hd_seg *labels, int32_t blank,
                  const hd_loss_opt *l)
{
    if (!x.t || !x.seg || !label || !labels || !fits(r, x, labels, blank, l)) return NULL;
    hd_tensor *loss = hd_new_reals(r, x.seg->items, 1),
              *logp = l->logp ? hd_new_reals(r, x.seg->items, 1) : NULL;
    hd_arena_mark mark = hd_arena_here(&r->step);
    hd_tensor *forward = hd_new_reals(r, hd_rows_of(x.t), 2 * labels->longest + 1),
              *lse = hd_new_reals(r, hd_rows_of(x.t), 1);
    hd_alignment of = {x.t, forward, lse, x.seg, labels, label, blank, l->weight};
    HD_CALL(r, ctc, .loss = loss, .logp = logp, .of = of);
    if (l->logp) *l->logp = logp;
    if (!r->taping) hd_arena_rewind(&r->step, mark);
    opt o = {x.seg, labels, label, blank, l->coef};
    return hd_record_start(r, loss, ctc_back, o, x.t, l->weight, forward, lse);
}
