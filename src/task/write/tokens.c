/* A gpt over characters and bins of points as a kind of model that writes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/replay.h"
#include "task/write/kind.h"

/* Positions for lines that get longer than those of the training data. */
enum { LEAST_POSITIONS = 1024 };

static const hd_pen_gpt_opt *opt_of(const void *model)
{
    return &((const hd_pen_gpt *)model)->opt;
}

/* -- its sizes -- */

static void sizes(hd_write_sizes *to, const hd_train_options *o)
{
    to->tokens = (hd_pen_gpt_opt){.stack = {.layers = o->layers,
                                            .heads = o->heads,
                                            .width = (size_t)o->width,
                                            .inner = (size_t)o->ffn_size,
                                            .relative_span = o->relative,
                                            .act = hd_train_activation(o->activation),
                                            .dropout = (float)o->dropout}};
}

static hd_status measure(hd_write_sizes *to, const hd_strokes *s, size_t vocab, hd_err *err)
{
    hd_pen_gpt_opt *o = &to->tokens;
    size_t longest = 0;
    o->vocab = vocab;
    for (size_t i = 0; i < s->count; i++) {
        size_t n = strlen(hd_strokes_text(s, i)) + hd_strokes_points(s, i);
        if (n > longest) longest = n;
    }
    o->positions = 2 * longest > LEAST_POSITIONS ? 2 * longest : LEAST_POSITIONS;
    hd_status st = hd_pen_scale_measure(&o->scale, s, err);
    return st ? st : hd_pen_bins_measure(&o->bins, &o->scale, s, err);
}

static void take(hd_write_sizes *to, const void *model)
{
    const float dropout = to->tokens.stack.dropout;
    to->tokens = *opt_of(model), to->tokens.stack.dropout = dropout;
}

static void read(hd_model_config *c, hd_write_sizes *to)
{
    hd_pen_gpt_config_read(c, &to->tokens);
}

static void write(hd_text *to, const void *model)
{
    hd_pen_gpt_config_write(to, opt_of(model));
}

static size_t vocab(const hd_write_sizes *s)
{
    return s->tokens.vocab;
}

static hd_status make(hd_model *out, hd_backend *b, const hd_write_sizes *s, bool training, hd_err *err)
{
    hd_pen_gpt *m = NULL;
    hd_status st = hd_pen_gpt_new(&m, b, &s->tokens, training, err);
    if (!st) *out = hd_pen_gpt_model(m);
    return st;
}

/* -- training -- */

static hd_status draw(void *model, uint64_t seed, double points, hd_err *err)
{
    hd_gpt *g = ((hd_pen_gpt *)model)->gpt;
    (void)points;
    hd_status s = hd_params_draw(&g->params, seed, err);
    return s ? s : hd_gpt_fill(g, err);
}

static size_t length_of(const hd_write_lines *l, size_t i)
{
    return l->first_id[i + 1] - l->first_id[i] + hd_strokes_points(l->strokes, i);
}

static hd_status fits(const void *model, const hd_write_lines *l, const char *of, hd_err *err)
{
    const size_t most = opt_of(model)->positions;
    for (size_t i = 0; i < l->strokes->count; i++)
        if (length_of(l, i) > most)
            return hd_err_set(
                err, HD_ELIMIT,
                "%s, line %zu: %zu characters and points, the model takes %zu: leave the line out", of, i + 1,
                length_of(l, i), most);
    return HD_OK;
}

typedef struct rows { /* of a batch, in host memory */
    int32_t *id, *target;
    hd_real *area;
} rows;

static void fill_line(const rows *to, const hd_write_lines *l, size_t line, const hd_pen_gpt_opt *o)
{
    size_t letters = l->first_id[line + 1] - l->first_id[line], points = hd_strokes_points(l->strokes, line);
    const hd_pen_point *p = hd_strokes_line(l->strokes, line);
    if (letters) memcpy(to->id, l->id + l->first_id[line], letters * sizeof *to->id);
    for (size_t i = 0; i < letters; i++) to->target[i] = -1, to->area[i] = 0;
    to->id[letters] = hd_pen_gpt_first(o, p[0].lift);
    for (size_t k = 1; k < points; k++) {
        int32_t bin = hd_pen_bin_behind(&o->bins, &o->scale, p + k - 1);
        to->id[letters + k] = to->target[letters + k - 1] = hd_pen_gpt_token(o, bin);
        to->area[letters + k - 1] = (hd_real)log(hd_pen_bin_area(&o->bins, bin));
    }
    to->target[letters + points - 1] = hd_pen_gpt_end(o), to->area[letters + points - 1] = 0;
}

static uint64_t send(hd_run *r, hd_write_batch *to, const hd_write_lines *l, const uint32_t *which,
                     size_t count, const void *model)
{
    hd_pen_gpt_batch *b = &to->tokens;
    int32_t *len = hd_host_take(r, (count + 1) * sizeof *len),
            *key = hd_host_take(r, (count + 1) * sizeof *key);
    *b = (hd_pen_gpt_batch){0};
    for (size_t i = 0; len && key && i < count; i++)
        len[i] = (int32_t)length_of(l, which[i]), key[i] = (int32_t)which[i];
    if (!len || !key) return 0;
    hd_bounds bounds = hd_write_bounds(r, len, count, 64);
    const hd_seg *seg = hd_seg_within(r, len, count, key, bounds);
    size_t n = bounds.rows, at = 0;
    rows host = {.id = hd_host_take(r, (n + 1) * sizeof *host.id),
                 .target = hd_host_take(r, (n + 1) * sizeof *host.target),
                 .area = hd_host_take(r, (n + 1) * sizeof *host.area)};
    if (!seg || !host.id || !host.target || !host.area) return 0;
    for (size_t i = 0; i < count; at += (size_t)len[i++])
        fill_line(&(rows){host.id + at, host.target + at, host.area + at}, l, which[i], opt_of(model));
    size_t live = at;
    for (; at < n; at++) host.id[at] = 0, host.target[at] = -1, host.area[at] = 0; /* of no line */
    b->seg = seg;
    b->ids = hd_ints(r, host.id, n);
    b->target = hd_ints(r, host.target, n);
    b->area = hd_from(r, n, 1, host.area);
    return hd_shape_of(bounds, live);
}

static hd_tensor *loss(hd_run *r, const void *model, const hd_write_batch *b)
{
    return hd_pen_gpt_loss(r, model, &b->tokens);
}

static void plan(const void *model, char *to, size_t size)
{
    const hd_pen_gpt_opt *o = opt_of(model);
    snprintf(to, size, "handwriting: gpt:%d, width %zu, %d directions of %d lengths, %zu positions",
             o->stack.layers, o->stack.width, o->bins.directions, o->bins.lengths, o->positions);
}

/* -- writing -- */

static const hd_pen_scale *scale(const void *model)
{
    return &opt_of(model)->scale;
}

static bool reads(const void *model)
{
    (void)model;
    return true;
}

const hd_write_kind hd_write_tokens = {.name = "gpt",
                                       .type = &hd_model_pen_gpt,
                                       .sizes = sizes,
                                       .measure = measure,
                                       .take = take,
                                       .read = read,
                                       .write = write,
                                       .vocab = vocab,
                                       .make = make,
                                       .draw = draw,
                                       .fits = fits,
                                       .send = send,
                                       .loss = loss,
                                       .plan = plan,
                                       .scale = scale,
                                       .reads = reads,
                                       .lines = hd_write_tokens_lines};
