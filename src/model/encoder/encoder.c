/* Stages of an encoder. */
#include "model/encoder/encoder.h"

#include <stdio.h>

#include "model/prepare.h"

/* -- kinds of stages -- */

void hd_encoder_stage_fit(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name)
{
    char fit[160];
    snprintf(fit, sizeof fit, "%s.fit", name);
    s->out = o->stack.width;
    if (s->in != s->out)
        s->fit = hd_dense_make(p, s->in, s->out, &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, fit);
}

const hd_stage_type hd_stage_type_none = {0};

static hd_status make_blocks(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name,
                             hd_err *err)
{
    hd_stack_opt stack = o->stack;
    hd_encoder_stage_fit(s, p, o, name);
    stack.layers = s->is.layers, stack.name = name;
    return hd_stack_make(&s->stack, p, &stack, err);
}

static void free_blocks(hd_encoder_stage *s)
{
    hd_stack_release(&s->stack);
}

static hd_rows rows_of_blocks(hd_run *r, const hd_encoder_stage *s, int layers, hd_rows x, hd_encoded *out)
{
    (void)out;
    return hd_stack_rows_at_layer(r, &s->stack, layers, x);
}

static double flops_of_blocks(const hd_encoder_stage *s, double items, double length)
{
    return hd_stack_flops(&s->stack.opt, items, length, 0);
}

static void prepare_blocks(hd_preparing *p, const hd_encoder_stage *s)
{
    hd_prepare_stack(p, &s->stack);
}

const hd_stage_type hd_stage_type_transformer = {.make = make_blocks,
                                                 .free = free_blocks,
                                                 .rows = rows_of_blocks,
                                                 .flops = flops_of_blocks,
                                                 .prepare = prepare_blocks};

static hd_status make_cells(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name,
                            hd_err *err)
{
    char rnn[160];
    (void)err;
    snprintf(rnn, sizeof rnn, "%s.rnn", name);
    s->cells = hd_recurrent_make(p, &(hd_recurrent_opt){.cell = hd_stage_cell(&s->is),
                                                        .act = o->cell,
                                                        .in = s->in,
                                                        .width = o->stack.width,
                                                        .layers = s->is.layers,
                                                        .both_ways = s->is.both_ways,
                                                        .reverse = o->reverse && !s->is.both_ways,
                                                        .dropout = o->stack.dropout,
                                                        .name = rnn});
    s->out = hd_recurrent_out(&s->cells);
    return HD_OK;
}

static hd_rows rows_of_cells(hd_run *r, const hd_encoder_stage *s, int layers, hd_rows x, hd_encoded *out)
{
    hd_recurrent first = s->cells;
    first.layers = layers;
    size_t states = (size_t)(layers * first.directions);
    out->cells = &s->cells;
    out->last = hd_host_take(r, states * sizeof(hd_tensor *));
    return out->last ? hd_recurrent_of(r, &first, x, NULL, out->last, NULL) : (hd_rows){0};
}

static double flops_of_cells(const hd_encoder_stage *s, double items, double length)
{
    return items * length * hd_recurrent_flops(&s->cells);
}

static void prepare_cells(hd_preparing *p, const hd_encoder_stage *s)
{
    hd_prepare_recurrent(p, &s->cells);
}

#define CELLS                                                                                        \
    {                                                                                                \
        .make = make_cells, .rows = rows_of_cells, .flops = flops_of_cells, .prepare = prepare_cells \
    }
const hd_stage_type hd_stage_type_rnn = CELLS, hd_stage_type_gru = CELLS, hd_stage_type_lstm = CELLS;

const hd_stage_type *const hd_stage_types[HD_STAGE_KINDS] = {
#define X(name, text) &hd_stage_type_##name,
    HD_STAGE_LIST(X)
#undef X
};

/* -- encoders -- */

enum { MOST_REDUCTION = 1 << 16 };

static hd_status make_stage(hd_encoder *e, int i, hd_params *p, const hd_encoder_opt *o, hd_err *err)
{
    hd_encoder_stage *s = &e->stage[i];
    char name[128];
    snprintf(name, sizeof name, i ? "%s.%d" : "%s", o->name, i);
    *s = (hd_encoder_stage){.is = o->stages.at[i],
                            .type = hd_stage_types[o->stages.at[i].kind],
                            .in = e->out,
                            .out = e->out,
                            .reduction = 1};
    hd_status st = s->type->make ? s->type->make(s, p, o, name, err) : HD_OK;
    if (!st && s->reduction > MOST_REDUCTION / e->reduction)
        st = hd_err_set(err, HD_EARG, "an encoder makes one row of %d rows at the most", MOST_REDUCTION);
    if (!st) e->out = s->out, e->reduction *= s->reduction;
    return st;
}

hd_status hd_encoder_make(hd_encoder *out, hd_params *p, const hd_encoder_opt *opt, hd_front front,
                          hd_err *err)
{
    hd_status s = HD_OK;
    *out = (hd_encoder){.front = front,
                        .source_dropout = opt->source_dropout,
                        .out = opt->in ? opt->in : opt->stack.width,
                        .reduction = 1};
    while (!s && out->stages < opt->stages.count) s = make_stage(out, out->stages++, p, opt, err);
    return s;
}

void hd_encoder_release(hd_encoder *e)
{
    for (int i = 0; i < e->stages; i++)
        if (e->stage[i].type->free) e->stage[i].type->free(&e->stage[i]);
    *e = (hd_encoder){0};
}

/* Whole vectors are dropped, the others scaled. */
static hd_tensor *drop_tokens(hd_run *r, hd_rows x, float p)
{
    if (!x.t || p <= 0 || !r->training) return x.t;
    return hd_mul(r, x.t, hd_dropout(r, hd_ones(r, hd_rows_of(x.t), 1), p, x.seg));
}

static hd_encoded run_stages(hd_run *r, const hd_encoder *e, int layers, const hd_items *in)
{
    hd_encoded y = {0};
    if (e->front.type->scoped) y.rows = hd_front_rows(r, &e->front, in);
    hd_probe_enter(r, "enc");
    if (!e->front.type->scoped) y.rows = hd_front_rows(r, &e->front, in);
    y.rows.t = drop_tokens(r, y.rows, e->source_dropout);
    for (int i = 0, left = layers; i < e->stages; i++) {
        const hd_encoder_stage *s = &e->stage[i];
        int here = left < s->is.layers ? left : s->is.layers;
        left -= here;
        if (!here) continue;
        if (i) hd_probe_enter(r, "stage%d", i);
        if (s->fit.w) y.rows.t = hd_dense_of(r, &s->fit, y.rows.t, HD_IDENTITY);
        y.rows = s->type->rows(r, s, here, y.rows, &y);
        if (i) hd_probe_leave(r);
    }
    hd_probe_leave(r);
    return y;
}

hd_encoded hd_encoder_of(hd_run *r, const hd_encoder *e, const hd_items *in)
{
    return run_stages(r, e, hd_encoder_layers(e), in);
}

hd_rows hd_encoder_rows_at_layer(hd_run *r, const hd_encoder *e, int layers, const hd_items *in)
{
    return run_stages(r, e, layers, in).rows;
}

int hd_encoder_layers(const hd_encoder *e)
{
    int sum = 0;
    for (int i = 0; i < e->stages; i++) sum += e->stage[i].is.layers;
    return sum;
}

size_t hd_encoder_width(const hd_encoder *e, int layers)
{
    for (int i = 0; i < e->stages; layers -= e->stage[i++].is.layers)
        if (layers <= e->stage[i].is.layers) return e->stage[i].out;
    return e->out;
}

double hd_encoder_flops(const hd_encoder *e, double items, double length)
{
    double sum = 0;
    for (int i = 0; i < e->stages; i++) {
        const hd_encoder_stage *s = &e->stage[i];
        if (s->fit.w) sum += 2 * items * length * (double)hd_count_of(&s->fit.w->t);
        if (s->type->flops) sum += s->type->flops(s, items, length);
        length /= s->reduction;
    }
    return sum;
}
