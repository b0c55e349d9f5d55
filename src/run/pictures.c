/* What the options mean for pictures. */
#include "run/pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

enum { SEEN = 500 }; /* pictures that mean and deviation are measured on */

static const float strongest = 10; /* of hd_augment.magnitude */

hd_augment hd_train_augment(const hd_train_options *o)
{
    bool turns = o->flip == HD_TRAIN_FLIP_TURNS, both = turns || o->flip == HD_TRAIN_FLIP_BOTH;
    float jitter = (float)(1 + o->scale_jitter);
    bool sides = both || o->flip == HD_TRAIN_FLIP_HORIZONTAL || o->flip == HD_TRAIN_FLIP_AUTO;
    return (hd_augment){.flip = sides,
                        .flip_vertical = both || o->flip == HD_TRAIN_FLIP_VERTICAL,
                        .turns = turns,
                        .crop = o->crop < 1 ? (float)o->crop : 0,
                        .scale_low = o->scale_jitter > 0 ? 1 / jitter : 0,
                        .scale_high = o->scale_jitter > 0 ? jitter : 0,
                        .shift = o->shift,
                        .rotate = (float)o->rotate,
                        .color = (float)o->color,
                        .random_ops = o->random_augment,
                        .magnitude = strongest * (float)o->augment_strength,
                        .erase = (float)o->erase,
                        .mixup = (float)o->mixup,
                        .cutmix = (float)o->cutmix};
}

void hd_train_plan_kept(hd_plan *p, const hd_image_loader *l, const hd_image_set *set)
{
    const size_t kept = hd_image_loader_kept(l);
    char a[32], b[32];
    if (kept < set->count && !set->block)
        hd_plan_add(p, "decoded again", "%s of %s pictures, in every epoch (--picture-memory)",
                    hd_grouped(set->count - kept, a), hd_grouped(set->count, b));
}

/* -- how they are read -- */

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The longer side of the picture in the middle, were they sorted by it. */
static hd_status usual_side(int *out, const hd_image_set *set, hd_err *err)
{
    int32_t *side = hd_mem_array(set->count, sizeof *side);
    if (!side) return hd_err_nomem(err, set->count * sizeof *side);
    for (size_t i = 0; i < set->count; i++)
        side[i] = set->size[2 * i] > set->size[2 * i + 1] ? set->size[2 * i] : set->size[2 * i + 1];
    qsort(side, set->count, sizeof *side, by_number);
    *out = side[set->count / 2];
    hd_mem_free(side);
    return HD_OK;
}

typedef struct sums {
    double sum[3], squares[3], count;
} sums;

static hd_status add_picture(sums *s, const hd_image_set *set, size_t i, int channels, hd_err *err)
{
    hd_image im = {0};
    hd_status status = hd_image_set_picture(set, i, &im, err);
    if (!status) status = hd_image_channels(&im, channels, err);
    size_t pixels = status ? 0 : (size_t)im.width * (size_t)im.height;
    double sum[3] = {0}, squares[3] = {0};
    for (size_t p = 0; p < pixels; p++)
        for (int c = 0; c < channels; c++) {
            double v = im.pixel[p * (size_t)channels + (size_t)c];
            sum[c] += v, squares[c] += v * v;
        }
    for (int c = 0; c < channels && pixels; c++) /* every picture counts the same */
        s->sum[c] += sum[c] / (double)pixels, s->squares[c] += squares[c] / (double)pixels;
    s->count += pixels > 0;
    hd_image_release(&im);
    return status;
}

/* Rounded, so that the last bits of sums do not matter. */
static float rounded(double x)
{
    return (float)(round(x * 1e4) / 1e4);
}

static hd_status measure(hd_image_prepare *p, const hd_image_set *set, hd_err *err)
{
    sums s = {0};
    hd_status status = HD_OK;
    size_t seen = set->count < SEEN ? set->count : SEEN;
    for (size_t k = 0; !status && k < seen; k++)
        status = add_picture(&s, set, set->count * k / seen, p->channels, err);
    for (int c = 0; !status && c < p->channels; c++) {
        double mean = s.sum[c] / s.count, spread = sqrt(fmax(0, s.squares[c] / s.count - mean * mean));
        p->mean[c] = rounded(mean / 255), p->deviation[c] = rounded(fmax(spread / 255, 0.01));
    }
    return status;
}

hd_status hd_train_prepare(hd_image_prepare *out, const hd_image_set *set, const hd_train_options *o,
                           int most, hd_err *err)
{
    int side = o->image_size;
    if (o->channels == 2)
        return hd_err_set(err, HD_EARG, "--channels 2: pictures have 1 (gray) or 3 (color)");
    hd_status s = side ? HD_OK : usual_side(&side, set, err);
    if (!o->image_size && side > most) side = most;
    *out = (hd_image_prepare){.channels = o->channels ? o->channels : set->channels,
                              .resize = true,
                              .height = side,
                              .width = side,
                              .filter = HD_FILTER_BILINEAR,
                              .rescale = 1 / 255.0};
    return s ? s : measure(out, set, err);
}

/* -- a ResNet -- */

enum { SMALL = 96, MOST_COLUMNS = 1 << 16, MOST_BLOCKS = 1000 };

/* A stage as in 64x2 or 64x2/1; what follows it. NULL: it is none. */
static const char *read_stage(const char *text, size_t *columns, int *blocks, bool *keeps)
{
    char *end;
    unsigned long a = strtoul(text, &end, 10);
    if (end == text || *end != 'x' || a < 1 || a > MOST_COLUMNS) return NULL;
    const char *second = end + 1;
    unsigned long b = strtoul(second, &end, 10);
    *keeps = end != second && end[0] == '/' && end[1] == '1';
    if (*keeps) end += 2;
    if (end == second || (*end && *end != ',') || b < 1 || b > MOST_BLOCKS) return NULL;
    *columns = a, *blocks = (int)b;
    return *end ? end + 1 : end;
}

hd_image_encoder_opt hd_train_image_encoder(const hd_train_options *o, int kind, int layers)
{
    bool vit = kind == HD_IMAGE_vit;
    return (hd_image_encoder_opt){.kind = (hd_image_encoder_kind)kind,
                                  .channels = o->channels ? o->channels : 3,
                                  .patch = vit ? o->patch_size : 0,
                                  .stem = vit ? o->conv_stem : 0,
                                  .stack = {.layers = layers,
                                            .heads = o->heads,
                                            .width = (size_t)o->width,
                                            .inner = (size_t)o->ffn_size,
                                            .dropout = (float)o->dropout,
                                            .attention_dropout = (float)o->attention_dropout,
                                            .inner_dropout = (float)o->ffn_dropout,
                                            .drop_path = (float)o->drop_path,
                                            .recompute = o->recompute}};
}

hd_status hd_train_resnet(hd_resnet_opt *out, const hd_train_options *o, int side, hd_err *err)
{
    bool small = o->resnet_stem == HD_TRAIN_STEM_AUTO ? side < SMALL : o->resnet_stem == HD_TRAIN_STEM_SMALL;
    *out = (hd_resnet_opt){
        .bottleneck = o->resnet_bottleneck, .stem_small = small, .norm = (hd_map_norm_kind)o->resnet_norm};
    const char *at = o->resnet ? o->resnet : "";
    while (at && *at && out->stages < HD_RESNET_STAGES) {
        int n = out->stages;
        at = read_stage(at, &out->hidden[n], &out->depths[n], &out->keeps[n]);
        out->stages++;
    }
    if (!at || *at || !out->stages)
        return hd_err_set(err, HD_EARG, "--resnet %.60s: not 1 to %d stages as in 64x2,128x2",
                          o->resnet ? o->resnet : "", HD_RESNET_STAGES);
    out->embedding = out->bottleneck ? out->hidden[0] / 4 : out->hidden[0];
    return HD_OK;
}

const char *hd_train_resnet_text(const hd_resnet_opt *n, char to[HD_RESNET_TEXT])
{
    size_t used = 0;
    for (int s = 0; s < n->stages && used < HD_RESNET_TEXT; s++)
        used += (size_t)snprintf(to + used, HD_RESNET_TEXT - used, "%s%zux%d%s", s ? "," : "", n->hidden[s],
                                 n->depths[s], n->keeps[s] ? "/1" : "");
    return to;
}
