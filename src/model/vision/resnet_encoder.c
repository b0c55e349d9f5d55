/* ResNet as an encoder of pictures: its layers are its stages. */
#include "model/keys.h"
#include "model/prepare.h"
#include "model/vision/image_encoder.h"

enum { SMALL_PICTURE = 96, MOST_WIDTH = 1 << 16, MOST_DEPTH = 1000 };

/* That of 18 layers; small pictures keep their cells longer. */
static void fill_in(hd_image_encoder_opt *o)
{
    hd_resnet_opt *n = &o->resnet;
    static const size_t widths[] = {64, 128, 256, 512};
    int side = o->height < o->width ? o->height : o->width;
    *n = (hd_resnet_opt){
        .stages = 4, .embedding = 64, .stem_small = side < SMALL_PICTURE, .norm = n->norm, .timm = n->timm};
    for (int s = 0; s < n->stages; s++) n->hidden[s] = widths[s], n->depths[s] = 2;
}

static hd_status complete(hd_image_encoder_opt *o, hd_err *err)
{
    if (o->class_token || o->distilled || o->pooler)
        return hd_err_set(err, HD_EARG, "a ResNet has no class token");
    if (!o->resnet.stages) fill_in(o);
    o->resnet.channels = o->channels;
    return hd_resnet_check(&o->resnet, err);
}

static hd_status make(hd_image_encoder *e, hd_params *p, hd_err *err)
{
    e->opt.resnet.name = e->opt.name;
    hd_status s = hd_resnet_make(&e->resnet, p, &e->opt.resnet, err);
    e->opt.resnet.name = NULL;
    return s;
}

static void release(hd_image_encoder *e)
{
    hd_resnet_release(&e->resnet);
}

static hd_rows rows(hd_run *r, const hd_image_encoder *e, int count, const hd_pixels *in)
{
    return hd_resnet_rows(r, &e->resnet, count, hd_pixel_rows(r, in, 1));
}

static int layers(const hd_image_encoder_opt *o)
{
    return o->resnet.stages;
}

static size_t width(const hd_image_encoder_opt *o, int layer)
{
    return o->resnet.hidden[layer - 1];
}

static void grid(const hd_image_encoder_opt *o, int height, int columns, int cells[2])
{
    hd_resnet_grid(&o->resnet, o->resnet.stages, height, columns, cells);
}

static double flops(const hd_image_encoder *e, double items, const int cells[2])
{
    (void)cells;
    return items * hd_resnet_flops(&e->opt.resnet, e->opt.height, e->opt.width);
}

/* Convolutions of one cell are products with the weight as it lies; others bring it into another order first.
 */
static void prepare_layer(struct hd_preparing *p, const hd_resnet_layer *l)
{
    if (l->kernel == 1 && l->stride == 1) hd_prepare(p, l->w);
}

static void prepare(struct hd_preparing *p, const hd_image_encoder *e)
{
    for (size_t i = 0; i < e->resnet.blocks; i++) {
        const hd_resnet_block *b = &e->resnet.block[i];
        prepare_layer(p, &b->shortcut);
        for (int l = 0; l < 3; l++) prepare_layer(p, &b->layer[l]);
    }
}

static void describe(const hd_image_encoder_opt *o, hd_details *to)
{
    const hd_resnet_opt *n = &o->resnet;
    uint64_t blocks = 0;
    for (int s = 0; s < n->stages; s++) blocks += (uint64_t)n->depths[s];
    hd_details_whole(to, "blocks", blocks);
    hd_details_text(to, "block", n->bottleneck ? "bottleneck" : "basic");
    hd_details_text(to, "norm", hd_map_norm_names[n->norm]);
    hd_details_whole(to, "width", n->hidden[n->stages - 1]);
}

/* -- config.json -- */

#define KEY(name, kind, field) HD_KEY_OF(hd_image_encoder_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("embedding", WHOLE, resnet.embedding), .least = 1, .most = MOST_WIDTH},
    {KEY("bottleneck", FLAG, resnet.bottleneck)},
    {KEY("norm", CHOICE, resnet.norm), HD_KEY_NAMES(hd_map_norm_names)},
    {KEY("small_stem", FLAG, resnet.stem_small), .when = HD_KEY_RARE},
    {KEY("timm_names", FLAG, resnet.timm), .when = HD_KEY_RARE},
    {0},
};

static void put(hd_text *to, const hd_image_encoder_opt *o)
{
    const hd_resnet_opt *n = &o->resnet;
    hd_keys_write(to, keys, 0, o);
    hd_text_put(to, ",\n \"stages\": [");
    for (int s = 0; s < n->stages; s++)
        hd_text_print(to, "%s{\"width\": %zu, \"blocks\": %d%s}", s ? ", " : "", n->hidden[s], n->depths[s],
                      n->keeps[s] ? ", \"keeps_size\": true" : "");
    hd_text_put(to, "]");
}

static long long number(hd_model_config *c, const json_t *stage, const char *key, int most)
{
    const json_t *v = json_object_get(stage, key);
    long long x = json_is_integer(v) ? json_integer_value(v) : 0;
    if (x < 1 || x > most) hd_model_config_refuse(c, "\"%s\" of a stage is a number from 1 to %d", key, most);
    return x < 1 || x > most ? 1 : x;
}

static void take(hd_model_config *c, hd_image_encoder_opt *o)
{
    hd_resnet_opt *n = &o->resnet;
    hd_keys_read(c, keys, 0, o);
    const json_t *list = json_object_get(c->object, "stages");
    size_t count = json_array_size(list);
    if (count < 1 || count > HD_RESNET_STAGES)
        return hd_model_config_refuse(c, "\"stages\" is a list of 1 to %d stages", HD_RESNET_STAGES);
    n->stages = (int)count;
    for (size_t s = 0; s < count; s++) {
        const json_t *stage = json_array_get(list, s);
        n->hidden[s] = (size_t)number(c, stage, "width", MOST_WIDTH);
        n->depths[s] = (int)number(c, stage, "blocks", MOST_DEPTH);
        n->keeps[s] = json_is_true(json_object_get(stage, "keeps_size"));
    }
}

const hd_image_encoder_type hd_image_encoder_resnet = {.complete = complete,
                                                       .make = make,
                                                       .release = release,
                                                       .rows = rows,
                                                       .any_size = true,
                                                       .layers = layers,
                                                       .width = width,
                                                       .grid = grid,
                                                       .flops = flops,
                                                       .prepare = prepare,
                                                       .describe = describe,
                                                       .write = put,
                                                       .read = take};
