/* The networks of handwriting. Only the first layer goes point by point, since what the window covers enters
   its next step; the others see all points at once. */
#include "model/stroke/handwriting.h"

#include <math.h>

#include "base/mem.h"

static const hd_init TORCH = {HD_INIT_TORCH, 1, 0};

enum { POINT = HD_HANDWRITING_POINT };

/* -- making -- */

static hd_status check(const hd_handwriting_opt *o, hd_err *err)
{
    if (o->layers < 1 || o->layers > HD_RECURRENT_LAYERS || !o->width || !o->vocab || o->mixtures < 1 ||
        o->mixtures > HD_MIXTURE_MOST || o->window < 0 || o->window > HD_WINDOW_MOST)
        return hd_err_set(err, HD_EARG,
                          "handwriting: %d layers of %zu, %d mixtures (1 to %d), a window of %d (0 to %d), "
                          "%zu characters is not a valid model",
                          o->layers, o->width, o->mixtures, HD_MIXTURE_MOST, o->window, HD_WINDOW_MOST,
                          o->vocab);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return hd_err_set(err, HD_EARG, "handwriting: dropout %g is not in [0, 1)", (double)o->dropout);
    return hd_pen_scale_check(&o->scale, "handwriting", err);
}

static hd_handwriting_layer make_layer(hd_params *p, const hd_handwriting_opt *o, int l)
{
    size_t in = POINT + (l ? o->width : 0) + (o->window ? o->vocab : 0), gates = 4 * o->width;
    hd_init init = {HD_INIT_TORCH, 1, o->width};
    return (hd_handwriting_layer){.w_in = hd_param_add(p, gates, in, init, "layers.%d.weight_ih", l),
                                  .b_in = hd_param_add(p, gates, 0, init, "layers.%d.bias_ih", l),
                                  .w = hd_param_add(p, gates, o->width, init, "layers.%d.weight_hh", l),
                                  .b = hd_param_add(p, gates, 0, init, "layers.%d.bias_hh", l)};
}

static void make_parameters(hd_handwriting *m)
{
    const hd_handwriting_opt *o = &m->opt;
    hd_params *p = &m->params;
    for (int l = 0; l < o->layers; l++) m->layer[l] = make_layer(p, o, l);
    if (o->window) {
        m->letters = hd_tokens_make(p, &(hd_tokens_opt){.vocab = o->vocab, .one_hot = true});
        m->window = hd_dense_make(p, o->width, 3 * (size_t)o->window,
                                  &(hd_dense_opt){.init = {HD_INIT_NORMAL, 0.01f, 0}}, "window");
    }
    m->out = hd_dense_make(p, o->width * (size_t)o->layers, 1 + HD_MIXTURE_EACH * (size_t)o->mixtures,
                           &(hd_dense_opt){.init = TORCH}, "output");
}

hd_status hd_handwriting_new(hd_handwriting **out, hd_backend *backend, const hd_handwriting_opt *opt,
                             bool training, hd_err *err)
{
    hd_handwriting *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    hd_params_init(&m->params, backend);
    hd_status s = check(opt, err);
    if (!s) make_parameters(m);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (!s && opt->window) s = hd_front_fill(&m->letters, &m->params, err);
    if (s)
        hd_handwriting_free(m);
    else
        *out = m;
    return s;
}

void hd_handwriting_free(hd_handwriting *m)
{
    if (!m) return;
    hd_params_release(&m->params);
    hd_mem_free(m);
}

/* All Gaussians of the window begin with an equal share, a width of about a character and the speed of the
   pen. */
hd_status hd_handwriting_draw(hd_handwriting *m, uint64_t seed, double points, hd_err *err)
{
    hd_real bias[3 * HD_WINDOW_MOST];
    const int n = m->opt.window;
    hd_status s = hd_params_draw(&m->params, seed, err);
    if (s || !n) return s;
    for (int k = 0; k < n; k++) {
        bias[k] = (hd_real)-log(n), bias[n + k] = 0;
        bias[2 * n + k] = (hd_real)-log(points > 1 ? points : 1);
    }
    s = hd_params_set(&m->params, m->window.b, bias);
    if (!s) s = hd_front_fill(&m->letters, &m->params, err);
    return s;
}

/* -- at work -- */

typedef struct writing { /* of one call */
    const hd_handwriting *m;
    const hd_handwriting_batch *b;
    hd_handwriting_seen *seen;
    hd_rows letters;
    hd_tensor *state[HD_RECURRENT_LAYERS], *kappa, *covered; /* carried from row to row */
    hd_tensor *window;                                       /* [R, V] what it covers, all rows */
    hd_tensor *h[HD_RECURRENT_LAYERS];
} writing;

static hd_tensor *value(hd_param *p)
{
    return &p->t;
}

/* An LSTM layer over the rows of seg, of what is side by side. */
static hd_tensor *layer_of(hd_run *r, writing *w, int l, const hd_seg *seg, hd_tensor *const *in, size_t ins)
{
    const hd_handwriting_layer *a = &w->m->layer[l];
    hd_recur_opt o = {HD_LSTM, HD_tanh, false};
    for (size_t i = 0; i < ins; i++)
        if (!in[i]) return NULL;
    hd_tensor *x = ins > 1 ? hd_concat_cols(r, in, ins) : in[0];
    hd_tensor *z = hd_linear(r, x, value(a->w_in), value(a->b_in), HD_IDENTITY);
    return hd_recur(r, (hd_rows){z, seg}, value(a->w), value(a->b), w->state[l], &o, &w->state[l]).t;
}

typedef struct steps { /* what the steps of the first layer gave */
    hd_tensor **h, **covered, **window, **kappa;
} steps;

static bool make_steps(hd_run *r, steps *s, size_t n)
{
    s->h = hd_host_take(r, 4 * n * sizeof *s->h);
    s->covered = s->h + n, s->window = s->h + 2 * n, s->kappa = s->h + 3 * n;
    return s->h != NULL;
}

static hd_tensor *nothing(hd_run *r, size_t rows, size_t cols)
{
    hd_tensor *x = hd_new(r, rows, cols);
    hd_clear(r, x);
    return x;
}

/* Steps one after the other, back to rows item after item. */
static hd_tensor *in_order(hd_run *r, const hd_unrolled *u, hd_tensor *const *step, size_t rows)
{
    if (!u->row) return step[0];
    return hd_gather(r, hd_concat_rows(r, step, u->steps), u->place, rows, 1);
}

/* The first layer and the window: point by point over all items. */
static void row_by_row(hd_run *r, writing *w)
{
    const hd_unrolled *u = hd_unroll(r, w->b->point.seg);
    steps s;
    if (!u || !make_steps(r, &s, u->steps)) return;
    const size_t n = u->items, rows = hd_rows_of(w->b->point.t);
    hd_tensor *points = u->row ? hd_gather(r, w->b->point.t, u->row, u->steps * n, 1) : w->b->point.t;
    if (!w->covered) w->covered = nothing(r, n, w->m->opt.vocab);
    for (size_t t = 0; t < u->steps && !r->err.status; t++) {
        hd_tensor *in[] = {u->row ? hd_slice_rows(r, points, t * n, n) : points, w->covered};
        s.h[t] = layer_of(r, w, 0, u->single, in, 2);
        s.window[t] = hd_dense_of(r, &w->m->window, s.h[t], HD_IDENTITY);
        w->covered = s.covered[t] =
            hd_window_of(r, (hd_rows){s.window[t], u->single}, w->letters, w->kappa, &s.kappa[t], &w->kappa)
                .t;
    }
    if (r->err.status) return;
    w->h[0] = in_order(r, u, s.h, rows);
    w->window = in_order(r, u, s.covered, rows);
    if (!w->seen) return;
    w->seen->window = in_order(r, u, s.window, rows);
    w->seen->kappa = in_order(r, u, s.kappa, rows);
}

/* Slots: a state a layer, kappa, what the window covered. */
static void take_states(hd_run *r, writing *w, hd_cache *cache)
{
    int layers = w->m->opt.layers;
    if (!hd_cache_slot(cache, 0)->filled) return;
    for (int l = 0; l < layers; l++) w->state[l] = hd_slot_state(r, hd_cache_slot(cache, (size_t)l));
    if (!w->m->opt.window) return;
    w->kappa = hd_slot_state(r, hd_cache_slot(cache, (size_t)layers));
    w->covered = hd_slot_state(r, hd_cache_slot(cache, (size_t)layers + 1));
}

static void keep_states(hd_run *r, const writing *w, hd_cache *cache)
{
    int layers = w->m->opt.layers;
    for (int l = 0; l < layers; l++) hd_slot_put(r, hd_cache_slot(cache, (size_t)l), w->state[l]);
    if (!w->m->opt.window) return;
    hd_slot_put(r, hd_cache_slot(cache, (size_t)layers), w->kappa);
    hd_slot_put(r, hd_cache_slot(cache, (size_t)layers + 1), w->covered);
}

hd_status hd_handwriting_cache(hd_cache **out, const hd_handwriting *m, size_t items, hd_err *err)
{
    hd_slot_kind kinds[HD_RECURRENT_LAYERS + 2];
    for (int i = 0; i < HD_RECURRENT_LAYERS + 2; i++) kinds[i] = HD_STATE;
    return hd_cache_new(out, kinds, (size_t)m->opt.layers + (m->opt.window ? 2 : 0), items, err);
}

static hd_tensor *below(hd_run *r, const writing *w, int l)
{
    return hd_dropout(r, w->h[l], w->m->opt.dropout, w->b->point.seg);
}

hd_rows hd_handwriting_rows(hd_run *r, const hd_handwriting *m, const hd_handwriting_batch *b,
                            hd_cache *cache, hd_handwriting_seen *seen)
{
    const hd_rows none = {0};
    writing w = {.m = m, .b = b, .seen = seen};
    const hd_seg *seg = b->point.seg;
    if (!b->point.t || !seg || (cache && !hd_cache_begin(r, cache, seg))) return none;
    if (cache) take_states(r, &w, cache);
    hd_probe_enter(r, "layer0");
    if (m->opt.window) {
        w.letters = hd_front_rows(r, &m->letters, &(hd_items){.seg = b->text, .ids = b->ids});
        row_by_row(r, &w);
    } else {
        w.h[0] = layer_of(r, &w, 0, seg, &b->point.t, 1);
    }
    hd_probe_offer(r, "h", w.h[0], seg);
    hd_probe_offer(r, "window", w.window, seg);
    hd_probe_leave(r);
    for (int l = 1; l < m->opt.layers && !r->err.status; l++) {
        hd_tensor *in[] = {b->point.t, below(r, &w, l - 1), w.window};
        hd_probe_enter(r, "layer%d", l);
        w.h[l] = layer_of(r, &w, l, seg, in, m->opt.window ? 3 : 2);
        hd_probe_offer(r, "h", w.h[l], seg);
        hd_probe_leave(r);
    }
    if (r->err.status) return none;
    if (cache) keep_states(r, &w, cache);
    hd_tensor *all[HD_RECURRENT_LAYERS];
    for (int l = 0; l < m->opt.layers; l++) all[l] = below(r, &w, l);
    hd_tensor *x = m->opt.layers > 1 ? hd_concat_cols(r, all, (size_t)m->opt.layers) : all[0];
    return hd_rows_with(b->point, hd_dense_of(r, &m->out, x, HD_IDENTITY));
}

hd_tensor *hd_handwriting_loss(hd_run *r, const hd_handwriting *m, const hd_handwriting_batch *b)
{
    hd_rows y = hd_handwriting_rows(r, m, b, NULL, NULL);
    return hd_mixture_loss(r, y.t, b->next, &(hd_loss_opt){.coef = 1});
}

double hd_handwriting_flops(const hd_handwriting *m, double items, double points, double letters)
{
    const hd_handwriting_opt *o = &m->opt;
    double sum = 0, window = o->window ? letters * ((double)o->vocab + 4 * o->window) : 0;
    for (size_t i = 0; i < m->params.count; i++)
        if (m->params.list[i]->name) sum += (double)hd_count_of(&m->params.list[i]->t);
    return 2 * items * points * (sum + window);
}
