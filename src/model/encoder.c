/* Stages of an encoder. */
#include "model/encoder.h"

#include <stdio.h>

static void name_stage(char *to, size_t size, const char *name, int stage, const char *kind)
{
    if (stage)
        snprintf(to, size, "%s.%d%s%s", name, stage, *kind ? "." : "", kind);
    else
        snprintf(to, size, "%s%s%s", name, *kind ? "." : "", kind);
}

/* A stage that reads rows of `in` columns; returns what it gives. */
static size_t make_stage(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, int number, size_t in,
                         hd_status *st, hd_err *err)
{
    size_t width = o->stack.width;
    char name[128];
    if (s->is.kind == HD_STAGE_none) return in;
    if (hd_stage_recurs(&s->is)) {
        name_stage(name, sizeof name, o->name, number, "rnn");
        s->cells = hd_recurrent_make(p, &(hd_recurrent_opt){.cell = hd_stage_cell(&s->is),
                                                            .act = o->cell,
                                                            .in = in,
                                                            .width = width,
                                                            .layers = s->is.layers,
                                                            .both_ways = s->is.both_ways,
                                                            .reverse = o->reverse && !s->is.both_ways,
                                                            .dropout = o->stack.dropout,
                                                            .name = name});
        return hd_recurrent_out(&s->cells);
    }
    hd_stack_opt stack = o->stack;
    name_stage(name, sizeof name, o->name, number, "fit");
    if (in != width)
        s->fit = hd_dense_make(p, in, width, &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, name);
    name_stage(name, sizeof name, o->name, number, "");
    stack.layers = s->is.layers, stack.name = name;
    *st = hd_stack_make(&s->stack, p, &stack, err);
    return width;
}

hd_status hd_encoder_make(hd_encoder *out, hd_params *p, const hd_encoder_opt *opt, hd_embedding embedding,
                          hd_err *err)
{
    hd_status s = HD_OK;
    *out = (hd_encoder){.embedding = embedding,
                        .source_dropout = opt->source_dropout,
                        .stages = opt->stages.count,
                        .out = opt->in ? opt->in : opt->stack.width};
    for (int i = 0; !s && i < out->stages; i++) {
        out->stage[i].is = opt->stages.at[i];
        out->out = make_stage(&out->stage[i], p, opt, i, out->out, &s, err);
    }
    return s;
}

void hd_encoder_release(hd_encoder *e)
{
    for (int i = 0; i < e->stages; i++) hd_stack_release(&e->stage[i].stack);
    *e = (hd_encoder){0};
}

static int layers_of(const hd_encoder_stage *s)
{
    return s->is.kind == HD_STAGE_none ? 0 : hd_stage_recurs(&s->is) ? s->cells.layers : s->stack.opt.layers;
}

/* Its first layers. */
static hd_rows run_stage(hd_run *r, const hd_encoder_stage *s, int layers, hd_rows x, hd_encoded *out)
{
    if (!hd_stage_recurs(&s->is)) {
        if (s->fit.w) x.t = hd_dense_of(r, &s->fit, x.t, HD_IDENTITY);
        return hd_stack_behind(r, &s->stack, layers, x);
    }
    hd_recurrent first = s->cells;
    first.layers = layers;
    size_t states = (size_t)(layers * first.directions);
    out->cells = &s->cells;
    out->last = hd_host_take(r, states * sizeof(hd_tensor *));
    return out->last ? hd_recurrent_of(r, &first, x, NULL, out->last, NULL) : (hd_rows){0};
}

/* Whole vectors are dropped, the others scaled. */
static hd_tensor *drop_tokens(hd_run *r, hd_rows x, float p)
{
    if (!x.t || p <= 0 || !r->training) return x.t;
    return hd_mul(r, x.t, hd_dropout(r, hd_ones(r, hd_rows_of(x.t), 1), p, x.seg));
}

static hd_encoded run_stages(hd_run *r, const hd_encoder *e, int layers, const int32_t *ids,
                             const hd_seg *seg)
{
    hd_encoded y = {0};
    hd_probe_enter(r, "enc");
    y.rows = hd_embedding_of(r, &e->embedding, ids, seg ? seg->pos : NULL, seg);
    y.rows.t = drop_tokens(r, y.rows, e->source_dropout);
    for (int i = 0, left = layers; i < e->stages; i++) {
        int here = left < layers_of(&e->stage[i]) ? left : layers_of(&e->stage[i]);
        left -= here;
        if (!here) continue;
        if (i) hd_probe_enter(r, "stage%d", i);
        y.rows = run_stage(r, &e->stage[i], here, y.rows, &y);
        if (i) hd_probe_leave(r);
    }
    hd_probe_leave(r);
    return y;
}

hd_encoded hd_encoder_of(hd_run *r, const hd_encoder *e, const int32_t *ids, const hd_seg *seg)
{
    return run_stages(r, e, hd_encoder_layers(e), ids, seg);
}

hd_rows hd_encoder_behind(hd_run *r, const hd_encoder *e, int layers, const int32_t *ids, const hd_seg *seg)
{
    return run_stages(r, e, layers, ids, seg).rows;
}

int hd_encoder_layers(const hd_encoder *e)
{
    int sum = 0;
    for (int i = 0; i < e->stages; i++) sum += layers_of(&e->stage[i]);
    return sum;
}

size_t hd_encoder_width(const hd_encoder *e, int layers)
{
    for (int i = 0; i < e->stages; layers -= layers_of(&e->stage[i++])) {
        const hd_encoder_stage *s = &e->stage[i];
        if (layers > layers_of(s)) continue;
        return hd_stage_recurs(&s->is) ? hd_recurrent_out(&s->cells) : s->stack.opt.width;
    }
    return e->out;
}

double hd_encoder_flops(const hd_encoder *e, double items, double length)
{
    double sum = 0, rows = items * length;
    for (int i = 0; i < e->stages; i++) {
        const hd_encoder_stage *s = &e->stage[i];
        if (hd_stage_recurs(&s->is)) sum += rows * hd_recurrent_flops(&s->cells);
        if (s->fit.w) sum += 2 * rows * (double)hd_count_of(&s->fit.w->t);
        sum += hd_stack_flops(&s->stack.opt, items, length, 0);
    }
    return sum;
}
