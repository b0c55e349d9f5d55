/* ResNet. Easy to get wrong: the stride of a bottleneck block is that of its 3x3 convolution, and a shortcut
   has weights of its own wherever the map changes its size or its columns. */
#include "model/vision/resnet.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"

enum { MOST_WIDTH = 1 << 16, MOST_DEPTH = 1000, STEM = -1, SHORTCUT = -1 };

static const hd_pool_opt HALF = {{3, 3}, {2, 2}, {1, 1}, HD_GRID_MAX};

hd_status hd_resnet_check(const hd_resnet_opt *o, hd_err *err)
{
    if (o->stages < 1 || o->stages > HD_RESNET_STAGES)
        return hd_err_set(err, HD_EARG, "a ResNet of %d stages: it has 1 to %d", o->stages, HD_RESNET_STAGES);
    if (!o->embedding || o->embedding > MOST_WIDTH)
        return hd_err_set(err, HD_EARG, "a stem of %zu columns: it has 1 to %d", o->embedding, MOST_WIDTH);
    for (int s = 0; s < o->stages; s++) {
        if (!o->hidden[s] || o->hidden[s] > MOST_WIDTH || (o->bottleneck && o->hidden[s] % 4))
            return hd_err_set(err, HD_EARG, "stage %d has %zu columns: it has 1 to %d%s", s + 1, o->hidden[s],
                              MOST_WIDTH, o->bottleneck ? ", a multiple of 4" : "");
        if (o->depths[s] < 1 || o->depths[s] > MOST_DEPTH)
            return hd_err_set(err, HD_EARG, "stage %d has %d blocks: it has 1 to %d", s + 1, o->depths[s],
                              MOST_DEPTH);
    }
    return HD_OK;
}

/* -- shapes -- */

static int layers_of(const hd_resnet_opt *o)
{
    return o->bottleneck ? 3 : 2;
}

/* A convolution: what it reads, what it gives. */
typedef struct shape {
    size_t in, out;
    int kernel, stride;
} shape;

static shape stem_shape(const hd_resnet_opt *o)
{
    return (shape){(size_t)o->channels, o->embedding, o->stem_small ? 3 : 7, o->stem_small ? 1 : 2};
}

static shape layer_shape(const hd_resnet_opt *o, int stage, int block, int layer)
{
    size_t out = o->hidden[stage], narrow = o->bottleneck ? out / 4 : out,
           in = block   ? out
                : stage ? o->hidden[stage - 1]
                        : o->embedding;
    int stride = stage && !block && !o->keeps[stage] ? 2 : 1;
    if (layer == SHORTCUT) return (shape){in, out, 1, stride};
    if (!o->bottleneck) return (shape){layer ? out : in, out, 3, layer ? 1 : stride};
    return layer == 0   ? (shape){in, narrow, 1, 1}
           : layer == 1 ? (shape){narrow, narrow, 3, stride}
                        : (shape){narrow, out, 1, 1};
}

static bool has_shortcut(const hd_resnet_opt *o, int stage, int block)
{
    shape s = layer_shape(o, stage, block, SHORTCUT);
    return s.in != s.out || s.stride != 1;
}

/* -- making -- */

/* What the convolution or its norm is called behind the name of the network. */
static void name_in(char to[160], const hd_resnet_opt *o, int stage, int block, int layer, bool norm)
{
    const char *dot = *o->name ? "." : "", *kind = norm ? "normalization" : "convolution";
    int at = snprintf(to, 160, "%s%s", o->name, dot);
    if (at >= 160) return;
    char *end = to + at;
    size_t room = 160 - (size_t)at;
    if (o->timm && stage == STEM)
        snprintf(end, room, "%s", norm ? "bn1" : "conv1");
    else if (o->timm && layer == SHORTCUT)
        snprintf(end, room, "layer%d.%d.downsample.%d", stage + 1, block, norm);
    else if (o->timm)
        snprintf(end, room, "layer%d.%d.%s%d", stage + 1, block, norm ? "bn" : "conv", layer + 1);
    else if (stage == STEM)
        snprintf(end, room, "embedder.embedder.%s", kind);
    else if (layer == SHORTCUT)
        snprintf(end, room, "encoder.stages.%d.layers.%d.shortcut.%s", stage, block, kind);
    else
        snprintf(end, room, "encoder.stages.%d.layers.%d.layer.%d.%s", stage, block, layer, kind);
}

static hd_resnet_layer make_layer(hd_params *p, const hd_resnet_opt *o, shape s, int stage, int block,
                                  int layer)
{
    char name[160];
    size_t cells = (size_t)s.kernel * (size_t)s.kernel, side = (size_t)s.kernel;
    hd_init init = {HD_INIT_NORMAL, (float)sqrt(2 / (double)(s.out * cells)), 0}; /* He's, by what goes out */
    hd_resnet_layer l = {.kernel = s.kernel, .stride = s.stride};
    name_in(name, o, stage, block, layer, false);
    l.w = hd_param_add(p, s.out, s.in * cells, init, "%s.weight", name);
    hd_param_shape(l.w, 4, (const size_t[]){s.out, s.in, side, side});
    name_in(name, o, stage, block, layer, true);
    l.norm = hd_map_norm_make(p, s.out, o->norm, name);
    return l;
}

static void make_block(hd_params *p, const hd_resnet_opt *o, hd_resnet_block *b, int stage, int block)
{
    if (has_shortcut(o, stage, block))
        b->shortcut = make_layer(p, o, layer_shape(o, stage, block, SHORTCUT), stage, block, SHORTCUT);
    for (int l = 0; l < layers_of(o); l++)
        b->layer[l] = make_layer(p, o, layer_shape(o, stage, block, l), stage, block, l);
}

hd_status hd_resnet_make(hd_resnet *out, hd_params *p, const hd_resnet_opt *o, hd_err *err)
{
    *out = (hd_resnet){.opt = *o};
    hd_status s = hd_resnet_check(o, err);
    if (s) return s;
    for (int i = 0; i < o->stages; i++) out->blocks += (size_t)o->depths[i];
    out->block = hd_mem_array(out->blocks, sizeof *out->block);
    if (!out->block) return hd_err_nomem(err, out->blocks * sizeof *out->block);
    out->stem = make_layer(p, o, stem_shape(o), STEM, 0, 0);
    hd_resnet_block *b = out->block;
    for (int i = 0; i < o->stages; i++)
        for (int k = 0; k < o->depths[i]; k++) make_block(p, o, b++, i, k);
    out->opt.name = NULL;
    return p->err.status ? hd_err_set(err, p->err.status, "%s", p->err.text) : HD_OK;
}

void hd_resnet_release(hd_resnet *n)
{
    hd_mem_free(n->block);
    *n = (hd_resnet){0};
}

/* -- running -- */

static hd_rows layer_rows(hd_run *r, const hd_resnet_layer *l, hd_rows x, hd_tensor *add, hd_unary act)
{
    int half = l->kernel / 2;
    hd_conv_opt o = {{l->kernel, l->kernel}, {l->stride, l->stride}, {half, half}, HD_IDENTITY};
    return hd_map_norm_of(r, &l->norm, hd_conv(r, x, &l->w->t, NULL, &o), add, act);
}

static hd_rows block_rows(hd_run *r, const hd_resnet_block *b, int layers, hd_rows x)
{
    hd_rows y = x, past = b->shortcut.w ? layer_rows(r, &b->shortcut, x, NULL, HD_IDENTITY) : x;
    for (int l = 0; l + 1 < layers; l++) y = layer_rows(r, &b->layer[l], y, NULL, HD_relu);
    return layer_rows(r, &b->layer[layers - 1], y, past.t, HD_relu);
}

hd_rows hd_resnet_rows(hd_run *r, const hd_resnet *n, int stages, hd_rows pixels)
{
    hd_rows x = layer_rows(r, &n->stem, pixels, NULL, HD_relu);
    if (!n->opt.stem_small) x = hd_pool_grid(r, x, &HALF);
    const hd_resnet_block *b = n->block;
    for (int s = 0; s < stages; s++)
        for (int k = 0; k < n->opt.depths[s]; k++) x = block_rows(r, b++, layers_of(&n->opt), x);
    return x;
}

/* -- what else is asked -- */

static void shrink(int cells[2], int kernel, int stride)
{
    for (int i = 0; i < 2; i++) cells[i] = hd_grid_places(cells[i], kernel, stride, kernel / 2);
}

void hd_resnet_grid(const hd_resnet_opt *o, int stages, int height, int width, int cells[2])
{
    shape stem = stem_shape(o);
    cells[0] = height, cells[1] = width;
    shrink(cells, stem.kernel, stem.stride);
    if (!o->stem_small) shrink(cells, 3, 2);
    for (int s = 1; s < stages; s++)
        if (!o->keeps[s]) shrink(cells, 3, 2);
}

static double work(shape s, double cells)
{
    return 2 * cells * (double)(s.in * s.out) * s.kernel * s.kernel;
}

double hd_resnet_flops(const hd_resnet_opt *o, int height, int width)
{
    shape stem = stem_shape(o);
    int cells[2] = {height, width};
    shrink(cells, stem.kernel, stem.stride);
    double sum = work(stem, (double)cells[0] * cells[1]), before = 0;
    for (int s = 0; s < o->stages; s++) {
        hd_resnet_grid(o, s + 1, height, width, cells);
        double here = (double)cells[0] * cells[1];
        for (int k = 0; k < o->depths[s]; k++) {
            if (has_shortcut(o, s, k)) sum += work(layer_shape(o, s, k, SHORTCUT), here);
            for (int l = 0; l < layers_of(o);
                 l++) { /* before the stride of a bottleneck the map is the old one */
                bool old = o->bottleneck && s && !k && l == 0;
                sum += work(layer_shape(o, s, k, l), old ? before : here);
            }
        }
        before = here;
    }
    return sum;
}

static hd_status fold(const hd_resnet_layer *l, hd_params *p, hd_status s, hd_err *err)
{
    return s || !l->w ? s : hd_map_norm_fold(p, &l->norm, l->w, err);
}

hd_status hd_resnet_fold(const hd_resnet *n, hd_params *p, hd_err *err)
{
    hd_status s = fold(&n->stem, p, HD_OK, err);
    for (size_t i = 0; i < n->blocks; i++) {
        s = fold(&n->block[i].shortcut, p, s, err);
        for (int l = 0; l < layers_of(&n->opt); l++) s = fold(&n->block[i].layer[l], p, s, err);
    }
    return s;
}
