/* The Vision Transformer: squares of pixels, or what a small convolutional stem makes of them, are the rows
   of a Transformer that normalizes before its layers. Easy to get wrong: the tokens before the cells are no
   squares, so their rows of pixels are zeros, and the bias of the squares is added with the positions. */
#include <math.h>
#include <stdio.h>

#include "model/keys.h"
#include "model/prepare.h"
#include "model/vision/image_encoder.h"

static const hd_init NORMAL = {HD_INIT_NORMAL, 0.02f, 0};

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 16, MOST_LAYERS = 1000, MOST_HEADS = 1024, MOST_PATCH = 1 << 10 };

/* -- making -- */

static hd_status check(const hd_image_encoder_opt *o, hd_err *err)
{
    const hd_stack_opt *k = &o->stack;
    if (k->layers < 1 || !k->width)
        return hd_err_set(err, HD_EARG, "a ViT of %d layers of width %zu is not a model", k->layers,
                          k->width);
    if (o->stem < 0 || o->stem > HD_IMAGE_STEM)
        return hd_err_set(err, HD_EARG, "a stem has at most %d layers: not %d", HD_IMAGE_STEM, o->stem);
    if (!o->stem && (o->patch < 1 || o->patch > MOST_PATCH))
        return hd_err_set(err, HD_EARG, "patches of %d x %d pixels: 1 to %d on a side", o->patch, o->patch,
                          MOST_PATCH);
    if (!o->stem && (o->height % o->patch || o->width % o->patch))
        return hd_err_set(err, HD_EARG, "pictures of %d x %d pixels are not divided by patches of %d x %d",
                          o->width, o->height, o->patch, o->patch);
    if (o->distilled && !o->class_token)
        return hd_err_set(err, HD_EARG, "a distillation token needs a class token before it");
    if (o->pooler && !o->class_token)
        return hd_err_set(err, HD_EARG, "a pooler reads the class token: the model has none");
    return hd_stack_check(k, err);
}

static hd_status complete(hd_image_encoder_opt *o, hd_err *err)
{
    hd_stack_opt *k = &o->stack;
    hd_status s = check(o, err);
    if (!k->inner) k->inner = 4 * k->width;
    if (!(k->eps > 0)) k->eps = 1e-12f;
    if (k->act == HD_IDENTITY) k->act = HD_gelu;
    if (k->init.kind == HD_INIT_ZERO) k->init = NORMAL;
    if (o->pooler_act == HD_IDENTITY) o->pooler_act = HD_tanh;
    if (o->stem) o->patch = 0;
    k->pre_norm = true, k->names = &hd_stack_vit;
    return s;
}

static int layers(const hd_image_encoder_opt *o)
{
    return o->stack.layers;
}

static size_t width(const hd_image_encoder_opt *o, int layer)
{
    (void)layer;
    return o->stack.width;
}

static const hd_pool_opt HALF = {{2, 2}, {2, 2}, {0, 0}, HD_GRID_MAX};

/* A stem pools behind its first layer and behind its last, which may be one. */
static bool pools(const hd_image_encoder_opt *o, int layer)
{
    return layer == 0 || layer + 1 == o->stem;
}

static void grid(const hd_image_encoder_opt *o, int height, int columns, int cells[2])
{
    cells[0] = height, cells[1] = columns;
    for (int i = 0; i < 2 && o->patch; i++) cells[i] /= o->patch;
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < o->stem; l++)
            if (pools(o, l)) cells[i] = hd_grid_places(cells[i], 2, 2, 0);
}

/* Columns of a layer of the stem: twice as many in each, up to those of the blocks. */
static size_t stem_width(const hd_image_encoder_opt *o, int layer)
{
    if (layer < 0) return (size_t)o->channels;
    size_t width_of = o->stack.width >> (o->stem - 1 - layer);
    return width_of ? width_of : 1;
}

static void make_stem(hd_image_encoder *e, hd_params *p)
{
    const hd_image_encoder_opt *o = &e->opt;
    char name[160];
    for (int l = 0; l < o->stem; l++) {
        size_t in = stem_width(o, l - 1), out = stem_width(o, l);
        /* as many numbers are summed as keep the variance through a relu */
        hd_init init = {HD_INIT_NORMAL, (float)sqrt(2 / (9 * (double)in)), 0};
        hd_vit_stem *s = &e->stem[l];
        s->conv = hd_param_add(p, out, 9 * in, init, "%s.embeddings.stem.%d.convolution.weight", o->name, l);
        hd_param_shape(s->conv, 4, (const size_t[]){out, in, 3, 3});
        snprintf(name, sizeof name, "%s.embeddings.stem.%d.normalization", o->name, l);
        s->norm = hd_map_norm_make(p, out, HD_MAP_NORM_batch, name);
    }
}

static void make_patches(hd_image_encoder *e, hd_params *p)
{
    const hd_image_encoder_opt *o = &e->opt;
    size_t side = (size_t)o->patch, channels = (size_t)o->channels;
    char name[160];
    snprintf(name, sizeof name, "%s.embeddings.patch_embeddings.projection", o->name);
    e->patch = hd_dense_make(p, channels * side * side, o->stack.width,
                             &(hd_dense_opt){.init = o->stack.init}, name);
    hd_param_shape(e->patch.w, 4, (const size_t[]){o->stack.width, channels, side, side});
}

/* The tokens before the cells are one parameter here, and up to two tensors in files. */
static void make_tokens(hd_image_encoder *e, hd_params *p)
{
    static const char *const names[] = {"cls_token", "distillation_token"};
    const hd_image_encoder_opt *o = &e->opt;
    size_t lead = (size_t)hd_image_encoder_lead(o), width_of = o->stack.width;
    e->lead = lead ? hd_param_hidden(p, lead, width_of, o->stack.init) : NULL;
    if (e->lead) e->lead->decay = false;
    for (size_t i = 0; e->lead && i < lead; i++)
        hd_param_shape(hd_param_part(p, e->lead, i, 1, o->stack.init, "%s.embeddings.%s", o->name, names[i]),
                       3, (const size_t[]){1, 1, width_of});
}

static void make_positions(hd_image_encoder *e, hd_params *p)
{
    const hd_image_encoder_opt *o = &e->opt;
    size_t lead = (size_t)hd_image_encoder_lead(o), rows = hd_image_encoder_length(o);
    e->position =
        hd_param_add(p, rows, o->stack.width, o->stack.init, "%s.embeddings.position_embeddings", o->name);
    hd_param_shape(e->position, 3, (const size_t[]){1, rows, o->stack.width});
    if (!e->position) return;
    e->position->decay = false;
    e->lead_position = lead ? hd_param_view(p, e->position, 0, lead) : NULL;
    e->cells = hd_param_view(p, e->position, lead, rows - lead);
}

static hd_status make(hd_image_encoder *e, hd_params *p, hd_err *err)
{
    hd_image_encoder_opt *o = &e->opt;
    char name[160];
    make_tokens(e, p);
    make_positions(e, p);
    if (o->stem)
        make_stem(e, p);
    else
        make_patches(e, p);
    o->stack.name = o->name;
    hd_status s = hd_stack_make(&e->stack, p, &o->stack, err);
    o->stack.name = NULL;
    snprintf(name, sizeof name, "%s.pooler.dense", o->name);
    if (!s && o->pooler)
        e->pooler =
            hd_dense_make(p, o->stack.width, o->stack.width, &(hd_dense_opt){.init = o->stack.init}, name);
    return s;
}

static void release(hd_image_encoder *e)
{
    hd_stack_release(&e->stack);
}

/* -- running -- */

/* Pixels through the stem. */
static hd_rows stem_rows(hd_run *r, const hd_image_encoder *e, const hd_pixels *in)
{
    static const hd_conv_opt same = {{3, 3}, {1, 1}, {1, 1}, HD_IDENTITY};
    hd_rows x = hd_pixel_rows(r, in, 1);
    for (int l = 0; l < e->opt.stem; l++) {
        const hd_vit_stem *s = &e->stem[l];
        x = hd_conv(r, x, s->conv ? &s->conv->t : NULL, NULL, &same);
        x = hd_map_norm_of(r, &s->norm, x, NULL, HD_relu);
        if (pools(&e->opt, l)) x = hd_pool_grid(r, x, &HALF);
    }
    return x;
}

/* The table of positions, of the grid of these pictures, with what every cell and every token has beside:
   [tokens + cells, C]. */
static hd_tensor *table_of(hd_run *r, const hd_image_encoder *e, const int cells[2])
{
    const hd_image_encoder_opt *o = &e->opt;
    int own[2];
    grid(o, o->height, o->width, own);
    hd_position_grid g = {.from_height = (size_t)own[0],
                          .from_width = (size_t)own[1],
                          .to_height = (size_t)cells[0],
                          .to_width = (size_t)cells[1]};
    hd_tensor *t = hd_positions_resized(r, &e->cells->t, &g);
    if (e->patch.b) t = hd_add(r, t, &e->patch.b->t);
    if (!e->lead || !t) return t;
    hd_tensor *lead = hd_add(r, &e->lead->t, &e->lead_position->t);
    return lead ? hd_concat_rows(r, (hd_tensor *const[]){lead, t}, 2) : NULL;
}

/* What the first block reads. */
static hd_rows embedded(hd_run *r, const hd_image_encoder *e, const hd_pixels *in, int cells[2])
{
    const hd_image_encoder_opt *o = &e->opt;
    grid(o, in->host_size[0], in->host_size[1], cells);
    hd_rows x = o->stem ? stem_rows(r, e, in) : hd_pixel_rows(r, in, o->patch);
    x = hd_lead_rows(r, x, hd_image_encoder_lead(o));
    if (!x.t) return x;
    if (!o->stem) {
        hd_probe_offer(r, "pixels", x.t, x.seg);
        x.t = hd_linear(r, x.t, &e->patch.w->t, NULL, HD_IDENTITY);
    }
    hd_probe_offer(r, "emb", x.t, x.seg);
    x.t = hd_gather_add(r, x.t, table_of(r, e, cells), x.seg->pos);
    hd_probe_offer(r, "X", x.t, x.seg);
    x.t = hd_dropout(r, x.t, o->stack.dropout, x.seg);
    return x;
}

static hd_rows rows(hd_run *r, const hd_image_encoder *e, int count, const hd_pixels *in)
{
    int cells[2];
    return hd_stack_rows_at_layer(r, &e->stack, count, embedded(r, e, in, cells));
}

/* A row for each picture: the one place of a window over all its cells. */
static const hd_seg *first_rows(hd_run *r, const hd_seg *seg, const int cells[2])
{
    hd_seg alone = *seg;
    alone.lead = 0;
    const hd_grid_window whole = {{cells[0], cells[1]}, {cells[0], cells[1]}, {0, 0}};
    return hd_grid_under(r, "first rows", &alone, &whole);
}

static hd_rows first(hd_run *r, const hd_image_encoder *e, const hd_pixels *in)
{
    int cells[2];
    if (!e->opt.class_token || e->opt.stack.recompute) return rows(r, e, layers(&e->opt), in);
    hd_rows x = embedded(r, e, in, cells);
    return x.t ? hd_stack_first(r, &e->stack, x, first_rows(r, x.seg, cells)) : x;
}

/* -- what else is asked -- */

static double flops(const hd_image_encoder *e, double items, const int cells[2])
{
    const hd_image_encoder_opt *o = &e->opt;
    double count = (double)cells[0] * cells[1], length = count + hd_image_encoder_lead(o), sum = 0;
    for (int l = o->stem - 1; l >= 0; l--) {
        if (pools(o, l)) count *= 4;
        sum += 2 * count * (double)(9 * stem_width(o, l - 1) * stem_width(o, l));
    }
    if (!o->stem) sum = 2 * count * (double)hd_count_of(&e->patch.w->t);
    return items * sum + hd_stack_flops(&e->stack.opt, items, length, 0);
}

static void prepare(struct hd_preparing *p, const hd_image_encoder *e)
{
    hd_prepare(p, e->patch.w);
    hd_prepare_stack(p, &e->stack);
    hd_prepare_stack_first(p, &e->stack);
    hd_prepare(p, e->pooler.w);
}

static void describe(const hd_image_encoder_opt *o, hd_details *to)
{
    hd_details_whole(to, "heads", (uint64_t)o->stack.heads);
    hd_details_whole(to, "width", o->stack.width);
    hd_details_whole(to, "inner", o->stack.inner);
    hd_details_text(to, "activation", hd_unary_name(o->stack.act));
}

#define KEY(name, kind, field) HD_KEY_OF(hd_image_encoder_opt, name, kind, field)

static const hd_key keys[] = {
    {KEY("layers", WHOLE, stack.layers), .least = 1, .most = MOST_LAYERS},
    {KEY("heads", WHOLE, stack.heads), .least = 1, .most = MOST_HEADS},
    {KEY("width", WHOLE, stack.width), .least = 1, .most = MOST_SIZE},
    {KEY("inner", WHOLE, stack.inner), .least = 1, .most = 4 * MOST_SIZE},
    {KEY("activation", UNARY, stack.act)},
    {KEY("dropout", REAL, stack.dropout), .most = 0.999},
    {KEY("attention_dropout", REAL, stack.attention_dropout), .most = 0.999},
    {KEY("eps", REAL, stack.eps), .most = 1},
    {KEY("patch", WHOLE, patch), .least = 1, .most = MOST_PATCH, .when = HD_KEY_RARE},
    {KEY("stem", WHOLE, stem), .least = 1, .most = HD_IMAGE_STEM, .when = HD_KEY_RARE},
    {KEY("class_token", FLAG, class_token)},
    {KEY("distilled", FLAG, distilled), .when = HD_KEY_RARE},
    {KEY("pooler", FLAG, pooler), .when = HD_KEY_RARE},
    {KEY("pooler_activation", UNARY, pooler_act), .when = HD_KEY_RARE},
    {KEY("drop_path", REAL, stack.drop_path), .most = 0.999, .when = HD_KEY_RARE},
    {KEY("unbiased_qkv", FLAG, stack.unbiased_qkv), .when = HD_KEY_RARE},
    {0},
};

static void put(hd_text *to, const hd_image_encoder_opt *o)
{
    hd_keys_write(to, keys, 0, o);
}

static void take(hd_model_config *c, hd_image_encoder_opt *o)
{
    hd_keys_read(c, keys, 0, o);
}

const hd_image_encoder_type hd_image_encoder_vit = {.complete = complete,
                                                    .make = make,
                                                    .release = release,
                                                    .rows = rows,
                                                    .first = first,
                                                    .layers = layers,
                                                    .width = width,
                                                    .grid = grid,
                                                    .flops = flops,
                                                    .prepare = prepare,
                                                    .describe = describe,
                                                    .write = put,
                                                    .read = take};
