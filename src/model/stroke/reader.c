/* The reader of handwriting. */
#include "model/stroke/reader.h"

#include <stdio.h>

#include "base/mem.h"
#include "model/prepare.h"
#include "model/stroke/pen_model.h"

enum { POINT = 3, MOST_FOLD = 16 };

/* -- making -- */

static hd_status check(const hd_reader_opt *o, hd_err *err)
{
    if (o->layers < 1 || o->layers > HD_RECURRENT_LAYERS || !o->width || o->vocab < 2 || o->fold < 1 ||
        o->fold > MOST_FOLD || !(o->dropout >= 0 && o->dropout < 1))
        return hd_err_set(
            err, HD_EARG,
            "reader: %d layers of %zu, %zu characters, %d points at once, dropout %g is not a valid "
            "model",
            o->layers, o->width, o->vocab, o->fold, (double)o->dropout);
    return hd_pen_scale_check(&o->scale, "reader", err);
}

hd_status hd_reader_new(hd_reader **out, hd_backend *backend, const hd_reader_opt *opt, bool training,
                        hd_err *err)
{
    hd_reader *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    hd_params_init(&m->params, backend);
    hd_status s = check(opt, err);
    if (!s) {
        m->cells = hd_recurrent_make(&m->params, &(hd_recurrent_opt){.cell = HD_LSTM,
                                                                     .in = POINT * (size_t)opt->fold,
                                                                     .width = opt->width,
                                                                     .layers = opt->layers,
                                                                     .both_ways = true,
                                                                     .dropout = opt->dropout,
                                                                     .name = "lstm"});
        m->out = hd_dense_make(&m->params, hd_recurrent_out(&m->cells), opt->vocab,
                               &(hd_dense_opt){.init = {HD_INIT_TORCH, 1, 0}}, "output");
        s = hd_params_ready(&m->params, training, err);
    }
    if (s)
        hd_reader_free(m);
    else
        *out = m;
    return s;
}

void hd_reader_free(hd_reader *m)
{
    if (!m) return;
    hd_params_release(&m->params);
    hd_mem_free(m);
}

/* -- at work -- */

hd_rows hd_reader_rows(hd_run *r, const hd_reader *m, hd_rows point)
{
    hd_rows x = hd_fold(r, point, m->opt.fold);
    hd_rows h = hd_recurrent_of(r, &m->cells, x, NULL, NULL, NULL);
    return hd_rows_with(h, hd_dense_of(r, &m->out, hd_dropout(r, h.t, m->opt.dropout, h.seg), HD_IDENTITY));
}

hd_tensor *hd_reader_loss(hd_run *r, const hd_reader *m, hd_rows point, const int32_t *ids,
                          const hd_seg *text)
{
    return hd_ctc(r, hd_reader_rows(r, m, point), ids, text, HD_PAD_ID, &(hd_loss_opt){.coef = 1});
}

double hd_reader_flops(const hd_reader *m, double items, double points)
{
    return items * points / m->opt.fold *
           (hd_recurrent_flops(&m->cells) + 2 * (double)hd_count_of(&m->out.w->t));
}

/* -- config.json, and among others -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_reader_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("layers", WHOLE, layers), .least = 1, .most = HD_RECURRENT_LAYERS},
    {KEY("width", WHOLE, width), .least = 1, .most = HD_PEN_MODEL_MOST},
    {KEY("vocab", WHOLE, vocab), .least = 2, .most = HD_PEN_MODEL_MOST},
    {KEY("fold", WHOLE, fold), .least = 1, .most = MOST_FOLD},
    {KEY("dropout", REAL, dropout), .most = 0.999},
    HD_PEN_SCALE_KEYS(hd_reader_opt, scale),
    {0},
};

void hd_reader_config_write(hd_text *to, const hd_reader_opt *o)
{
    hd_text_put(to, ",\n \"model\": \"reader\"");
    hd_keys_write(to, keys, 0, o);
}

void hd_reader_config_read(hd_model_config *c, hd_reader_opt *o)
{
    static const char *const models[] = {"reader"};
    hd_err why = {0};
    *o = (hd_reader_opt){0};
    hd_model_config_name(c, "model", models, 1);
    hd_keys_read(c, keys, 0, o);
    check(o, &why);
    hd_pen_model_refuse(c, &why);
}

static void drop(void *self)
{
    hd_reader_free(self);
}

static const char *title(const void *self, char *buf, size_t size)
{
    snprintf(buf, size, "reader, bi-lstm:%d", ((const hd_reader *)self)->opt.layers);
    return buf;
}

static void describe(const void *self, hd_details *to)
{
    const hd_reader_opt *o = &((const hd_reader *)self)->opt;
    hd_pen_model_describe(to, "reader", o->layers, o->width);
    hd_details_whole(to, "points_at_once", (uint64_t)o->fold);
}

static hd_model_sizes sizes(const void *self)
{
    return hd_pen_model_sizes(((const hd_reader *)self)->opt.vocab);
}

static void prepare(hd_preparing *p, const void *self)
{
    const hd_reader *m = self;
    hd_prepare_recurrent(p, &m->cells);
    hd_prepare(p, m->out.w);
}

static double flops(const void *self, double items, double length, double outputs)
{
    (void)outputs;
    return hd_reader_flops(self, items, length);
}

const hd_model_type hd_model_reader = {
    .name = "reader",
    .free = drop,
    .title = title,
    .describe = describe,
    .sizes = sizes,
    .prepare = prepare,
    .flops = flops,
};
