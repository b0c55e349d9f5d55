/* Recurrent layers built from linear and recur. Easy to get wrong: a slot's memory is overwritten by the next
   state while the tape still needs the one before. */
#include "nn/recurrent.h"

static hd_tensor *value(hd_param *p)
{
    return p ? &p->t : NULL;
}

static hd_recurrent_pass pass_make(hd_params *p, const hd_recurrent_opt *o, size_t in, int layer,
                                   bool reverse)
{
    const char *suffix = reverse ? "_reverse" : "";
    hd_init init = {HD_INIT_TORCH, 1, o->width}; /* of all four */
    size_t out = hd_cell_gates(o->cell) * o->width;
    hd_recurrent_pass a = {
        .w_in = hd_param_add(p, out, in, init, "%s.weight_ih_l%d%s", o->name, layer, suffix),
        .w = hd_param_add(p, out, o->width, init, "%s.weight_hh_l%d%s", o->name, layer, suffix),
    };
    if (o->no_bias) return a;
    a.b_in = hd_param_add(p, out, 0, init, "%s.bias_ih_l%d%s", o->name, layer, suffix);
    a.b = hd_param_add(p, out, 0, init, "%s.bias_hh_l%d%s", o->name, layer, suffix);
    return a;
}

hd_recurrent hd_recurrent_make(hd_params *p, const hd_recurrent_opt *o)
{
    hd_recurrent m = {.cell = o->cell,
                      .act = o->act == HD_IDENTITY ? HD_tanh : o->act,
                      .width = o->width,
                      .layers = o->layers,
                      .directions = o->both_ways ? 2 : 1,
                      .reverse = o->reverse,
                      .dropout = o->dropout};
    if (o->layers < 1 || o->layers > HD_RECURRENT_LAYERS || !o->in || !o->width) {
        if (!p->err.status)
            hd_err_set(&p->err, HD_EARG, "%s: %d recurrent layers of %zu from %zu; 1 to %d can be stacked",
                       o->name, o->layers, o->width, o->in, HD_RECURRENT_LAYERS);
        m.layers = 0;
        return m;
    }
    for (int l = 0; l < m.layers; l++)
        for (int d = 0; d < m.directions; d++)
            m.pass[l][d] = pass_make(p, o, l ? hd_recurrent_out(&m) : o->in, l, d);
    return m;
}

size_t hd_recurrent_out(const hd_recurrent *m)
{
    return m->width * (size_t)m->directions;
}
size_t hd_recurrent_state(const hd_recurrent *m)
{
    return m->width * (m->cell == HD_LSTM ? 2 : 1);
}

double hd_recurrent_flops(const hd_recurrent *m)
{
    double sum = 0;
    for (int l = 0; l < m->layers; l++)
        for (int d = 0; d < m->directions; d++)
            sum += 2 * (double)(hd_count_of(&m->pass[l][d].w_in->t) + hd_count_of(&m->pass[l][d].w->t));
    return sum;
}

/* The state in a slot: in place, or a copy for backward. */
static hd_tensor *carried(hd_run *r, hd_slot *slot)
{
    hd_tensor *held = hd_slot_state(r, slot);
    if (!held || !r->taping) return held;
    hd_tensor *copy = hd_like(r, held);
    if (copy) HD_CALL(r, mix, .y = copy, .x = held, .a = 1);
    return copy;
}

static hd_tensor *pass_of(hd_run *r, const hd_recurrent *m, const hd_recurrent_pass *p, hd_rows x,
                          bool reverse, hd_tensor *start, hd_tensor **last)
{
    hd_recur_opt o = {m->cell, m->act, reverse};
    hd_tensor *z = hd_linear(r, x.t, value(p->w_in), value(p->b_in), HD_IDENTITY);
    return hd_recur(r, hd_rows_with(x, z), value(p->w), value(p->b), start, &o, last).t;
}

hd_rows hd_recurrent_of(hd_run *r, const hd_recurrent *m, hd_rows x, hd_tensor *const *start,
                        hd_tensor **last, hd_slot *slot)
{
    hd_rows none = {0};
    if (!x.t || !x.seg) return none;
    if (slot && m->directions > 1)
        return hd_fail(r, HD_EARG, "recurrent: a layer that goes both ways cannot be continued"), none;
    if (slot && !hd_cache_begin(r, slot->cache, x.seg)) return none;
    for (int l = 0; l < m->layers; l++) {
        hd_tensor *y[2] = {NULL, NULL};
        hd_slot *s = slot ? slot + l : NULL;
        hd_probe_enter(r, "%d", l);
        for (int d = 0; d < m->directions; d++) {
            int at = l * m->directions + d;
            hd_tensor *from = s && s->filled ? carried(r, s) : start ? start[at] : NULL, *end = NULL;
            if (d) hd_probe_enter(r, "reverse");
            y[d] = pass_of(r, m, &m->pass[l][d], x, d != m->reverse, from, s || last ? &end : NULL);
            if (d) hd_probe_leave(r);
            if (s) hd_slot_put(r, s, end);
            if (last) last[at] = end;
        }
        x.t = m->directions > 1 && y[0] && y[1] ? hd_concat_cols(r, y, 2) : y[0];
        hd_probe_offer(r, "h", x.t, x.seg);
        hd_probe_leave(r);
        if (l + 1 < m->layers) x.t = hd_dropout(r, x.t, m->dropout, x.seg);
    }
    return x;
}
