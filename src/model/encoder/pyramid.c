/* A stage of LSTM layers in both directions, each of which reads pairs of neighboring rows side by side and
   so halves their number: the listener of Listen, Attend and Spell. Its last layer is the stage's `cells`,
   which decoders take their first state from; the others are its own. */
#include <stdio.h>

#include "base/mem.h"
#include "model/encoder/encoder.h"
#include "model/prepare.h"

enum { PAIR = 2, MOST = 8 };

typedef struct pyramid {
    float dropout;
    hd_recurrent below[MOST]; /* all layers but the last */
} pyramid;

static const hd_recurrent *layer(const hd_encoder_stage *s, int l)
{
    return l + 1 < s->is.layers ? &((const pyramid *)s->self)->below[l] : &s->cells;
}

static hd_status make(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name,
                      hd_err *err)
{
    size_t in = s->in;
    if (!o->reduces) return hd_err_set(err, HD_EARG, "pyramid: only models that read sound have such layers");
    if (s->is.layers > MOST)
        return hd_err_set(err, HD_EARG, "pyramid: %d layers; 1 to %d can be stacked", s->is.layers, MOST);
    pyramid *y = s->self = hd_mem_zero(sizeof *y);
    if (!y) return hd_err_nomem(err, sizeof *y);
    y->dropout = o->stack.dropout;
    for (int l = 0; l < s->is.layers; l++) {
        char rnn[160];
        snprintf(rnn, sizeof rnn, "%s.pyramid.%d", name, l);
        const hd_recurrent_opt cell = {.cell = HD_LSTM,
                                       .in = PAIR * in,
                                       .width = o->stack.width,
                                       .layers = 1,
                                       .both_ways = true,
                                       .name = rnn};
        hd_recurrent *at = l + 1 < s->is.layers ? &y->below[l] : &s->cells;
        *at = hd_recurrent_make(p, &cell);
        in = hd_recurrent_out(at);
    }
    s->out = in, s->reduction = 1 << s->is.layers;
    return HD_OK;
}

static void release(hd_encoder_stage *s)
{
    hd_mem_free(s->self);
}

static hd_rows rows(hd_run *r, const hd_encoder_stage *s, int layers, hd_rows x, hd_encoded *out)
{
    const pyramid *y = s->self;
    out->cells = &s->cells;
    out->last = hd_host_take(r, (size_t)s->cells.directions * sizeof(hd_tensor *));
    if (!out->last) return (hd_rows){0};
    for (int l = 0; l < layers; l++) {
        hd_probe_enter(r, "%d", l);
        x = hd_fold(r, x, PAIR);
        x.t = hd_dropout(r, x.t, y->dropout, x.seg);
        x = hd_recurrent_of(r, layer(s, l), x, NULL, out->last, NULL);
        hd_probe_leave(r);
    }
    return x;
}

static double flops(const hd_encoder_stage *s, double items, double length)
{
    double sum = 0;
    for (int l = 0; l < s->is.layers; l++) sum += items * (length /= PAIR) * hd_recurrent_flops(layer(s, l));
    return sum;
}

static void prepare(hd_preparing *p, const hd_encoder_stage *s)
{
    for (int l = 0; l < s->is.layers; l++) hd_prepare_recurrent(p, layer(s, l));
}

const hd_stage_type hd_stage_type_pyramid = {
    .make = make, .free = release, .rows = rows, .flops = flops, .prepare = prepare};
