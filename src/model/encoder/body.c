/* Bodies of classifiers. */
#include "model/encoder/body.h"

#include <stdio.h>

enum { MOST_POSITIONS = 1 << 20 };

const hd_model_type *hd_body_model(const hd_body_opt *o)
{
    return o->type ? o->type : &hd_model_encoder;
}

hd_stack_opt *hd_body_stack(hd_body_opt *o)
{
    return (hd_stack_opt *)(void *)((char *)o + hd_body_model(o)->as_body->stack);
}

static const hd_stack_opt *stack_of(const hd_body_opt *o)
{
    return (const hd_stack_opt *)(const void *)((const char *)o + hd_body_model(o)->as_body->stack);
}

size_t hd_body_vocab(const hd_body_opt *o)
{
    return *(const size_t *)(const void *)((const char *)o + hd_body_model(o)->as_body->vocab);
}

size_t hd_body_width(const hd_body_opt *o)
{
    return hd_body_reads_pictures(o) ? hd_image_encoder_width(&o->image) : stack_of(o)->width;
}

bool hd_body_reads_pictures(const hd_body_opt *o)
{
    return hd_body_model(o)->as_body->pictures;
}

float hd_body_dropout(const hd_body_opt *o)
{
    return stack_of(o)->dropout;
}

const char *hd_body_text(const hd_body_opt *o, char buf[HD_STAGES_TEXT])
{
    if (o->encoder.count) return hd_stages_text(&o->encoder, buf);
    int layers = hd_body_reads_pictures(o) ? hd_image_encoder_layers(&o->image) : stack_of(o)->layers;
    snprintf(buf, HD_STAGES_TEXT, "%s:%d", hd_body_model(o)->name, layers);
    return buf;
}

hd_status hd_body_make(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err)
{
    return hd_body_model(o)->as_body->make(out, o, backend, err);
}

void hd_body_config_write(hd_text *to, const hd_body_opt *o)
{
    hd_body_model(o)->as_body->write(to, o);
    if (!hd_body_reads_pictures(o)) hd_text_print(to, ",\n \"positions\": %zu", o->positions);
}

void hd_body_config_read(hd_model_config *c, hd_body_opt *o)
{
    const char *model = hd_model_config_has(c, "model") ? hd_model_config_text(c, "model") : "encoder";
    o->type = hd_model_find(model);
    if (!o->type || !o->type->as_body) o->type = &hd_model_gpt; /* which says that there is no such model */
    o->type->as_body->read(c, o);
    if (!hd_body_reads_pictures(o))
        o->positions = (size_t)hd_model_config_whole(c, "positions", 3, MOST_POSITIONS);
}

/* -- a BERT -- */

static hd_status check_positions(const hd_body_opt *o, size_t own, hd_err *err)
{
    if (o->positions && o->positions <= own) return HD_OK;
    return hd_err_set(err, HD_EARG, "items of %zu tokens: the %s has %zu positions", o->positions,
                      hd_body_model(o)->name, own);
}

static hd_status make_bert(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err)
{
    hd_bert *m = NULL;
    hd_status s = check_positions(o, o->bert.positions, err);
    if (!s) s = hd_bert_make(&m, backend, &o->bert, err);
    if (s) return s;
    o->bert = m->opt;
    *out = hd_bert_model(m);
    return HD_OK;
}

static void put_bert(hd_text *to, const hd_body_opt *o)
{
    hd_text_put(to, ",\n \"model\": \"bert\"");
    hd_bert_config_write(to, &o->bert);
}

static void take_bert(hd_model_config *c, hd_body_opt *o)
{
    hd_bert_config_read(c, &o->bert);
}

const hd_body_functions hd_body_bert = {.stack = offsetof(hd_body_opt, bert.stack),
                                        .vocab = offsetof(hd_body_opt, bert.vocab),
                                        .make = make_bert,
                                        .write = put_bert,
                                        .read = take_bert};

/* -- a language model -- */

static hd_status make_lm(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err)
{
    const hd_model_type *type = hd_body_model(o);
    hd_lm *m = NULL;
    hd_status s = HD_OK;
    if (!type->rows)
        return hd_err_set(err, HD_EARG,
                          "a language model of kind %s has no hidden states: use rnn, gru, lstm or gpt",
                          type->name);
    if (!type->lm.state) s = check_positions(o, o->lm.context, err);
    if (!s) s = hd_lm_make(&m, &o->lm, backend, err);
    if (!s) *out = hd_lm_model(m);
    return s;
}

static void put_lm(hd_text *to, const hd_body_opt *o)
{
    hd_lm_config_write(to, &o->lm);
}

static void take_lm(hd_model_config *c, hd_body_opt *o)
{
    hd_lm_config_read(c, &o->lm);
}

const hd_body_functions hd_body_lm = {.stack = offsetof(hd_body_opt, lm.stack),
                                      .vocab = offsetof(hd_body_opt, lm.vocab),
                                      .make = make_lm,
                                      .write = put_lm,
                                      .read = take_lm};
