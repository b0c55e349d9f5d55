/* Encoder-decoders as models among others. */
#include <stdio.h>
#include <string.h>

#include "model/encdec/encdec.h"
#include "model/formula.h"
#include "model/prepare.h"

static void drop(void *self)
{
    hd_encdec_free(self);
}

static const char *title(const void *self, char *buf, size_t size)
{
    const hd_encdec_opt *o = &((const hd_encdec *)self)->opt;
    char encoder[HD_STAGES_TEXT], decoder[HD_STAGES_TEXT];
    snprintf(buf, size, "%s to %s",
             o->pictures ? hd_image_encoder_names[o->image.kind] : hd_stages_text(&o->encoder, encoder),
             hd_stages_text(&o->decoder, decoder));
    return buf;
}

static hd_model_sizes sizes(const void *self)
{
    const hd_encdec *m = self;
    return (hd_model_sizes){.layers = m->opt.pictures ? hd_image_encoder_layers(&m->image.opt)
                                                      : hd_encoder_layers(&m->encoder),
                            .image = m->opt.pictures ? &m->opt.image.prepare : NULL,
                            .sound = m->opt.sounds ? &m->opt.sound.features : NULL,
                            .vocab = m->opt.source_vocab,
                            .target_vocab = m->opt.target_vocab,
                            .positions = m->opt.positions};
}

static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    const hd_encdec *m = self;
    if (m->opt.pictures) return hd_image_encoder_rows(r, &m->image, layers, in);
    return hd_encoder_rows_at_layer(r, &m->encoder, layers, in);
}

static size_t width(const void *self, int layer)
{
    const hd_encdec *m = self;
    if (m->opt.pictures && layer) return m->image.type->width(&m->image.opt, layer);
    return layer ? hd_encoder_width(&m->encoder, layer) : m->encoder.out;
}

static hd_param *table(const void *self)
{
    return ((const hd_encdec *)self)->encoder.front.table;
}

static hd_rows decode(hd_run *r, const void *self, const hd_items *source, const hd_items *in)
{
    return hd_encdec_decode(r, self, in->ids, in->seg, hd_encdec_encode(r, self, source), NULL);
}

static hd_status stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                         size_t items, int32_t start, hd_err *err)
{
    return hd_encdec_stepper(out, self, ids, len, items, start, err);
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_encdec(p, self);
}

static double flops(const void *self, double items, double length, double outputs)
{
    return hd_encdec_flops(self, items, length, outputs);
}

/* Where heads differ, a layer of fewer shows them by turns. */
static hd_attention_layers attention(const void *self, hd_attention_kind k)
{
    const hd_encdec *m = self;
    const hd_stages *side = k == HD_ATTENTION_ENCODER ? &m->opt.encoder : &m->opt.decoder;
    hd_attention_layers a = {0};
    if (m->opt.pictures && k == HD_ATTENTION_ENCODER && m->opt.image.kind == HD_IMAGE_vit)
        hd_attention_layers_add(&a, 0, m->opt.image.stack.layers, m->opt.image.stack.heads);
    for (int i = 0; i < side->count; i++) {
        const hd_stage *x = &side->at[i];
        bool looks =
            k == HD_ATTENTION_CROSS && hd_stage_recurs(x) && m->opt.recurrent.context == HD_CONTEXT_attention;
        if (looks) hd_attention_layers_add(&a, i, 1, m->cells.look.opt.heads);
        if (x->kind == HD_STAGE_transformer) hd_attention_layers_add(&a, i, x->layers, m->opt.stack.heads);
    }
    return a;
}

static hd_status refuse_attention(const void *self, hd_attention_kind k, hd_err *err)
{
    const hd_encdec_opt *o = &((const hd_encdec *)self)->opt;
    char side[HD_STAGES_TEXT];
    if (k == HD_ATTENTION_CROSS && hd_encdec_decodes(o))
        return hd_err_set(err, HD_EARG,
                          "the model has no cross-attention: it was trained with --decoder-context %s",
                          hd_context_names[o->recurrent.context]);
    if (k == HD_ATTENTION_ENCODER && o->pictures)
        return hd_err_set(err, HD_EARG, "the model has no %s: its %s is %s", hd_attention_title(k),
                          hd_attention_name(k), hd_image_encoder_names[o->image.kind]);
    return hd_err_set(err, HD_EARG, "the model has no %s: its %s is %s", hd_attention_title(k),
                      hd_attention_name(k),
                      hd_stages_text(k == HD_ATTENTION_ENCODER ? &o->encoder : &o->decoder, side));
}

/* -- formulas -- */

/* Whether it is of the decoder's recurrent stage, whose layers are called layer0, layer1, ... */
static bool of_cells(const void *self, const char *name)
{
    return hd_encdec_recurs(self) && !strncmp(name, "dec.0.", 6);
}

static const char *const scoring_text[] = {
#define X(name, text) text,
    HD_SCORING_LIST(X)
#undef X
};
static const char *const reading_text[] = {
#define X(name, text) text,
    HD_READING_LIST(X)
#undef X
};
static const char *const context_text[] = {
#define X(name, text) text,
    HD_CONTEXT_LIST(X)
#undef X
};

static const char *cells_formula(const hd_encdec *m, const char *name)
{
    const hd_recurrent_decoder *d = &m->cells;
    const hd_look *l = &d->look;
    if (hd_formula_is(name, "Q")) return l->q.w ? "query W" : "query";
    if (hd_formula_is(name, "K")) return l->k.w ? "the encoder's rows, mapped" : "the encoder's rows";
    if (hd_formula_is(name, "V")) return l->v.w ? "the encoder's rows, mapped" : "the encoder's rows";
    if (hd_formula_is(name, "scores")) return scoring_text[d->opt.score];
    if (hd_formula_is(name, "scaled")) return "scores, scaled and less far from where it looks";
    if (hd_formula_is(name, "gate")) return "sigmoid(w . query + b)";
    if (hd_formula_is(name, "read")) return reading_text[d->opt.read];
    if (hd_formula_is(name, "context"))
        return l->gate.w                                ? "gate * sum of softmax * V"
               : d->opt.context == HD_CONTEXT_attention ? "sum of softmax * V"
                                                        : context_text[d->opt.context];
    return hd_formula_cell(&m->opt.decoder.at[0], m->opt.cell, name);
}

/* Of blocks without biases; NULL: as of the others. */
static const char *unbiased_formula(const hd_encdec_opt *o, const char *name)
{
    bool pre = o->stack.pre_norm, cross = hd_formula_inside(name, "cross");
    if (hd_formula_is(name, "Q")) return pre ? "norm W_Q" : "x W_Q";
    if (hd_formula_is(name, "K"))
        return cross ? "m W_K: m are the encoder's rows" : pre ? "norm W_K" : "x W_K";
    if (hd_formula_is(name, "V"))
        return cross ? "m W_V: m are the encoder's rows" : pre ? "norm W_V" : "x W_V";
    if (hd_formula_is(name, "mha_out")) return "attn_out W_O";
    if (hd_formula_is(name, "hidden")) return pre ? "norm W1" : "x W1";
    if (hd_formula_is(name, "gate")) return pre ? "norm W3" : "x W3";
    if (hd_formula_is(name, "out")) return o->stack.gated ? "gated W2" : "act(hidden) W2";
    return NULL;
}

/* Of a block's products, in all kinds that there are. */
static const char *block_formula(const hd_encdec_opt *o, const char *name)
{
    const char *special = o->stack.unbiased ? unbiased_formula(o, name) : NULL;
    if (special) return special;
    if (hd_formula_is(name, "gated")) return "act(hidden) * gate";
    if (hd_formula_is(name, "norm") && o->stack.rms)
        return "sum / root of the mean square * gain, row by row";
    if (hd_formula_is(name, "scaled") && o->stack.relative.buckets && !hd_formula_inside(name, "cross"))
        return "scores + a number for the distance of key and query";
    return hd_formula_block(o->stack.pre_norm, name);
}

static const char *formula(const void *self, const char *name)
{
    const hd_encdec *m = self;
    if (hd_formula_is(name, "logits"))
        return m->opt.scaled_output ? "y W / sqrt(columns of y): y is the row above"
               : m->output_bias     ? NULL
                                    : "y W: y is the row above";
    const char *input = hd_formula_of_encoder(name) ? hd_formula_stages(&m->encoder, m->opt.cell, name)
                                                    : hd_formula_embedding(&m->target, name);
    if (input) return input;
    return of_cells(m, name) ? cells_formula(m, name) : block_formula(&m->opt, name);
}

const hd_model_type hd_model_encdec = {
    .name = "encdec",
    .free = drop,
    .title = title,
    .describe = hd_encdec_describe,
    .sizes = sizes,
    .rows = rows,
    .width = width,
    .table = table,
    .decode = decode,
    .stepper = stepper,
    .prepare = prepare,
    .attention = attention,
    .attends = HD_ATTENTION_CROSS,
    .refuse_attention = refuse_attention,
    .formula = formula,
    .numbers_stage = of_cells,
    .flops = flops,
};
