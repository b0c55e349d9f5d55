/* Recording, gradients, backward, recomputation. Easy to get wrong: lifetimes. Activations are freed while
   the tape unwinds; gradients of activations stay in the pool until backward of the op that made the
   activation. */
#include "op/tape.h"

#include <string.h>

#include "base/mem.h"
#include "op/op.h"

/* Whether a tensor's gradient is among the watched ones; the pieces that contain it. */
static bool pieces_of(const hd_grad_watch *w, const hd_tensor *x, size_t *first, size_t *last)
{
    while (x && x->base) x = x->base;
    const hd_tensor *g = x && x->wants_grad ? x->grad : NULL;
    const hd_real *at = g ? g->data : NULL;
    if (!at || at < w->grad || at >= w->grad + w->count) return false;
    *first = (size_t)(at - w->grad) / w->piece;
    *last = ((size_t)(at - w->grad) + (hd_rows_of(g) - 1) * g->stride + hd_cols_of(g) - 1) / w->piece;
    return true;
}

static void note_inputs(hd_grad_watch *w, const hd_node *n)
{
    size_t first, last;
    for (size_t i = 0; i < n->inputs; i++)
        if (pieces_of(w, n->in[i], &first, &last))
            for (size_t k = first; k <= last; k++) w->open[k]++;
}

static void note_back(hd_grad_watch *w, const hd_node *n)
{
    size_t first, last;
    for (size_t i = 0; i < n->inputs; i++)
        if (pieces_of(w, n->in[i], &first, &last))
            for (size_t k = first; k <= last; k++)
                if (!--w->open[k] && !w->blind) w->complete(w->context, k);
}

hd_tensor *hd_record_node(hd_run *r, hd_tensor *y, hd_tensor *also, hd_back_fn *back, const void *opt,
                          size_t opt_size, bool start, hd_tensor *const *in, size_t inputs)
{
    if (r->err.status || !y) return NULL;
    if (!r->taping) return y;
    bool wants = false;
    for (size_t i = 0; i < inputs; i++) wants |= in[i] && in[i]->wants_grad;
    if (!wants) return y;
    size_t room = inputs > HD_NODE_INPUTS ? inputs : HD_NODE_INPUTS;
    hd_node *n = hd_host_take(r, sizeof *n + room * sizeof *in);
    void *kept = opt_size ? hd_host_take(r, opt_size) : NULL;
    if (!n || (opt_size && !kept)) return NULL;
    if (opt_size) memcpy(kept, opt, opt_size);
    *n = (hd_node){.before = r->last,
                   .back = back,
                   .y = y,
                   .also = also,
                   .opt = kept,
                   .end = hd_arena_here(&r->step),
                   .start = start,
                   .inputs = inputs};
    memcpy(n->in, in, inputs * sizeof *in);
    if (r->watch) note_inputs(r->watch, n);
    if (!start) y->wants_grad = true; /* nothing flows back into a loss */
    if (also) also->wants_grad = true;
    r->last = n;
    return y;
}

/* The part of its base's gradient that belongs to a view. */
static hd_tensor *view_grad(hd_run *r, hd_tensor *x)
{
    hd_tensor *whole = hd_grad(r, x->base, NULL), *g = whole ? hd_host_take(r, sizeof *g) : NULL;
    if (!g) return NULL;
    *g = *x;
    size_t stride = x->base->stride, row = x->offset / stride, col = x->offset % stride;
    g->data = (char *)whole->data + (row * whole->stride + col) * hd_dtype_bytes(whole->dtype);
    g->stride = whole->stride;
    g->base = g->grad = NULL;
    return x->grad = g;
}

/* Sizes in eighths of powers of two: batches of nearly the same length then share their blocks in the pool.
 */
static size_t grad_bytes(const hd_tensor *x)
{
    size_t bytes = hd_bytes_of(x), grain = HD_ALIGN;
    while (16 * grain <= bytes) grain *= 2;
    return (bytes + grain - 1) / grain * grain;
}

hd_tensor *hd_grad(hd_run *r, hd_tensor *x, bool *fresh)
{
    if (fresh) *fresh = false;
    if (!x || !x->wants_grad || r->err.status) return NULL;
    if (x->grad) return x->grad;
    if (x->base) return view_grad(r, x);
    size_t bytes = grad_bytes(x);
    hd_tensor *g = hd_host_take(r, sizeof *g);
    void *data = g ? hd_pool_take(&r->grads, bytes) : NULL;
    if (!data) {
        if (g) hd_backend_nomem(r->backend, bytes, &r->err);
        return NULL;
    }
    *g = hd_shaped(data, x->dtype, 2, (const size_t[]){hd_rows_of(x), hd_cols_of(x)});
    if (fresh)
        *fresh = true;
    else
        r->backend->clear(r->backend, data, bytes);
    return x->grad = g;
}

void hd_grad_pass(hd_run *r, hd_tensor *x, hd_tensor *y)
{
    if (!x || !x->wants_grad || !y->grad) return;
    if (!x->grad && !x->base && !y->base && !x->is_param && hd_same_shape(x, y)) {
        x->grad = y->grad;
        y->grad = NULL;
        return;
    }
    bool fresh;
    hd_tensor *g = hd_grad(r, x, &fresh);
    if (g) HD_CALL(r, mix, .y = g, .x = y->grad, .a = 1, .add = !fresh);
}

static void release_grad(hd_run *r, hd_tensor *y)
{
    if (!y || !y->grad || y->base || y->is_param) return;
    hd_pool_give(&r->grads, y->grad->data, grad_bytes(y));
    y->grad = NULL;
}

/* Backward from the newest node to (not including) `till`. */
static void unwind(hd_run *r, hd_node *till, hd_arena_mark floor)
{
    bool taping = r->taping;
    r->taping = false;
    while (r->last != till && !r->err.status) {
        hd_node *n = r->last;
        r->last = n->before;
        hd_arena_rewind(&r->step, n->end);
        if (n->start || n->y->grad || (n->also && n->also->grad)) n->back(r, n);
        if (r->watch && !r->err.status) note_back(r->watch, n);
        release_grad(r, n->y);
        release_grad(r, n->also);
        hd_arena_rewind(&r->step, n->before && n->before != till ? n->before->end : floor);
    }
    r->taping = taping;
}

void hd_backward(hd_run *r)
{
    hd_node *first = r->last;
    if (!first || r->err.status) return;
    while (first->before) first = first->before;
    unwind(r, NULL, first->end);
}

static hd_tensor *view(hd_run *r, hd_tensor *x, hd_tensor v)
{
    hd_tensor *y = hd_host_take(r, sizeof *y);
    if (!y) return NULL;
    *y = v;
    y->base = x->base ? x->base : x;
    y->offset = (size_t)((char *)v.data - (char *)y->base->data) / hd_dtype_bytes(x->dtype);
    y->wants_grad = x->wants_grad;
    y->grad = NULL;
    y->is_param = false;
    y->prepared = NULL;
    return y;
}

hd_tensor *hd_slice_cols(hd_run *r, hd_tensor *x, size_t from, size_t count)
{
    if (!x) return NULL;
    if (from > hd_cols_of(x) || count > hd_cols_of(x) - from)
        return hd_fail(r, HD_ESHAPE, "slice_cols: columns %zu..%zu of %zu", from, from + count,
                       hd_cols_of(x));
    return view(r, x, hd_view_cols(x, from, count));
}

hd_tensor *hd_slice_rows(hd_run *r, hd_tensor *x, size_t from, size_t count)
{
    if (!x) return NULL;
    if (from > hd_rows_of(x) || count > hd_rows_of(x) - from)
        return hd_fail(r, HD_ESHAPE, "slice_rows: rows %zu..%zu of %zu", from, from + count, hd_rows_of(x));
    return view(r, x, hd_view_rows(x, from, count));
}

typedef struct recompute {
    hd_recompute_fn *fn;
    const void *context;
    uint32_t draws;
    const char *scope;
} recompute;

static void recompute_back(hd_run *r, const hd_node *n)
{
    const recompute *c = n->opt;
    hd_node *till = r->last;
    hd_arena_mark floor = hd_arena_here(&r->step);
    uint32_t draws = r->draws;
    bool before = r->again;
    r->draws = c->draws;
    r->taping = r->again = true;
    if (c->scope) strcpy(r->scope, c->scope);
    hd_tensor *again = c->fn(r, c->context, n->in);
    r->taping = false;
    r->again = before;
    if (again && again->wants_grad) {
        hd_grad_pass(r, again, n->y); /* fn may return a view or one of its inputs */
        unwind(r, till, floor);
    }
    r->draws = draws;
}

hd_tensor *hd_recompute(hd_run *r, hd_recompute_fn *fn, const void *context, hd_tensor *const *in,
                        size_t inputs)
{
    if (!r->taping) return fn(r, context, in);
    if (r->watch) r->watch->blind = true;
    if (inputs >= HD_NODE_INPUTS)
        return hd_fail(r, HD_EARG, "recompute: %zu inputs, at most %d", inputs, HD_NODE_INPUTS - 1);
    recompute c = {fn, context, r->draws, NULL};
    if (r->probe) {
        char *scope = hd_host_take(r, strlen(r->scope) + 1);
        if (!scope) return NULL;
        c.scope = strcpy(scope, r->scope);
    }
    hd_arena_mark start = hd_arena_here(&r->step);
    r->taping = false;
    hd_tensor *made = fn(r, context, in);
    r->taping = true;
    if (!made) return NULL;
    /* The result is moved to where the intermediates began; through the pool, since the two may overlap. */
    size_t bytes = hd_bytes_of(made);
    hd_tensor way = hd_shaped(hd_pool_take(&r->grads, bytes), made->dtype, 2,
                              (const size_t[]){hd_rows_of(made), hd_cols_of(made)});
    if (!way.data) return hd_backend_nomem(r->backend, bytes, &r->err), NULL;
    HD_CALL(r, mix, .y = &way, .x = made, .a = 1);
    hd_arena_rewind(&r->step, start);
    hd_tensor *y = hd_like(r, &way);
    if (y) HD_CALL(r, mix, .y = y, .x = &way, .a = 1);
    hd_pool_give(&r->grads, way.data, bytes);
    if (!y) return NULL;
    /* Parameters inside fn want gradients even when no input does: a flag of its own, not an input's. */
    hd_tensor *wants = hd_host_take(r, sizeof *wants);
    if (!wants) return NULL;
    wants->wants_grad = true;
    hd_tensor *all[HD_NODE_INPUTS];
    for (size_t i = 0; i < inputs; i++) all[i] = in[i];
    all[inputs] = wants;
    return hd_record_node(r, y, NULL, recompute_back, &c, sizeof c, false, all, inputs + 1);
}
