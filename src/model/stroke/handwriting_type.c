/* Networks of handwriting in config.json, and as models among others. */
#include <stdio.h>

#include "model/formula.h"
#include "model/prepare.h"
#include "model/stroke/handwriting.h"
#include "model/stroke/pen_model.h"

/* -- config.json -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_handwriting_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("layers", WHOLE, layers), .least = 1, .most = HD_RECURRENT_LAYERS},
    {KEY("width", WHOLE, width), .least = 1, .most = HD_PEN_MODEL_MOST},
    {KEY("vocab", WHOLE, vocab), .least = 1, .most = HD_PEN_MODEL_MOST},
    {KEY("mixtures", WHOLE, mixtures), .least = 1, .most = HD_MIXTURE_MOST},
    {KEY("window", WHOLE, window), .least = 0, .most = HD_WINDOW_MOST},
    {KEY("dropout", REAL, dropout), .most = 0.999},
    HD_PEN_SCALE_KEYS(hd_handwriting_opt, scale),
    {0},
};

void hd_handwriting_config_write(hd_text *to, const hd_handwriting_opt *o)
{
    hd_text_put(to, ",\n \"model\": \"handwriting\"");
    hd_keys_write(to, keys, 0, o);
}

void hd_handwriting_config_read(hd_model_config *c, hd_handwriting_opt *o)
{
    static const char *const models[] = {"handwriting"};
    hd_err why = {0};
    *o = (hd_handwriting_opt){0};
    hd_model_config_name(c, "model", models, 1);
    hd_keys_read(c, keys, 0, o);
    hd_pen_scale_check(&o->scale, "handwriting", &why);
    hd_pen_model_refuse(c, &why);
}

/* -- among others -- */

static void drop(void *self)
{
    hd_handwriting_free(self);
}

static const char *title(const void *self, char *buf, size_t size)
{
    const hd_handwriting_opt *o = &((const hd_handwriting *)self)->opt;
    snprintf(buf, size, "handwriting, lstm:%d%s", o->layers, o->window ? " with a window" : "");
    return buf;
}

static void describe(const void *self, hd_details *to)
{
    const hd_handwriting_opt *o = &((const hd_handwriting *)self)->opt;
    hd_pen_model_describe(to, "handwriting", o->layers, o->width);
    hd_details_whole(to, "mixtures", (uint64_t)o->mixtures);
    hd_details_whole(to, "window", (uint64_t)o->window);
    hd_details_real(to, "deviation_x", (double)o->scale.deviation[0], "");
    hd_details_real(to, "deviation_y", (double)o->scale.deviation[1], "");
}

static hd_model_sizes sizes(const void *self)
{
    return hd_pen_model_sizes(((const hd_handwriting *)self)->opt.vocab);
}

static void prepare(hd_preparing *p, const void *self)
{
    const hd_handwriting *m = self;
    for (int l = 0; l < m->opt.layers; l++)
        hd_prepare(p, m->layer[l].w_in), hd_prepare_cell(p, m->layer[l].w);
    hd_prepare(p, m->window.w);
    hd_prepare(p, m->out.w);
}

static const char *formula(const void *self, const char *name)
{
    (void)self;
    if (hd_formula_is(name, "window"))
        return "sum over the characters u of their one-hot row times sum of alpha exp(-beta (kappa - u)^2)";
    if (hd_formula_is(name, "kappa")) return "kappa of the point before + exp(h W + b)";
    return NULL;
}

static double flops(const void *self, double items, double length, double outputs)
{
    return hd_handwriting_flops(self, items, outputs, length);
}

const hd_model_type hd_model_handwriting = {
    .name = "handwriting",
    .free = drop,
    .title = title,
    .describe = describe,
    .sizes = sizes,
    .prepare = prepare,
    .formula = formula,
    .flops = flops,
};
