/* The gpt of handwriting. */
#include "model/stroke/pen_gpt.h"

#include <stdio.h>

#include "base/mem.h"
#include "model/formula.h"
#include "model/prepare.h"
#include "model/stroke/pen_model.h"

/* -- making -- */

static hd_status check(const hd_pen_gpt_opt *o, hd_err *err)
{
    if (!o->vocab || o->vocab > HD_PEN_MODEL_MOST)
        return hd_err_set(err, HD_EARG, "pen_gpt: %zu characters are not a valid model", o->vocab);
    hd_status s = hd_pen_bins_check(&o->bins, err);
    return s ? s : hd_pen_scale_check(&o->scale, "pen_gpt", err);
}

hd_status hd_pen_gpt_new(hd_pen_gpt **out, hd_backend *backend, const hd_pen_gpt_opt *opt, bool training,
                         hd_err *err)
{
    hd_status s = check(opt, err);
    if (s) return s;
    hd_pen_gpt *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    hd_gpt_opt g = {.stack = opt->stack,
                    .position = HD_GPT_SINUSOIDAL,
                    .vocab = hd_pen_gpt_tokens(opt),
                    .positions = opt->positions,
                    .embedding_dropout = opt->stack.dropout};
    g.stack.attention_dropout = opt->stack.dropout;
    g.stack.pre_norm = true, g.stack.eps = 1e-5f;
    s = hd_gpt_new(&m->gpt, backend, &g, training, err);
    if (s)
        hd_pen_gpt_free(m);
    else
        *out = m;
    return s;
}

void hd_pen_gpt_free(hd_pen_gpt *m)
{
    if (!m) return;
    hd_gpt_free(m->gpt);
    hd_mem_free(m);
}

hd_tensor *hd_pen_gpt_loss(hd_run *r, const hd_pen_gpt *m, const hd_pen_gpt_batch *b)
{
    hd_rows x = hd_gpt_forward(r, m->gpt, b->ids, b->seg, NULL);
    return hd_add(r, hd_gpt_loss(r, m->gpt, x, b->target, &(hd_loss_opt){.coef = 1}), b->area);
}

/* -- config.json -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_pen_gpt_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("layers", WHOLE, stack.layers), .least = 1, .most = 1000},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = 1024},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = HD_PEN_MODEL_MOST},
    {KEY("inner", WHOLE, stack.inner), .least = 1, .most = 4 * HD_PEN_MODEL_MOST},
    {KEY("activation", UNARY, stack.act)},
    {KEY("relative", WHOLE, stack.relative_span), .most = HD_PEN_MODEL_MOST, .when = HD_KEY_RARE},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    {KEY("vocab", WHOLE, vocab), .least = 1, .most = HD_PEN_MODEL_MOST},
    {KEY("context", WHOLE, positions), .least = 2, .most = 1 << 20},
    HD_PEN_SCALE_KEYS(hd_pen_gpt_opt, scale),
    {KEY("directions", WHOLE, bins.directions), .least = 1, .most = 4096},
    {KEY("lengths", WHOLE, bins.lengths), .least = 2, .most = 4096},
    {KEY("nearest", REAL, bins.nearest), .most = HD_STROKES_FARTHEST},
    {KEY("farthest", REAL, bins.farthest), .most = 1e15},
    {0},
};

void hd_pen_gpt_config_write(hd_text *to, const hd_pen_gpt_opt *o)
{
    hd_text_put(to, ",\n \"model\": \"gpt\"");
    hd_keys_write(to, keys, 0, o);
}

void hd_pen_gpt_config_read(hd_model_config *c, hd_pen_gpt_opt *o)
{
    hd_err why = {0};
    *o = (hd_pen_gpt_opt){0};
    hd_keys_read(c, keys, 0, o);
    check(o, &why);
    hd_pen_model_refuse(c, &why);
    if (!c->status && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}

/* -- among others -- */

static const hd_pen_gpt_opt *opt_of(const void *self)
{
    return &((const hd_pen_gpt *)self)->opt;
}

static void drop(void *self)
{
    hd_pen_gpt_free(self);
}

static const char *title(const void *self, char *buf, size_t size)
{
    snprintf(buf, size, "handwriting, gpt:%d", opt_of(self)->stack.layers);
    return buf;
}

static void describe(const void *self, hd_details *to)
{
    const hd_pen_gpt_opt *o = opt_of(self);
    hd_pen_model_describe(to, "gpt", o->stack.layers, o->stack.width);
    hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    hd_details_whole(to, "context", o->positions);
    if (o->stack.relative_span) hd_details_whole(to, "relative distances", (uint64_t)o->stack.relative_span);
    hd_details_whole(to, "directions", (uint64_t)o->bins.directions);
    hd_details_whole(to, "lengths", (uint64_t)o->bins.lengths);
}

static hd_model_sizes sizes(const void *self)
{
    hd_model_sizes s = hd_pen_model_sizes(opt_of(self)->vocab);
    s.positions = opt_of(self)->positions;
    return s;
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_gpt(p, ((const hd_pen_gpt *)self)->gpt);
}

static const char *formula(const void *self, const char *name)
{
    (void)self;
    return hd_formula_block(true, name);
}

/* length: of the text; outputs: points. */
static double flops(const void *self, double items, double length, double outputs)
{
    return hd_gpt_flops(((const hd_pen_gpt *)self)->gpt, (size_t)items, (size_t)(length + outputs));
}

const hd_model_type hd_model_pen_gpt = {
    .name = "pen_gpt",
    .free = drop,
    .title = title,
    .describe = describe,
    .sizes = sizes,
    .prepare = prepare,
    .formula = formula,
    .flops = flops,
};
