/* A recurrent decoder at work. Easy to get wrong: what is computed once for all rows (what tokens give the
   gates) and what for a step; a step of training has rows of items that have ended, which nobody reads. */
#include "model/encdec/recurrent_decoder.h"

#include "model/stepper_parts.h"

typedef struct speech { /* of one call */
    const hd_recurrent_decoder *d;
    const hd_unrolled *steps;              /* NULL: all rows at once */
    const hd_voice *voice;                 /* NULL: it reads what it is given */
    hd_rows x;                             /* token vectors */
    hd_tensor *places;                     /* of the rows, where attention asks for them; else NULL */
    hd_tensor *gates[HD_RECURRENT_LAYERS]; /* what tokens give them, all rows; NULL: nothing */
    hd_tensor *state[HD_RECURRENT_LAYERS];
    hd_tensor *told; /* [N, C]: the context where it is the same at every step */
    hd_tensor *fed;  /* [N, out]: what was read last */
    hd_tensor *held; /* [N, C]: the context of the first step, where it was computed before; else NULL */
    hd_seen seen;
    hd_rows h[HD_RECURRENT_LAYERS]; /* of the rows at hand */
} speech;

static hd_tensor *value(hd_param *p)
{
    return p ? &p->t : NULL;
}

/* x + y, where either may be absent. */
static hd_tensor *plus(hd_run *r, hd_tensor *x, hd_tensor *y)
{
    return x && y ? hd_add(r, x, y) : x ? x : y;
}

static hd_tensor *map(hd_run *r, hd_tensor *x, hd_param *w)
{
    return x && w ? hd_linear(r, x, value(w), NULL, HD_IDENTITY) : NULL;
}

/* -- the beginning -- */

static hd_tensor *last_h(hd_run *r, const hd_encoded *m)
{
    size_t n = (size_t)m->cells->directions, first = (size_t)(m->cells->layers - 1) * n;
    hd_tensor *h[2];
    for (size_t i = 0; i < n; i++) h[i] = hd_slice_cols(r, m->last[first + i], 0, m->cells->width);
    return n > 1 ? hd_concat_cols(r, h, n) : h[0];
}

static hd_tensor *first_state(hd_run *r, const hd_recurrent_decoder *d, int l, const hd_encoded *m,
                              size_t items)
{
    const hd_recurrent_decoder_layer *a = &d->layer[l];
    switch (d->opt.begin) {
    case HD_BEGINNING_learned:
        return hd_linear(r, hd_ones(r, items, 1), value(a->learned), NULL, HD_IDENTITY);
    case HD_BEGINNING_mean:
        return hd_reduce(r, m->rows.t, m->rows.seg, HD_MEAN);
    case HD_BEGINNING_ones:
        return hd_ones(r, items, d->width * (d->is.kind == HD_STAGE_lstm ? 2 : 1));
    case HD_BEGINNING_linear:
        return hd_dense_of(r, &a->begin, hd_reduce(r, m->rows.t, m->rows.seg, HD_MEAN), HD_IDENTITY);
    case HD_BEGINNING_map:
    case HD_BEGINNING_maps:
        return hd_dense_of(r, &a->begin, hd_reduce(r, m->rows.t, m->rows.seg, HD_MEAN), HD_tanh);
    case HD_BEGINNING_final:
        return a->begin.w ? hd_dense_of(r, &a->begin, last_h(r, m), HD_tanh) : m->last[l];
    case HD_BEGINNING_zeros:
    case HD_BEGINNINGS:
        break;
    }
    return NULL;
}

static hd_tensor *summary(hd_run *r, const hd_recurrent_decoder *d, const hd_encoded *m)
{
    if (d->opt.context == HD_CONTEXT_everywhere) return last_h(r, m);
    return d->opt.context == HD_CONTEXT_mean ? hd_reduce(r, m->rows.t, m->rows.seg, HD_MEAN) : NULL;
}

/* Slots: a state a layer, the summary, what was fed back, the next context, keys and values. */
static void begin(hd_run *r, speech *s, const hd_encoded *m, hd_slot *slot)
{
    const hd_recurrent_decoder *d = s->d;
    int layers = d->is.layers;
    bool held = slot && slot->filled;
    for (int l = 0; l < layers; l++)
        s->state[l] = held ? hd_slot_state(r, slot + l) : first_state(r, d, l, m, s->x.seg->items);
    s->told = held ? hd_slot_state(r, slot + layers) : summary(r, d, m);
    if (slot && !held) hd_slot_put(r, slot + layers, s->told);
    s->fed = held ? hd_slot_state(r, slot + layers + 1) : NULL;
    s->held = held ? hd_slot_state(r, slot + layers + 2) : NULL;
    if (d->opt.context == HD_CONTEXT_attention)
        s->seen = hd_look_memory(r, &d->look, m->rows, slot ? slot + layers + 3 : NULL);
}

/* Token vectors as the cells meet them. */
static hd_tensor *entering(hd_run *r, const hd_recurrent_decoder *d, hd_tensor *x)
{
    if (d->opt.relu) x = hd_apply(r, x, HD_relu);
    return d->opt.no_feedback ? hd_scale(r, x, 0) : x;
}

static void tokens_to_gates(hd_run *r, const hd_recurrent_decoder *d, hd_tensor *x, hd_tensor **gates)
{
    gates[0] = hd_linear(r, x, value(d->layer[0].w_in), value(d->layer[0].b_in), HD_IDENTITY);
    for (int l = 1; l < d->is.layers; l++) gates[l] = map(r, x, d->layer[l].skip);
}

/* -- one pass of the cells over the rows at hand: all, or those of a step -- */

static void run_cells(hd_run *r, speech *s, const hd_seg *seg, hd_tensor *const *gates, hd_tensor *context)
{
    const hd_recurrent_decoder *d = s->d;
    hd_recur_opt o = {hd_stage_cell(&d->is), d->cell, false};
    for (int l = 0; l < d->is.layers; l++) {
        const hd_recurrent_decoder_layer *a = &d->layer[l];
        hd_tensor *z = gates[l];
        hd_probe_enter(r, "layer%d", l);
        if (l) {
            hd_tensor *below = hd_dropout(r, s->h[l - 1].t, d->dropout, seg);
            z = plus(r, z, hd_linear(r, below, value(a->w_in), value(a->b_in), HD_IDENTITY));
        }
        z = plus(r, plus(r, z, map(r, context, a->context)), map(r, s->fed, a->fed));
        s->h[l] = hd_recur(r, (hd_rows){z, seg}, value(a->w), value(a->b), s->state[l], &o, &s->state[l]);
        hd_probe_offer(r, "h", s->h[l].t, seg);
        hd_probe_leave(r);
    }
}

/* What the output layer reads of rows: h of the layers, their contexts, their tokens. */
static hd_tensor *read(hd_run *r, const hd_recurrent_decoder *d, const hd_rows *h, hd_tensor *context,
                       hd_tensor *token)
{
    int top = d->is.layers - 1;
    if (d->opt.read == HD_READING_state) return h[top].t;
    hd_tensor *y = hd_dense_of(r, &d->layer[top].read, h[top].t, HD_IDENTITY);
    for (int l = 0; l < top; l++) y = plus(r, y, map(r, h[l].t, d->layer[l].read.w));
    y = plus(r, plus(r, y, map(r, context, d->read_context.w)), map(r, token, d->read_token.w));
    if (d->opt.read == HD_READING_residual) y = plus(r, y, token);
    if (d->opt.read == HD_READING_tanh || d->opt.read == HD_READING_deep) y = hd_apply(r, y, HD_tanh);
    return hd_probe_offer(r, "read", y, h[top].seg);
}

static hd_tensor *zeros(hd_run *r, size_t rows, size_t cols)
{
    hd_tensor *x = hd_new(r, rows, cols);
    hd_clear(r, x);
    return x;
}

static hd_tensor *previous_query(hd_run *r, const speech *s, const hd_seg *seg)
{
    hd_tensor *state = s->state[s->d->is.layers - 1];
    return state ? hd_slice_cols(r, state, 0, s->d->width) : zeros(r, seg->items, s->d->width);
}

/* What the state before the word is told. */
static hd_tensor *look_before(hd_run *r, const speech *s, const hd_seg *seg, hd_tensor *places,
                              hd_tensor **weights)
{
    return hd_look_of(r, &s->d->look, (hd_rows){previous_query(r, s, seg), seg}, &s->seen, places, weights);
}

/* The doubly stochastic penalty: over all words of an item every row of its memory is to get a weight of 1.
   The marks of a memory add up to 1 where an item has a row and to 0 behind its end. */
static void penalize(hd_run *r, const speech *s, hd_tensor *weights)
{
    if (!weights || !s->seen.marks) return;
    hd_tensor *spent = hd_reduce(r, weights, s->x.seg, HD_SUM),
              *wanted = hd_reduce(r, s->seen.marks, s->seen.k.seg, HD_SUM);
    hd_tensor *loss = hd_squared_error(r, spent, wanted, &(hd_loss_opt){.coef = s->d->opt.penalty});
    hd_probe_offer(r, "penalty", loss, NULL);
}

/* -- row by row -- */

typedef struct said { /* of all steps */
    hd_tensor **h[HD_RECURRENT_LAYERS], **context, **weights, **read;
} said;

static bool make_said(hd_run *r, said *a, const speech *s)
{
    size_t n = s->steps->steps;
    for (int l = 0; l < s->d->is.layers; l++)
        if (!(a->h[l] = hd_host_take(r, n * sizeof *a->h[l]))) return false;
    a->context = hd_host_take(r, n * sizeof *a->context);
    a->weights = hd_host_take(r, n * sizeof *a->weights);
    a->read = hd_host_take(r, n * sizeof *a->read);
    return a->context && a->weights && a->read;
}

/* The rows of x that a step has; row NULL: all. */
static hd_tensor *of_step(hd_run *r, hd_tensor *x, const int32_t *row, size_t items)
{
    return x && row ? hd_gather(r, x, row, items, 1) : x;
}

static bool reads_token(const hd_recurrent_decoder *d)
{
    return d->opt.read == HD_READING_deep || d->opt.read == HD_READING_residual;
}

/* What enters the gates in step t; returns the tokens where they are read. */
static hd_tensor *tokens_of_step(hd_run *r, const speech *s, const int32_t *row, size_t t, hd_tensor **gates)
{
    const hd_recurrent_decoder *d = s->d;
    size_t n = s->steps->items;
    hd_tensor *x = s->voice || reads_token(d) ? of_step(r, s->x.t, row, n) : NULL;
    if (s->voice) {
        x = entering(r, d, t ? hd_voice_feed(r, s->voice, s->fed, x, s->steps->single) : x);
        tokens_to_gates(r, d, x, gates);
        return x;
    }
    for (int l = 0; l < d->is.layers; l++) gates[l] = of_step(r, s->gates[l], row, n);
    return x;
}

static void one_step(hd_run *r, speech *s, said *a, size_t t)
{
    const hd_recurrent_decoder *d = s->d;
    const hd_unrolled *u = s->steps;
    const int32_t *row = u->row ? u->row + t * u->items : NULL;
    bool attends = d->opt.context == HD_CONTEXT_attention, late = d->opt.query == HD_QUERY_current;
    hd_tensor *gates[HD_RECURRENT_LAYERS], *token = tokens_of_step(r, s, row, t, gates), *c = s->told,
                                           *places = of_step(r, s->places, row, u->items);
    a->weights[t] = NULL;
    if (attends && !late) c = !t && s->held ? s->held : look_before(r, s, u->single, places, &a->weights[t]);
    run_cells(r, s, u->single, gates, c);
    if (attends && late)
        c = hd_look_of(r, &d->look, s->h[d->is.layers - 1], &s->seen, places, &a->weights[t]);
    for (int l = 0; l < d->is.layers; l++) a->h[l][t] = s->h[l].t;
    a->context[t] = c;
    if (d->opt.feed_context || s->voice) s->fed = a->read[t] = read(r, d, s->h, c, token);
}

/* Steps one after the other, back to rows item after item. */
static hd_tensor *in_order(hd_run *r, const hd_unrolled *u, hd_tensor *const *step, size_t rows)
{
    if (!u->row) return step[0];
    return hd_gather(r, hd_concat_rows(r, step, u->steps), u->place, rows, 1);
}

/* The penalty of disorder. With C the sums of the weights of a word up to each row of the memory, C' those of
   the word before: sum max(0, C - C') is how far weight is carried back, in rows. Weight that stays where it
   is and weight that is carried on cost nothing. */
static void keep_order(hd_run *r, const speech *s, hd_tensor **step)
{
    const hd_unrolled *u = s->steps;
    hd_tensor **before = hd_host_take(r, u->steps * sizeof *before);
    if (!before) return;
    before[0] = step[0];
    for (size_t t = 1; t < u->steps; t++) before[t] = step[t - 1];
    hd_tensor *now = in_order(r, u, step, s->x.seg->rows),
              *back = hd_sub(r, now, in_order(r, u, before, s->x.seg->rows));
    hd_probe_offer(r, "penalty", hd_sum_loss(r, hd_apply(r, back, HD_relu), s->d->opt.order), NULL);
}

/* Numbers of draws for all steps together: those of what follows do not depend on how many steps there are,
   which is up to the longest item of the batch. */
enum { DRAWS = 1 << 20 };

static hd_tensor *row_by_row(hd_run *r, speech *s)
{
    uint32_t draws = r->draws;
    const hd_recurrent_decoder *d = s->d;
    const hd_unrolled *u = s->steps;
    hd_rows h[HD_RECURRENT_LAYERS];
    said a = {0};
    size_t rows = s->x.seg->rows;
    if (!make_said(r, &a, s)) return NULL;
    for (size_t t = 0; t < u->steps && !r->err.status; t++) one_step(r, s, &a, t);
    if (r->err.status) return NULL;
    r->draws = draws + DRAWS;
    if (s->seen.marks && d->opt.order > 0)
        keep_order(r, s, a.weights);
    else if (s->seen.marks)
        penalize(r, s, in_order(r, u, a.weights, rows));
    if (d->opt.feed_context || s->voice) return in_order(r, u, a.read, rows);
    for (int l = d->opt.read == HD_READING_sum ? 0 : d->is.layers - 1; l < d->is.layers; l++)
        h[l] = (hd_rows){in_order(r, u, a.h[l], rows), s->x.seg};
    return read(r, d, h, d->read_context.w ? in_order(r, u, a.context, rows) : NULL, s->x.t);
}

/* -- all rows at once -- */

static hd_tensor *at_once(hd_run *r, speech *s)
{
    const hd_recurrent_decoder *d = s->d;
    hd_tensor *c =
        s->told ? hd_probe_offer(r, "context", hd_broadcast(r, s->told, s->x.seg), s->x.seg) : NULL;
    run_cells(r, s, s->x.seg, s->gates, c);
    hd_tensor *weights = NULL;
    if (d->opt.context == HD_CONTEXT_attention)
        c = hd_look_of(r, &d->look, s->h[d->is.layers - 1], &s->seen, s->places, &weights);
    penalize(r, s, weights);
    return read(r, d, s->h, c, s->x.t);
}

hd_rows hd_recurrent_decoder_of(hd_run *r, const hd_recurrent_decoder *d, hd_rows x, const hd_encoded *memory,
                                const int32_t *pos, hd_slot *slot, const hd_voice *voice)
{
    hd_rows none = {0};
    speech s = {.d = d, .voice = voice, .x = x};
    int layers = d->is.layers;
    if (!x.t || !x.seg || (slot && !hd_cache_begin(r, slot->cache, x.seg))) return none;
    if ((voice || hd_recurrent_decoder_unrolls(d)) && !(s.steps = hd_unroll(r, x.seg))) return none;
    hd_probe_enter(r, "0");
    begin(r, &s, memory, slot);
    s.places = hd_look_places(r, &d->look, pos, x.seg->rows);
    if (!voice) {
        s.x.t = entering(r, d, x.t);
        tokens_to_gates(r, d, s.x.t, s.gates);
    }
    hd_tensor *y = r->err.status ? NULL : s.steps ? row_by_row(r, &s) : at_once(r, &s);
    for (int l = 0; slot && l < layers; l++) hd_slot_put(r, slot + l, s.state[l]);
    if (slot) hd_slot_put(r, slot + layers + 1, s.fed);
    hd_probe_leave(r);
    return hd_rows_with(x, hd_dropout(r, y, d->dropout, x.seg));
}

/* -- before the hypotheses of a step are picked -- */

void hd_recurrent_decoder_look(hd_run *r, const hd_recurrent_decoder *d, hd_slot *slot)
{
    size_t n = slot->cache->items;
    int layers = d->is.layers;
    speech s = {.d = d};
    const hd_seg *seg = hd_single_rows(r, n);
    const int32_t *pos = hd_ints(r, slot->cache->length, n);
    if (!seg || !pos) return;
    hd_probe_enter(r, "dec.0");
    for (int l = 0; l < layers; l++) s.state[l] = hd_slot_state(r, slot + l);
    s.seen = hd_look_memory(r, &d->look, (hd_rows){0}, slot + layers + 3);
    hd_slot_put(r, slot + layers + 2, look_before(r, &s, seg, hd_look_places(r, &d->look, pos, n), NULL));
    hd_probe_leave(r);
}

void hd_recurrent_decoder_drop_look(const hd_recurrent_decoder *d, hd_slot *slot)
{
    slot[d->is.layers + 2].filled = false;
}
