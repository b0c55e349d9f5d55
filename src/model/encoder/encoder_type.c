/* An encoder of stages: as a body of classifiers, in config.json, and as a model among others. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/encoder/body.h"
#include "model/formula.h"
#include "model/keys.h"
#include "model/prepare.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20 };

/* -- making -- */

enum { MOST_ONE_HOT = 4096 }; /* the table has as many columns as rows */

static hd_status check_stages(const hd_body_opt *o, hd_err *err)
{
    if (!o->stack.width || !o->stack.inner || !o->vocab || !o->positions || !o->encoder.count)
        return hd_err_set(err, HD_EARG,
                          "a classifier needs an encoder, width, inner width, vocabulary and positions");
    if (hd_stages_have(&o->encoder, HD_STAGE_transformer) &&
        (o->stack.heads < 1 || o->stack.width % (size_t)o->stack.heads))
        return hd_err_set(err, HD_EARG, "a width of %zu cannot be split over %d heads", o->stack.width,
                          o->stack.heads);
    for (int i = 0; i < o->encoder.count; i++)
        if (o->encoder.at[i].kind != HD_STAGE_none && o->encoder.at[i].layers < 1)
            return hd_err_set(err, HD_EARG, "a classifier's encoder needs at least 1 layer in each stage");
    if (o->one_hot && !hd_stage_recurs(&o->encoder.at[0]))
        return hd_err_set(err, HD_EARG, "--one-hot needs an encoder that begins with rnn, gru or lstm");
    if (o->one_hot && o->vocab > MOST_ONE_HOT)
        return hd_err_set(err, HD_EARG, "a vocabulary of %zu is too large for one-hot tokens: at most %d",
                          o->vocab, MOST_ONE_HOT);
    return HD_OK;
}

/* Blocks need positions, and vectors as long as those. */
static hd_front make_front(hd_params *p, const hd_body_opt *o)
{
    bool blocks = o->encoder.at[0].kind == HD_STAGE_transformer;
    float scale = blocks ? (float)sqrt((double)o->stack.width) : 1;
    return hd_tokens_make(p, &(hd_tokens_opt){.vocab = o->vocab,
                                              .width = o->stack.width,
                                              .positions = o->positions,
                                              .position = blocks ? HD_POSITIONS_SINUSOID : HD_POSITIONS_NONE,
                                              .sinusoid = {.halves = true},
                                              .one_hot = o->one_hot,
                                              .scale = scale,
                                              .dropout = o->stack.dropout,
                                              .init = {HD_INIT_NORMAL, 1 / scale, 0},
                                              .table_name = "model.encoder.embed_tokens"});
}

static void drop(void *self)
{
    hd_encoder_model *m = self;
    hd_encoder_release(&m->encoder);
    hd_params_release(&m->params);
    hd_mem_free(m);
}

static hd_status make(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err)
{
    hd_encoder_opt e = {.stages = o->encoder,
                        .stack = o->stack,
                        .in = o->one_hot ? o->vocab : 0,
                        .cell = o->cell,
                        .name = "model.encoder"};
    hd_status s = check_stages(o, err);
    hd_encoder_model *m = s ? NULL : hd_mem_zero(sizeof *m);
    if (!m) return s ? s : hd_err_nomem(err, sizeof *m);
    m->opt = *o;
    e.stack.eps = 1e-5f;
    hd_params_init(&m->params, backend);
    *out = (hd_model){&hd_model_encoder, &m->params, m};
    return hd_encoder_make(&m->encoder, &m->params, &e, make_front(&m->params, o), err);
}

/* -- config.json -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_body_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("encoder", STAGES, encoder)},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = 1024},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 1, .most = 4 * MOST_SIZE},
    {KEY("vocabulary", WHOLE, vocab), .least = 1, .most = 64 * MOST_SIZE},
    {KEY("post_norm", NOT, stack.pre_norm)},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    {KEY("activation", UNARY, stack.act)},
    {KEY("cell", CELL, cell), .when = HD_KEY_RARE},
    {KEY("one_hot", FLAG, one_hot), .when = HD_KEY_RARE},
    {0},
};

static void put(hd_text *to, const hd_body_opt *o)
{
    hd_keys_write(to, keys, 0, o);
}

static void take(hd_model_config *c, hd_body_opt *o)
{
    o->cell = HD_tanh;
    hd_keys_read(c, keys, 0, o);
    for (int i = 0; i < o->encoder.count; i++)
        if (!o->encoder.at[i].layers && o->encoder.at[i].kind != HD_STAGE_none)
            hd_model_config_refuse(c, "\"encoder\" has a stage without its layers");
}

static const hd_body_functions as_body = {.stack = offsetof(hd_body_opt, stack),
                                          .vocab = offsetof(hd_body_opt, vocab),
                                          .make = make,
                                          .write = put,
                                          .read = take};

/* -- among other models -- */

static hd_model_sizes sizes(const void *self)
{
    const hd_encoder_model *b = self;
    const hd_encoder *e = &b->encoder;
    const hd_encoder_stage *end = e->stages ? &e->stage[e->stages - 1] : NULL;
    bool both = end && hd_stage_recurs(&end->is) && end->cells.directions > 1;
    return (hd_model_sizes){.layers = hd_encoder_layers(e),
                            .vocab = b->opt.vocab,
                            .positions = b->opt.positions,
                            .backward = both ? end->cells.width : 0};
}

static const char *title(const void *self, char *buf, size_t size)
{
    char text[HD_STAGES_TEXT];
    snprintf(buf, size, "%s", hd_stages_text(&((const hd_encoder_model *)self)->opt.encoder, text));
    return buf;
}

static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    return hd_encoder_rows_at_layer(r, &((const hd_encoder_model *)self)->encoder, layers, in);
}

static size_t width(const void *self, int layer)
{
    const hd_encoder *e = &((const hd_encoder_model *)self)->encoder;
    return layer ? hd_encoder_width(e, layer) : e->out;
}

static hd_param *table(const void *self)
{
    return ((const hd_encoder_model *)self)->encoder.front.table;
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_encoder(p, &((const hd_encoder_model *)self)->encoder);
}

static const char *formula(const void *self, const char *name)
{
    const hd_encoder_model *b = self;
    if (b->opt.one_hot && hd_formula_is(name, "emb")) return "1 in the column of the token, 0 elsewhere";
    const char *stage = hd_formula_stages(&b->encoder, b->opt.cell, name);
    return stage ? stage : hd_formula_block(b->opt.stack.pre_norm, name);
}

static double flops(const void *self, double items, double length, double outputs)
{
    (void)outputs;
    return hd_encoder_flops(&((const hd_encoder_model *)self)->encoder, items, length);
}

static hd_status fill_tables(void *self, hd_err *err)
{
    hd_encoder_model *m = self;
    return hd_front_fill(&m->encoder.front, &m->params, err);
}

const hd_model_type hd_model_encoder = {
    .name = "encoder",
    .free = drop,
    .fill_tables = fill_tables,
    .title = title,
    .sizes = sizes,
    .rows = rows,
    .width = width,
    .table = table,
    .prepare = prepare,
    .formula = formula,
    .flops = flops,
    .head_dropout = HD_HEAD_DROPOUT_ROWS,
    .as_body = &as_body,
};
