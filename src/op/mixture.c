/* The loss of points under mixtures of Gaussians, and the window over characters. */
#include "backend/mixture.h"
#include "op/op.h"

/* -- the loss -- */

typedef struct opt {
    float coef;
} opt;

enum { X, TARGET, WEIGHT };

static void mixture_back(hd_run *r, const hd_node *n)
{
    const opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[X], NULL);
    if (dx)
        HD_CALL(r, mixture, .dx = dx, .x = n->in[X], .target = n->in[TARGET], .weight = n->in[WEIGHT],
                .coef = o->coef);
}

hd_tensor *hd_mixture_loss(hd_run *r, hd_tensor *x, hd_tensor *target, const hd_loss_opt *l)
{
    if (!x || !target) return NULL;
    size_t cols = hd_cols_of(x), rows = hd_rows_of(x);
    if (cols < 1 + HD_MIXTURE_EACH || cols % HD_MIXTURE_EACH != 1 ||
        cols > 1 + HD_MIXTURE_EACH * (size_t)HD_MIXTURE_MOST)
        return hd_fail(r, HD_ESHAPE, "mixture_loss: %zu columns are not 1 + 6 times 1 to %d components", cols,
                       HD_MIXTURE_MOST);
    if (hd_rows_of(target) != rows || hd_cols_of(target) != 3)
        return hd_fail(r, HD_ESHAPE, "mixture_loss: %zu rows of outputs, %zu x %zu targets, not 3 columns",
                       rows, hd_rows_of(target), hd_cols_of(target));
    if (l->weight && (hd_rows_of(l->weight) != rows || hd_cols_of(l->weight) != 1))
        return hd_fail(r, HD_ESHAPE, "mixture_loss: %zu weights for %zu rows", hd_count_of(l->weight), rows);
    hd_tensor *loss = hd_new_reals(r, rows, 1);
    HD_CALL(r, mixture, .loss = loss, .x = x, .target = target, .weight = l->weight);
    opt o = {l->coef};
    return hd_record_start(r, loss, mixture_back, o, x, target, l->weight);
}

/* -- the window -- */

enum { P, TEXT, START, KAPPA };

static void window_back(hd_run *r, const hd_node *n)
{
    const hd_gaussian_window *w = n->opt;
    HD_CALL(r, window_back, .dp = hd_grad(r, n->in[P], NULL), .dtext = hd_grad(r, n->in[TEXT], NULL),
            .dstart = hd_grad(r, n->in[START], NULL), .dy = n->y->grad,
            .dlast = n->also ? n->also->grad : NULL, .kappa = n->in[KAPPA], .w = *w);
}

static bool window_fits(hd_run *r, hd_rows p, hd_rows text, const hd_tensor *start)
{
    size_t cols = hd_cols_of(p.t), each = cols / 3, items = p.seg->items;
    if (!each || cols % 3 || each > HD_WINDOW_MOST)
        return hd_fail(r, HD_ESHAPE, "window: %zu columns are not 3 for each of 1 to %d Gaussians", cols,
                       HD_WINDOW_MOST),
               false;
    if (text.seg->items != items)
        return hd_fail(r, HD_ESHAPE, "window: %zu items over %zu texts", items, text.seg->items), false;
    if (start && (hd_rows_of(start) != items || hd_cols_of(start) != each))
        return hd_fail(r, HD_ESHAPE, "window: a start of %zu x %zu for %zu items of %zu Gaussians",
                       hd_rows_of(start), hd_cols_of(start), items, each),
               false;
    if (p.seg->overlap || p.seg->page || text.seg->page || (text.seg->overlap && text.t->wants_grad))
        return hd_fail(r, HD_EARG, "window: segments overlap"), false;
    return hd_seg_fits(r, "window", p.t, p.seg, false) && hd_seg_fits(r, "window", text.t, text.seg, false);
}

hd_rows hd_window_of(hd_run *r, hd_rows p, hd_rows text, hd_tensor *start, hd_tensor **kappa,
                     hd_tensor **last)
{
    hd_rows none = {0};
    if (kappa) *kappa = NULL;
    if (last) *last = NULL;
    if (!p.t || !p.seg || !text.t || !text.seg || r->err.status || !window_fits(r, p, text, start))
        return none;
    size_t rows = hd_rows_of(p.t), each = hd_cols_of(p.t) / 3;
    hd_gaussian_window w = {p.t, text.t, start, p.seg, text.seg};
    hd_tensor *y = hd_new(r, rows, hd_cols_of(text.t)), *at = hd_new_reals(r, rows, each),
              *end = last ? hd_new_reals(r, p.seg->items, each) : NULL;
    if (y && !(p.seg->full && p.seg->rows == rows)) hd_clear(r, y), hd_clear(r, at);
    HD_CALL(r, window, .y = y, .kappa = at, .last = end, .w = w);
    y = hd_record_opt(r, y, end, window_back, w, p.t, text.t, start, at);
    hd_probe_offer(r, "kappa", y ? at : NULL, p.seg);
    if (kappa) *kappa = y ? at : NULL;
    if (last) *last = y ? end : NULL;
    return hd_rows_with(p, y);
}
