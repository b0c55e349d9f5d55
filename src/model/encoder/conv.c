/* A stage of convolutions over tokens: a row of a layer is made from itself and its neighbors, as many as the
   kernel reaches, and added to what came in. Easy to get wrong: the rows of items lie one behind the other,
   so what is moved over the end of an item has to become zeros. */
#include <stdio.h>

#include "base/mem.h"
#include "model/encoder/encoder.h"
#include "model/prepare.h"

enum { KERNEL = 3, MOST = 31 };

typedef struct conv_layer {
    hd_dense of; /* of the neighbors side by side, the farthest before first */
    hd_norm_layer norm;
} conv_layer;

typedef struct conv {
    hd_stack_opt opt;
    int kernel;
    hd_norm_layer last; /* after pre-norm layers */
    conv_layer layer[];
} conv;

static bool size(int n)
{
    return n % 2 && n >= KERNEL && n <= MOST;
}

static hd_norm_layer norm_at(hd_params *p, const hd_stack_opt *o, const char *name)
{
    return hd_norm_make(p, o->width, o->eps, o->rms, HD_AFFINE, name);
}

static hd_status make(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name,
                      hd_err *err)
{
    size_t layers = (size_t)s->is.layers, width = o->stack.width;
    conv *c = s->self = hd_mem_zero(sizeof *c + layers * sizeof *c->layer);
    if (!c) return hd_err_nomem(err, sizeof *c + layers * sizeof *c->layer);
    hd_encoder_stage_fit(s, p, o, name);
    *c = (conv){.opt = o->stack, .kernel = s->is.size ? s->is.size : KERNEL};
    for (size_t l = 0; l < layers; l++) {
        char part[160];
        snprintf(part, sizeof part, "%s.conv.%zu", name, l);
        c->layer[l].of = hd_dense_make(p, (size_t)c->kernel * width, width,
                                       &(hd_dense_opt){.init = {HD_INIT_XAVIER, 1, 0}}, part);
        snprintf(part, sizeof part, "%s.conv.%zu.norm", name, l);
        c->layer[l].norm = norm_at(p, &c->opt, part);
    }
    char last[160];
    snprintf(last, sizeof last, "%s.conv.norm", name);
    if (c->opt.pre_norm) c->last = norm_at(p, &c->opt, last);
    return HD_OK;
}

static void release(hd_encoder_stage *s)
{
    hd_mem_free(s->self);
}

/* [R,1]: 1 in the rows of items, but 0 in the first of each. Rows that a batch is filled up with belong to
   none: the last row of all must not see the first of them. */
static hd_tensor *inner_rows(hd_run *r, const hd_seg *seg)
{
    hd_tensor *live = hd_gather(r, hd_ones(r, seg->items, 1), seg->item, seg->rows, 1);
    hd_tensor *first = hd_scatter(r, hd_reduce(r, live, seg, HD_MAX), seg->begin, seg->rows);
    return hd_sub(r, live, first);
}

/* Every row one further or one back; `inner` keeps them inside their items. */
static hd_tensor *moved(hd_run *r, hd_tensor *x, hd_tensor *inner, bool further)
{
    size_t rows = x ? hd_rows_of(x) : 0;
    if (!rows) return x;
    hd_tensor *edge = hd_scale(r, hd_slice_rows(r, x, 0, 1), 0);
    if (rows == 1) return edge;
    if (further)
        return hd_mul(r, hd_concat_rows(r, (hd_tensor *[]){edge, hd_slice_rows(r, x, 0, rows - 1)}, 2),
                      inner);
    x = hd_mul(r, x, inner);
    return hd_concat_rows(r, (hd_tensor *[]){hd_slice_rows(r, x, 1, rows - 1), edge}, 2);
}

/* [R, kernel * width]: the neighbors of every row side by side. */
static hd_tensor *neighbors(hd_run *r, const conv *c, hd_tensor *x, hd_tensor *inner)
{
    hd_tensor *at[MOST];
    int middle = c->kernel / 2;
    at[middle] = x;
    for (int i = middle; i > 0; i--) at[i - 1] = moved(r, at[i], inner, true);
    for (int i = middle; i + 1 < c->kernel; i++) at[i + 1] = moved(r, at[i], inner, false);
    return hd_concat_cols(r, at, (size_t)c->kernel);
}

static hd_rows rows(hd_run *r, const hd_encoder_stage *s, int layers, hd_rows x, hd_encoded *out)
{
    const conv *c = s->self;
    (void)out;
    if (!x.t || !x.seg) return x;
    hd_tensor *inner = inner_rows(r, x.seg);
    hd_stream stream = {.x = x, .pre = c->opt.pre_norm, .dropout = c->opt.dropout};
    for (int l = 0; l < layers; l++) {
        hd_probe_enter(r, "%d", l);
        hd_probe_enter(r, "conv");
        x = hd_stream_in(r, &stream, &c->layer[l].norm);
        hd_tensor *y = hd_dense_of(r, &c->layer[l].of, neighbors(r, c, x.t, inner), c->opt.act);
        hd_stream_out(r, &stream, &c->layer[l].norm, hd_rows_with(x, hd_probe_offer(r, "branch", y, x.seg)));
        hd_probe_leave(r);
        hd_probe_leave(r);
    }
    return hd_stream_end(r, &stream, layers == s->is.layers ? &c->last : NULL);
}

static double flops(const hd_encoder_stage *s, double items, double length)
{
    const conv *c = s->self;
    return 2 * s->is.layers * items * length * (double)hd_count_of(&c->layer[0].of.w->t);
}

static void prepare(hd_preparing *p, const hd_encoder_stage *s)
{
    const conv *c = s->self;
    for (int l = 0; l < s->is.layers; l++) hd_prepare(p, c->layer[l].of.w);
}

const hd_stage_type hd_stage_type_conv = {
    .size = size, .make = make, .free = release, .rows = rows, .flops = flops, .prepare = prepare};
