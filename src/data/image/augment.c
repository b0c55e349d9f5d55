/* Pictures changed at random. Each thing that is drawn has its own stream of random numbers, so that one
   option never changes what another one draws. */
#include "data/image/augment.h"

#include <math.h>

#include "base/rng.h"
#include "data/image/augment/color.h"
#include "data/image/augment/mix.h"
#include "data/image/augment/part.h"
#include "data/image/augment/random_op.h"

enum { TURN, PART, FLIP, ROTATE, SHIFT, RANDOM_OPS, COLOR, ERASE, MIX };

static double between(hd_rng *rng, double low, double high)
{
    return low + (high - low) * hd_rng_unit(rng);
}

bool hd_augment_any(const hd_augment *a)
{
    return a->flip || a->flip_vertical || a->turns || a->crop > 0 || a->scale_high > 0 || a->shift ||
           a->rotate > 0 || a->color > 0 || a->hue > 0 || a->random_ops || a->erase > 0 || a->mixup > 0 ||
           a->cutmix > 0;
}

hd_status hd_augment_check(const hd_augment *a, hd_err *err)
{
    const struct {
        const char *name;
        double value, most;
    } row[] = {
        {"crop", a->crop, 1},
        {"aspect", a->aspect, 100},
        {"scale_low", a->scale_low, 100},
        {"scale_high", a->scale_high, 100},
        {"shift", a->shift, HD_IMAGE_MOST_SIDE},
        {"rotate", a->rotate, 180},
        {"color", a->color, 1},
        {"hue", a->hue, 0.5},
        {"random_ops", a->random_ops, 100},
        {"magnitude", a->magnitude, 10},
        {"erase", a->erase, 1},
        {"mixup", a->mixup, 100},
        {"cutmix", a->cutmix, 100},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (!(row[i].value >= 0 && row[i].value <= row[i].most))
            return hd_err_set(err, HD_EARG, "augmentation: %s is %g: at least 0, at most %g", row[i].name,
                              row[i].value, row[i].most);
    if (a->aspect > 0 && a->aspect < 1)
        return hd_err_set(err, HD_EARG, "augmentation: aspect is %g: at least 1", (double)a->aspect);
    if ((a->scale_low > 0) != (a->scale_high > 0) || a->scale_low > a->scale_high)
        return hd_err_set(err, HD_EARG, "augmentation: scale from %g to %g: two factors in order",
                          (double)a->scale_low, (double)a->scale_high);
    if (a->scale_high > 0 && a->crop > 0 && a->crop < 1)
        return hd_err_set(err, HD_EARG, "augmentation: crop and scale both choose a part: give one of them");
    return HD_OK;
}

/* -- what is done to a picture that has its size -- */

static hd_status flip(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err)
{
    (void)err;
    bool horizontal = hd_rng_below(&rng, 2), vertical = hd_rng_below(&rng, 2);
    hd_warp_mirror(im, b, a->flip && horizontal, a->flip_vertical && vertical);
    return HD_OK;
}

static hd_status rotate(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err)
{
    if (!(a->rotate > 0)) return HD_OK;
    double angle = between(&rng, -1, 1) * (double)a->rotate * 3.14159265358979323846 / 180;
    hd_affine map = hd_affine_about(im, angle, 0, 0);
    return hd_warp_affine(im, b, &map, err);
}

static hd_status shift(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err)
{
    if (!a->shift) return HD_OK;
    uint32_t places = 2 * (uint32_t)a->shift + 1;
    int x = (int)hd_rng_below(&rng, places) - a->shift, y = (int)hd_rng_below(&rng, places) - a->shift;
    return hd_warp_place(im, b, im->width, im->height, x, y, err);
}

static hd_status random_ops(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < a->random_ops; i++) {
        hd_random_op op = (hd_random_op)hd_rng_below(&rng, HD_RANDOM_OPS);
        double sign = hd_rng_below(&rng, 2) ? 1 : -1;
        s = hd_random_op_apply(im, b, op, sign * (double)a->magnitude, err);
    }
    return s;
}

static hd_status color(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err)
{
    (void)b, (void)err;
    float factor[3];
    for (int i = 0; i < 3; i++) factor[i] = (float)(1 + between(&rng, -1, 1) * (double)a->color);
    double turn = between(&rng, -1, 1) * (double)a->hue;
    if (a->color > 0) {
        hd_color_brightness(im, factor[0]);
        hd_color_contrast(im, factor[1]);
        hd_color_saturation(im, factor[2]);
    }
    if (a->hue > 0) hd_color_hue(im, (float)turn);
    return HD_OK;
}

/* A rectangle of 2 to 33 % of the picture, up to three times as long as it is wide (Zhong et al., 2020). */
static hd_status erase(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err)
{
    (void)b, (void)err;
    if (!(hd_rng_unit(&rng) < (double)a->erase)) return HD_OK;
    double area = between(&rng, 0.02, 0.33) * im->width * im->height,
           ratio = exp(between(&rng, -1, 1) * log(3.3));
    int w = (int)fmin(im->width, fmax(1, sqrt(area * ratio))),
        h = (int)fmin(im->height, fmax(1, sqrt(area / ratio)));
    size_t x = hd_rng_below(&rng, (uint32_t)(im->width - w + 1)),
           y = hd_rng_below(&rng, (uint32_t)(im->height - h + 1));
    const size_t channels = (size_t)im->channels, row = (size_t)im->width * channels;
    for (size_t r = y; r < y + (size_t)h; r++)
        for (size_t i = x * channels; i < (x + (size_t)w) * channels; i++)
            im->pixel[r * row + i] = (uint8_t)(hd_rng_u32(&rng) >> 24);
    return HD_OK;
}

static hd_status change(hd_image *im, hd_boxes *b, const hd_augment *a, uint64_t key, hd_err *err)
{
    static const struct {
        int stream;
        hd_status (*fn)(hd_image *im, hd_boxes b, const hd_augment *a, hd_rng rng, hd_err *err);
    } step[] = {{FLIP, flip},   {ROTATE, rotate}, {SHIFT, shift}, {RANDOM_OPS, random_ops},
                {COLOR, color}, {ERASE, erase}};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof step / sizeof *step; i++)
        s = step[i].fn(im, *b, a, hd_rng_make(key, (uint64_t)step[i].stream), err);
    return s;
}

/* -- the whole -- */

static hd_status turned(hd_image *out, const hd_image *in, hd_boxes b, int turns, hd_err *err)
{
    hd_status s = hd_image_crop(out, in, 0, 0, in->width, in->height, err);
    if (s) return s;
    s = hd_warp_turn(out, b, turns, err);
    if (s) hd_image_release(out);
    return s;
}

static hd_status augment(hd_image *out, const hd_image *in, hd_boxes *b, const hd_augment *a,
                         const hd_image_prepare *p, uint64_t key, hd_err *err)
{
    hd_rng rng = hd_rng_make(key, TURN);
    hd_image copy = {0};
    int turns = a->turns ? (int)hd_rng_below(&rng, 4) : 0;
    hd_status s = turns ? turned(&copy, in, *b, turns, err) : HD_OK;
    if (!s) s = hd_part_drawn(out, turns ? &copy : in, *b, a, p, hd_rng_make(key, PART), err);
    hd_image_release(&copy);
    if (s) return s;
    s = change(out, b, a, key, err);
    if (s) hd_image_release(out);
    return s;
}

hd_status hd_augmented(hd_image *out, const hd_image *in, hd_box *box, size_t *boxes, const hd_augment *a,
                       const hd_image_prepare *p, uint64_t key, hd_err *err)
{
    hd_boxes b = {.box = box, .count = box ? *boxes : 0};
    hd_status s = a ? augment(out, in, &b, a, p, key, err) : hd_part_prepared(out, in, b, p, err);
    if (s) return s;
    hd_boxes_cut(&b, out->width, out->height);
    if (box) *boxes = b.count;
    return HD_OK;
}

bool hd_augment_cuts(const hd_augment *a)
{
    return a && a->crop > 0 && a->crop < 1 && !a->turns;
}

hd_image_part hd_augment_part(const hd_augment *a, const hd_image_prepare *p, uint64_t key, int width,
                              int height)
{
    hd_rng rng = hd_rng_make(key, PART);
    int to_width = 1, to_height = 1;
    hd_image_prepared_size(&to_height, &to_width, p, height, width, NULL);
    return hd_part_draw(width, height, (hd_boxes){0}, a, (double)to_width / to_height, &rng);
}

hd_status hd_augmented_part(hd_image *out, const hd_image *part, const hd_augment *a,
                            const hd_image_prepare *p, uint64_t key, hd_err *err)
{
    hd_boxes none = {0};
    int width, height;
    hd_status s = hd_image_prepared_size(&height, &width, p, part->height, part->width, err);
    if (!s)
        s = hd_part_resized(out, part, none, (hd_image_part){0, 0, part->width, part->height}, width, height,
                            p, err);
    if (s) return s;
    s = change(out, &none, a, key, err);
    if (s) hd_image_release(out);
    return s;
}

void hd_augment_mix(hd_image *a, hd_image *b, const hd_augment *opt, uint64_t key, float *share)
{
    hd_rng rng = hd_rng_make(key, MIX);
    bool cut = hd_rng_below(&rng, 2);
    *share = 1;
    if (a->width != b->width || a->height != b->height || a->channels != b->channels) return;
    if (!(opt->mixup > 0)) cut = true;
    if (!(opt->cutmix > 0)) cut = false;
    const float alpha = cut ? opt->cutmix : opt->mixup;
    if (!(alpha > 0)) return;
    double drawn = hd_mix_beta(&rng, (double)alpha);
    *share = cut ? hd_mix_cut(a, b, drawn, &rng) : hd_mix_blend(a, b, drawn);
}
