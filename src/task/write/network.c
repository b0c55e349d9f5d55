/* Graves' networks as a kind of model that writes. */
#include <stdio.h>

#include "task/write/kind.h"

static const hd_handwriting_opt *opt_of(const void *model)
{
    return &((const hd_handwriting *)model)->opt;
}

/* -- its sizes -- */

static void sizes(hd_write_sizes *to, const hd_train_options *o)
{
    to->network = (hd_handwriting_opt){.width = (size_t)o->width,
                                       .layers = o->layers,
                                       .mixtures = o->mixtures,
                                       .window = o->window_gaussians,
                                       .dropout = (float)o->dropout};
}

static hd_status measure(hd_write_sizes *to, const hd_strokes *s, size_t vocab, hd_err *err)
{
    to->network.vocab = vocab;
    return hd_pen_scale_measure(&to->network.scale, s, err);
}

static void take(hd_write_sizes *to, const void *model)
{
    const float dropout = to->network.dropout;
    to->network = *opt_of(model), to->network.dropout = dropout;
}

static void read(hd_model_config *c, hd_write_sizes *to)
{
    hd_handwriting_config_read(c, &to->network);
}

static void write(hd_text *to, const void *model)
{
    hd_handwriting_config_write(to, opt_of(model));
}

static size_t vocab(const hd_write_sizes *s)
{
    return s->network.vocab;
}

static hd_status make(hd_model *out, hd_backend *b, const hd_write_sizes *s, bool training, hd_err *err)
{
    hd_handwriting *m = NULL;
    hd_status st = hd_handwriting_new(&m, b, &s->network, training, err);
    if (!st) *out = hd_handwriting_model(m);
    return st;
}

/* -- training -- */

static hd_status draw(void *model, uint64_t seed, double points, hd_err *err)
{
    return hd_handwriting_draw(model, seed, points, err);
}

static uint64_t send(hd_run *r, hd_write_batch *to, const hd_write_lines *l, const uint32_t *which,
                     size_t count, const void *model)
{
    const hd_handwriting_opt *o = opt_of(model);
    return hd_write_send(r, &to->network, l, which, count, &o->scale, o->window > 0);
}

static hd_tensor *loss(hd_run *r, const void *model, const hd_write_batch *b)
{
    return hd_handwriting_loss(r, model, &b->network);
}

static void plan(const void *model, char *to, size_t size)
{
    const hd_handwriting_opt *o = opt_of(model);
    char window[48] = "no text";
    if (o->window) snprintf(window, sizeof window, "a window of %d Gaussians", o->window);
    snprintf(to, size, "handwriting: lstm:%d, width %zu, %d mixtures, %s", o->layers, o->width, o->mixtures,
             window);
}

/* -- writing -- */

static const hd_pen_scale *scale(const void *model)
{
    return &opt_of(model)->scale;
}

static bool reads(const void *model)
{
    return opt_of(model)->window > 0;
}

const hd_write_kind hd_write_network = {.name = "handwriting",
                                        .type = &hd_model_handwriting,
                                        .sizes = sizes,
                                        .measure = measure,
                                        .take = take,
                                        .read = read,
                                        .write = write,
                                        .vocab = vocab,
                                        .make = make,
                                        .draw = draw,
                                        .send = send,
                                        .loss = loss,
                                        .plan = plan,
                                        .scale = scale,
                                        .reads = reads,
                                        .lines = hd_write_network_lines};
