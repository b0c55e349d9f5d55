/* Bodies of classifiers. */
#include "model/body.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/formula.h"
#include "model/prepare.h"

size_t hd_body_vocab(const hd_body_opt *o)
{
    return o->kind == HD_BODY_bert ? o->bert.vocab : o->kind == HD_BODY_lm ? o->lm.vocab : o->vocab;
}

size_t hd_body_width(const hd_body_opt *o)
{
    return o->kind == HD_BODY_bert ? o->bert.stack.width
           : o->kind == HD_BODY_lm ? o->lm.stack.width
                                   : o->stack.width;
}

float hd_body_dropout(const hd_body_opt *o)
{
    return o->kind == HD_BODY_bert ? o->bert.stack.dropout
           : o->kind == HD_BODY_lm ? o->lm.stack.dropout
                                   : o->stack.dropout;
}

void hd_body_set_dropout(hd_body_opt *o, float dropout)
{
    *(o->kind == HD_BODY_bert ? &o->bert.stack.dropout
      : o->kind == HD_BODY_lm ? &o->lm.stack.dropout
                              : &o->stack.dropout) = dropout;
}

const char *hd_body_model(const hd_body_opt *o)
{
    return o->kind == HD_BODY_lm ? hd_lm_names[o->lm.kind] : o->kind == HD_BODY_bert ? "bert" : "encoder";
}

const char *hd_body_text(const hd_body_opt *o, char buf[HD_STAGES_TEXT])
{
    if (o->kind == HD_BODY_stages) return hd_stages_text(&o->encoder, buf);
    snprintf(buf, HD_STAGES_TEXT, "%s:%d", hd_body_model(o),
             o->kind == HD_BODY_bert ? o->bert.stack.layers : o->lm.stack.layers);
    return buf;
}

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

static hd_status make_stages(hd_body *b, hd_backend *backend, hd_err *err)
{
    const hd_body_opt *o = &b->opt;
    hd_encoder_opt e = {.stages = o->encoder,
                        .stack = o->stack,
                        .in = o->one_hot ? o->vocab : 0,
                        .cell = o->cell,
                        .name = "model.encoder"};
    hd_status s = check_stages(o, err);
    if (s) return s;
    e.stack.eps = 1e-5f;
    b->params = &b->own;
    hd_params_init(b->params, backend);
    s = hd_encoder_make(&b->encoder, b->params, &e, make_front(b->params, o), err);
    b->out = b->encoder.out;
    return s;
}

static hd_status check_positions(const hd_body_opt *o, size_t own, hd_err *err)
{
    if (o->positions && o->positions <= own) return HD_OK;
    return hd_err_set(err, HD_EARG, "items of %zu tokens: the %s has %zu positions", o->positions,
                      hd_body_model(o), own);
}

static hd_status make_bert(hd_body *b, hd_backend *backend, hd_err *err)
{
    hd_status s = check_positions(&b->opt, b->opt.bert.positions, err);
    if (!s) s = hd_bert_make(&b->bert, backend, &b->opt.bert, err);
    if (s) return s;
    b->opt.bert = b->bert->opt;
    b->params = &b->bert->params;
    b->out = b->opt.bert.stack.width;
    return HD_OK;
}

static hd_status make_lm(hd_body *b, hd_backend *backend, hd_err *err)
{
    hd_status s = HD_OK;
    if (b->opt.lm.kind == HD_LM_gpt) s = check_positions(&b->opt, b->opt.lm.context, err);
    if (!s) s = hd_lm_make(&b->lm, &b->opt.lm, backend, err);
    if (s) return s;
    if (!b->lm->type->rows)
        return hd_err_set(err, HD_EARG,
                          "a language model of kind %s has no hidden states: use rnn, gru, lstm or gpt",
                          hd_lm_names[b->opt.lm.kind]);
    b->params = b->lm->params;
    b->out = b->opt.lm.stack.width;
    return HD_OK;
}

hd_status hd_body_make(hd_body *b, hd_backend *backend, const hd_body_opt *opt, hd_err *err)
{
    *b = (hd_body){.opt = *opt};
    if (opt->kind == HD_BODY_bert) return make_bert(b, backend, err);
    return opt->kind == HD_BODY_lm ? make_lm(b, backend, err) : make_stages(b, backend, err);
}

hd_status hd_body_ready(hd_body *b, bool training, hd_err *err)
{
    hd_status s = hd_params_ready(b->params, training, err);
    return s ? s : hd_front_fill(&b->encoder.front, b->params, err);
}

void hd_body_release(hd_body *b)
{
    hd_encoder_release(&b->encoder);
    hd_params_release(&b->own);
    hd_bert_free(b->bert);
    hd_lm_free(b->lm);
    *b = (hd_body){0};
}

/* -- running -- */

hd_rows hd_body_rows(hd_run *r, const hd_body *b, const int32_t *ids, const int32_t *type, const hd_seg *seg)
{
    if (b->bert) return hd_bert_rows(r, b->bert, ids, type, seg);
    if (b->lm) return hd_lm_rows(r, b->lm, ids, seg);
    return hd_encoder_of(r, &b->encoder, &(hd_items){.seg = seg, .ids = ids}).rows;
}

double hd_body_flops(const hd_body *b, double items, double length)
{
    if (b->bert) return hd_bert_flops(b->bert, items, length, 0);
    if (!b->lm) return hd_encoder_flops(&b->encoder, items, length);
    double n = floor(items), rows = floor(length); /* the words are not asked for */
    return b->lm->type->flops(b->lm, n, rows, 0) - 2 * n * rows * (double)b->out * (double)b->opt.lm.vocab;
}

/* -- stages among other models -- */

static hd_model_sizes sizes(const void *self)
{
    const hd_body *b = self;
    return (hd_model_sizes){
        .layers = hd_encoder_layers(&b->encoder), .vocab = b->opt.vocab, .positions = b->opt.positions};
}

static const char *title(const void *self, char *buf, size_t size)
{
    char text[HD_STAGES_TEXT];
    snprintf(buf, size, "%s", hd_stages_text(&((const hd_body *)self)->opt.encoder, text));
    return buf;
}

static hd_rows rows(hd_run *r, const void *self, int layers, const int32_t *ids, const int32_t *type,
                    const hd_seg *seg)
{
    (void)type;
    return hd_encoder_rows_at_layer(r, &((const hd_body *)self)->encoder, layers,
                                    &(hd_items){.seg = seg, .ids = ids});
}

static size_t width(const void *self, int layer)
{
    const hd_encoder *e = &((const hd_body *)self)->encoder;
    return layer ? hd_encoder_width(e, layer) : e->out;
}

static hd_param *table(const void *self)
{
    return ((const hd_body *)self)->encoder.front.table;
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_encoder(p, &((const hd_body *)self)->encoder);
}

static const char *formula(const void *self, const char *name)
{
    const hd_body *b = self;
    if (b->opt.one_hot && hd_formula_is(name, "emb")) return "1 in the column of the token, 0 elsewhere";
    const char *stage = hd_formula_stages(&b->encoder, b->opt.cell, name);
    return stage ? stage : hd_formula_block(b->opt.stack.pre_norm, name);
}

const hd_model_type hd_model_encoder = {
    .name = "encoder",
    .title = title,
    .sizes = sizes,
    .rows = rows,
    .width = width,
    .table = table,
    .prepare = prepare,
    .formula = formula,
};

hd_model hd_body_as_model(const hd_body *b)
{
    if (b->bert) return hd_bert_model(b->bert);
    return b->lm ? hd_lm_model(b->lm) : (hd_model){&hd_model_encoder, b->params, (void *)b};
}
