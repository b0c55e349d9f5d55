/* Encoders of pictures as models among others, and as bodies of classifiers. */
#include <stdio.h>

#include "base/mem.h"
#include "model/encoder/body.h"
#include "model/formula.h"
#include "model/vision/image_model.h"

/* -- as a body -- */

static void drop(void *self)
{
    hd_image_model *m = self;
    hd_image_encoder_release(&m->encoder);
    hd_params_release(&m->params);
    hd_mem_free(m);
}

hd_status hd_image_model_make(hd_model *out, hd_image_encoder_opt *o, hd_backend *backend, hd_err *err)
{
    hd_image_model *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    hd_params_init(&m->params, backend);
    hd_status s = hd_image_encoder_make(&m->encoder, &m->params, o, err);
    if (s) return drop(m), s;
    *o = m->encoder.opt;
    *out = (hd_model){hd_model_find(hd_image_encoder_names[o->kind]), &m->params, m};
    return HD_OK;
}

static hd_status make(hd_model *out, hd_body_opt *o, hd_backend *backend, hd_err *err)
{
    hd_status s = hd_image_model_make(out, &o->image, backend, err);
    if (!s) o->positions = hd_image_encoder_length(&o->image);
    return s;
}

static void put(hd_text *to, const hd_body_opt *o)
{
    hd_image_encoder_write(to, &o->image);
}

#define X(name, text)                                           \
    static void take_##name(hd_model_config *c, hd_body_opt *o) \
    {                                                           \
        hd_image_encoder_read(c, HD_IMAGE_##name, &o->image);   \
    }                                                           \
    static const hd_body_functions name##_body = {              \
        .stack = offsetof(hd_body_opt, image.stack),            \
        .vocab = offsetof(hd_body_opt, vocab),                  \
        .pictures = true,                                       \
        .make = make,                                           \
        .write = put,                                           \
        .read = take_##name,                                    \
    };
HD_IMAGE_MODEL_LIST(X)
#undef X

/* -- among others -- */

static const hd_image_encoder *encoder_of(const void *self)
{
    return &((const hd_image_model *)self)->encoder;
}

static const char *title(const void *self, char *buf, size_t size)
{
    const hd_image_encoder_opt *o = &encoder_of(self)->opt;
    snprintf(buf, size, "%s", o->distilled ? "deit" : hd_image_encoder_names[o->kind]);
    return buf;
}

void hd_image_encoder_describe(const hd_image_encoder_opt *o, hd_details *to)
{
    char size[32];
    snprintf(size, sizeof size, "%d x %d", o->width, o->height);
    hd_details_text(to, "image_size", size);
    hd_details_whole(to, "channels", (uint64_t)o->channels);
    if (o->patch) hd_details_whole(to, "patch", (uint64_t)o->patch);
    if (o->stem) hd_details_whole(to, "stem", (uint64_t)o->stem);
    hd_details_whole(to, "rows", hd_image_encoder_length(o));
    hd_details_flag(to, "class_token", o->class_token);
    if (o->distilled) hd_details_flag(to, "distillation_token", true);
}

static void describe(const void *self, hd_details *to)
{
    const hd_image_encoder_opt *o = &encoder_of(self)->opt;
    hd_details_text(to, "model", hd_image_encoder_names[o->kind]);
    hd_details_whole(to, "layers", (uint64_t)hd_image_encoder_layers(o));
    encoder_of(self)->type->describe(o, to);
    hd_image_encoder_describe(o, to);
    hd_details_flag(to, "pooler", o->pooler);
}

static hd_model_sizes sizes(const void *self)
{
    const hd_image_encoder *e = encoder_of(self);
    return (hd_model_sizes){.layers = hd_image_encoder_layers(&e->opt),
                            .positions = hd_image_encoder_length(&e->opt),
                            .pooler = e->opt.pooler ? &e->pooler : NULL,
                            .image = &e->opt.prepare};
}

static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    return hd_image_encoder_rows(r, encoder_of(self), layers, in);
}

static hd_rows first(hd_run *r, const void *self, const hd_items *in)
{
    return hd_image_encoder_first(r, encoder_of(self), in);
}

static size_t width(const void *self, int layer)
{
    const hd_image_encoder *e = encoder_of(self);
    return layer ? e->type->width(&e->opt, layer) : hd_image_encoder_width(&e->opt);
}

static hd_tensor *pooled(hd_run *r, const void *self, hd_rows last)
{
    return hd_image_encoder_pooled(r, encoder_of(self), last);
}

static void prepare(struct hd_preparing *p, const void *self)
{
    hd_image_encoder_prepare(p, encoder_of(self));
}

static hd_attention_layers attention(const void *self, hd_attention_kind k)
{
    const hd_image_encoder_opt *o = &encoder_of(self)->opt;
    hd_attention_layers a = {0};
    if (k == HD_ATTENTION_ENCODER) hd_attention_layers_add(&a, 0, o->stack.layers, o->stack.heads);
    return a;
}

static const char *formula(const void *self, const char *name)
{
    const hd_image_encoder_opt *o = &encoder_of(self)->opt;
    if (hd_formula_is(name, "pixels")) return "the pixels of each patch: channel by channel, row by row";
    if (hd_formula_is(name, "emb"))
        return o->stem ? "relu(norm(conv(pixels))), layer by layer, pooled behind the first and the last"
                       : "pixels W";
    if (hd_formula_is(name, "X"))
        return o->class_token ? "emb + b + position; in the first row the class token + position"
                              : "emb + b + position";
    if (hd_formula_is(name, "pooled")) return "tanh(first row W + b)";
    return hd_formula_block(true, name);
}

static double flops(const void *self, double items, double length, double outputs)
{
    (void)length, (void)outputs;
    return hd_image_encoder_flops(encoder_of(self), items);
}

#define X(kind, text)                            \
    const hd_model_type hd_model_##kind = {      \
        .name = #kind,                           \
        .free = drop,                            \
        .title = title,                          \
        .describe = describe,                    \
        .sizes = sizes,                          \
        .rows = rows,                            \
        .first = first,                          \
        .head_dropout = HD_HEAD_DROPOUT_NONE,    \
        .head_init = {HD_INIT_NORMAL, 0.02f, 0}, \
        .width = width,                          \
        .pooled = pooled,                        \
        .prepare = prepare,                      \
        .attention = attention,                  \
        .attends = HD_ATTENTION_ENCODER,         \
        .formula = formula,                      \
        .flops = flops,                          \
        .as_body = &kind##_body,                 \
    };
HD_IMAGE_MODEL_LIST(X)
