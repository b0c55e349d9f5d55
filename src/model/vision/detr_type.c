/* DETR in config.json, and as a model among others. */
#include <stdio.h>
#include <string.h>

#include "model/formula.h"
#include "model/keys.h"
#include "model/prepare.h"
#include "model/vision/detr.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_LAYERS = 64 };

/* -- config.json -- */

static const char BACKBONE[] = "backbone";

#define KEY(name, kind, field) HD_KEY_OF(hd_detr_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("encoder_layers", WHOLE, encoder_layers), .least = 0, .most = MOST_LAYERS},
    {KEY("decoder_layers", WHOLE, decoder_layers), .least = 1, .most = MOST_LAYERS},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = 1024},
    {KEY("width", WHOLE, stack.width), .least = 4, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 1, .most = 4 * MOST_SIZE},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    {KEY("activation", UNARY, stack.act)},
    {KEY("queries", WHOLE, queries), .least = 1, .most = MOST_SIZE},
    {KEY("anchors", FLAG, anchors)},
    {KEY("reach", REAL, reach), .most = 1e6, .when = HD_KEY_RARE},
    {KEY("position_scale", REAL, scale), .most = 1e6},
    {KEY("position_temperature", REAL, temperature), .most = 1e9},
    {0},
};

void hd_detr_config_write(hd_text *to, const hd_detr_opt *o)
{
    hd_text_put(to, ",\n \"model\": \"detr\"");
    hd_keys_write(to, keys, 0, o);
    hd_text_print(to, ",\n \"labels\": %zu,\n \"%s\": {\"format\": 1", o->labels, BACKBONE);
    hd_image_encoder_write(to, &o->image);
    hd_text_put(to, "}");
}

void hd_detr_config_read(hd_model_config *c, hd_detr_opt *o)
{
    static const char *const models[] = {"detr"};
    *o = (hd_detr_opt){0};
    hd_model_config_name(c, "model", models, 1);
    hd_keys_read(c, keys, 0, o);
    o->labels = (size_t)hd_model_config_whole(c, "labels", 1, MOST_SIZE);
    hd_model_config in = hd_model_config_inside(c, BACKBONE);
    int kind = hd_model_config_name(&in, "model", hd_image_encoder_names, HD_IMAGE_KINDS);
    if (!in.status) hd_image_encoder_read(&in, (hd_image_encoder_kind)kind, &o->image);
    hd_model_config_leave(c, &in);
    if (!c->status && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}

/* -- among others -- */

static void drop(void *self)
{
    hd_detr_free(self);
}

static const char *title(const void *self, char *buf, size_t size)
{
    const hd_detr_opt *o = &((const hd_detr *)self)->opt;
    snprintf(buf, size, "detr on %s", hd_image_encoder_names[o->image.kind]);
    return buf;
}

static void describe(const void *self, hd_details *to)
{
    const hd_detr_opt *o = &((const hd_detr *)self)->opt;
    hd_details_text(to, "model", "detr");
    hd_details_text(to, BACKBONE, hd_image_encoder_names[o->image.kind]);
    hd_details_whole(to, "encoder_layers", (uint64_t)o->encoder_layers);
    hd_details_whole(to, "decoder_layers", (uint64_t)o->decoder_layers);
    hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    hd_details_whole(to, "width", o->stack.width);
    hd_details_whole(to, "inner", o->stack.inner);
    hd_details_text(to, "activation", hd_unary_name(o->stack.act));
    hd_details_whole(to, "queries", o->queries);
    hd_details_flag(to, "anchors", o->anchors);
    hd_details_whole(to, "channels", (uint64_t)o->image.channels);
}

static hd_model_sizes sizes(const void *self)
{
    const hd_detr_opt *o = &((const hd_detr *)self)->opt;
    return (hd_model_sizes){.layers = o->decoder_layers, .positions = INT32_MAX, .image = &o->image.prepare};
}

/* Of the queries behind the decoder; layers before the last are not to be had. */
static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    const hd_detr *m = self;
    hd_tensor *place = NULL;
    (void)layers;
    hd_rows memory = hd_detr_encode(r, m, in, &place);
    if (!memory.t) return memory;
    hd_detr_queries q = hd_detr_ask(r, m, memory.seg, in->pixels->items, NULL, NULL);
    return hd_detr_decode(r, m, memory, place, &q, false).last;
}

static size_t width(const void *self, int layer)
{
    (void)layer;
    return ((const hd_detr *)self)->opt.stack.width;
}

static void prepare_attention(hd_preparing *p, const hd_mha *m, bool cross)
{
    hd_prepare(p, cross ? m->q : m->qk);
    if (cross) hd_prepare(p, m->k);
    hd_prepare(p, m->v);
    hd_prepare(p, m->out.w);
}

static void prepare_stack(hd_preparing *p, const hd_stack *k)
{
    for (int l = 0; l < k->opt.layers; l++) {
        const hd_block *b = &k->block[l];
        prepare_attention(p, &b->self, false);
        if (b->has_cross) prepare_attention(p, &b->cross, true);
        hd_prepare(p, b->ffn.in.w);
        hd_prepare(p, b->ffn.out.w);
    }
}

static void prepare(hd_preparing *p, const void *self)
{
    const hd_detr *m = self;
    hd_image_encoder_prepare(p, &m->image);
    hd_prepare(p, m->input.w);
    prepare_stack(p, &m->encoder);
    prepare_stack(p, &m->decoder);
    for (int i = 0; i < 2; i++) hd_prepare(p, m->place[i].w);
    hd_prepare(p, m->label.w);
    for (int i = 0; i < 3; i++) hd_prepare(p, m->box[i].w);
}

static hd_attention_layers attention(const void *self, hd_attention_kind k)
{
    const hd_detr_opt *o = &((const hd_detr *)self)->opt;
    hd_attention_layers a = {0};
    hd_attention_layers_add(&a, 0, k == HD_ATTENTION_ENCODER ? o->encoder_layers : o->decoder_layers,
                            o->stack.heads);
    return a;
}

static const char *formula(const void *self, const char *name)
{
    const hd_detr_opt *o = &((const hd_detr *)self)->opt;
    bool cross = hd_formula_inside(name, "cross");
    if (hd_formula_is(name, "Q"))
        return cross ? "(x + position of the query) W_Q + b" : "(x + position) W_Q + b";
    if (hd_formula_is(name, "K"))
        return cross ? "(cells + their position) W_K + b" : "(x + position) W_K + b";
    if (hd_formula_is(name, "box"))
        return o->anchors ? "sigmoid(anchor + what each layer adds)" : "sigmoid(MLP(norm of the last layer))";
    if (hd_formula_is(name, "logits")) return "norm of the last layer W + b";
    return hd_formula_block(false, name);
}

static double flops(const void *self, double items, double length, double outputs)
{
    return hd_detr_flops(self, items, length, outputs);
}

const hd_model_type hd_model_detr = {
    .name = "detr",
    .free = drop,
    .title = title,
    .describe = describe,
    .sizes = sizes,
    .rows = rows,
    .width = width,
    .prepare = prepare,
    .attention = attention,
    .attends = HD_ATTENTION_CROSS,
    .formula = formula,
    .flops = flops,
};
