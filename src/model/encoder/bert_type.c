/* BERT in config.json, and as a model among others. */
#include "model/encoder/bert.h"

#include <string.h>

#include "model/encoder/body.h"
#include "model/formula.h"
#include "model/keys.h"
#include "model/prepare.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_LAYERS = 1000 };

/* -- config.json -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_bert_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("layers", WHOLE, stack.layers), .least = 1, .most = MOST_LAYERS},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = 1024},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 1, .most = 4 * MOST_SIZE},
    {KEY("context", WHOLE, positions), .least = 3, .most = MOST_SIZE},
    {KEY("vocabulary", WHOLE, vocab), .least = 1, .most = 64 * MOST_SIZE},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    /* folders may lack all but the last: models trained here have none of it */
    {KEY("eps", REAL, stack.eps), .most = 1, .when = HD_KEY_LATE},
    {KEY("types", WHOLE, types), .least = 0, .most = MOST_SIZE, .when = HD_KEY_LATE},
    {KEY("headless", FLAG, headless), .when = HD_KEY_LATE},
    {KEY("pooler", FLAG, pooler), .when = HD_KEY_LATE},
    {KEY(HD_BERT_OFFSET, WHOLE, offset), .least = 1, .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("embedding", WHOLE, embedding), .least = 1, .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("buckets", WHOLE, stack.relative.buckets), .least = 4, .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("reach", WHOLE, stack.relative.reach), .least = 1, .most = MOST_SIZE, .when = HD_KEY_RARE},
    {KEY("pooler_activation", UNARY, pooler_act), .when = HD_KEY_RARE},
    {KEY(HD_BERT_FAMILY, TEXT, family), .when = HD_KEY_RARE},
    {KEY("activation", UNARY, stack.act)},
    {0},
};

void hd_bert_config_write(hd_text *to, const hd_bert_opt *o)
{
    hd_keys_write(to, keys, 0, o);
}

void hd_bert_config_read(hd_model_config *c, hd_bert_opt *o)
{
    static const char *const models[] = {"bert"};
    *o = (hd_bert_opt){0};
    hd_model_config_name(c, "model", models, 1);
    hd_keys_read(c, keys, 0, o);
    o->no_types = hd_model_config_has(c, "types") && !o->types;
    if (!c->status && o->stack.width % (size_t)o->stack.heads)
        hd_model_config_refuse(c, "a width of %zu cannot be split over %d heads", o->stack.width,
                               o->stack.heads);
}

/* -- among others -- */

static void drop(void *self)
{
    hd_bert_free(self);
}

static const char *title(const void *self, char *buf, size_t size)
{
    (void)self, (void)buf, (void)size;
    return "bert";
}

static void describe(const void *self, hd_details *to)
{
    const hd_bert_opt *o = &((const hd_bert *)self)->opt;
    hd_details_text(to, "model", "bert");
    if (*o->family) hd_details_text(to, "family", o->family);
    hd_details_whole(to, "layers", (uint64_t)o->stack.layers);
    hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    hd_details_whole(to, "width", o->stack.width);
    if (o->embedding) hd_details_whole(to, "embedding", o->embedding);
    hd_details_whole(to, "inner", o->stack.inner);
    hd_details_text(to, "activation", hd_unary_name(o->stack.act));
    hd_details_whole(to, "context", o->positions);
    if (o->stack.relative.buckets) hd_details_whole(to, "buckets", o->stack.relative.buckets);
    hd_details_flag(to, "predicts_words", !o->headless);
    hd_details_flag(to, "pooler", o->pooler);
}

static hd_model_sizes sizes(const void *self)
{
    const hd_bert *m = self;
    const hd_bert_opt *o = &m->opt;
    return (hd_model_sizes){.layers = o->stack.layers,
                            .vocab = o->vocab,
                            .positions = o->positions,
                            .pooler = o->pooler ? &m->pooler : NULL,
                            .fills = !o->headless};
}

/* Those of a first text where nothing else is said. */
static hd_items with_types(hd_run *r, const hd_items *in)
{
    hd_items out = *in;
    int32_t *zeros = in->type || !in->seg ? NULL : hd_host_take(r, in->seg->rows * sizeof *zeros);
    if (zeros) out.type = hd_ints(r, zeros, in->seg->rows);
    return out;
}

static hd_rows rows(hd_run *r, const void *self, int layers, const hd_items *in)
{
    const hd_items all = with_types(r, in);
    return all.type ? hd_bert_rows_at_layer(r, self, layers, &all) : (hd_rows){0};
}

static size_t width(const void *self, int layer)
{
    (void)layer;
    return ((const hd_bert *)self)->opt.stack.width;
}

static hd_tensor *pooled(hd_run *r, const void *self, hd_rows last)
{
    return hd_bert_pooled(r, self, last);
}

static hd_param *table(const void *self)
{
    return ((const hd_bert *)self)->front.table;
}

static hd_tensor *fill(hd_run *r, const void *self, const hd_items *in, const int32_t *place, size_t count)
{
    const hd_items all = with_types(r, in);
    const hd_bert_batch b = {
        .seg = all.seg, .ids = all.ids, .type = all.type, .place = place, .count = count};
    return hd_bert_logits(r, self, &b);
}

static void prepare(hd_preparing *p, const void *self)
{
    hd_prepare_bert(p, self);
}

static hd_attention_layers attention(const void *self, hd_attention_kind k)
{
    const hd_bert_opt *o = &((const hd_bert *)self)->opt;
    hd_attention_layers a = {0};
    if (k == HD_ATTENTION_ENCODER) hd_attention_layers_add(&a, 0, o->stack.layers, o->stack.heads);
    return a;
}

static const char *pooled_formula(hd_unary act)
{
    return act == HD_relu   ? "relu(first row W + b)"
           : act == HD_gelu ? "gelu(first row W + b)"
                            : "tanh(first row W + b)";
}

static const char *formula(const void *self, const char *name)
{
    const hd_bert_opt *o = &((const hd_bert *)self)->opt;
    if (hd_formula_is(name, "X")) return "emb + position";
    if (hd_formula_is(name, "logits")) return "y E^T + b: y is the row above, E the table of tokens";
    if (hd_formula_is(name, "pooled")) return pooled_formula(o->pooler_act);
    if (hd_formula_is(name, "asked")) return "the last block's rows of the masks";
    if (!strcmp(name, "head.sum")) return "act(asked W + b)";
    if (!strcmp(name, "enc.sum")) return o->types ? "X + the vector of the token's type" : "X";
    if (!strcmp(name, "enc.projected")) return "norm W + b";
    if (hd_formula_is(name, "scaled") && o->stack.relative.buckets)
        return "scores / sqrt(columns of a head) + the number of the distance";
    return hd_formula_block(false, name);
}

static double flops(const void *self, double items, double length, double outputs)
{
    return hd_bert_flops(self, items, length, outputs);
}

const hd_model_type hd_model_bert = {
    .name = "bert",
    .free = drop,
    .title = title,
    .describe = describe,
    .sizes = sizes,
    .rows = rows,
    .reads_types = true,
    .head_dropout = HD_HEAD_DROPOUT_POOLED,
    .as_body = &hd_body_bert,
    .width = width,
    .pooled = pooled,
    .table = table,
    .fill = fill,
    .prepare = prepare,
    .attention = attention,
    .attends = HD_ATTENTION_ENCODER,
    .formula = formula,
    .flops = flops,
};
