/* Parts of pictures at the size a model reads. The part is cut out before it is resized: what lies outside of
   it costs nothing and does not bleed into its edges. */
#include "data/image/augment/part.h"

#include <math.h>

enum { TRIES = 10 };

/* The middle of a resized picture, as hd_image_prepared cuts it. */
static int before(int from, int to)
{
    return from >= to ? -((from - to) / 2) : (to - from + 1) / 2;
}

hd_status hd_part_prepared(hd_image *out, const hd_image *in, hd_boxes b, const hd_image_prepare *p,
                           hd_err *err)
{
    int height, width;
    hd_image_prepare whole = *p;
    whole.crop_height = whole.crop_width = 0;
    hd_status s = hd_image_prepared_size(&height, &width, &whole, in->height, in->width, err);
    if (!s) s = hd_image_prepared(out, in, p, err);
    if (s) return s;
    hd_boxes_move(b, (double)width / in->width, (double)height / in->height, before(width, out->width),
                  before(height, out->height));
    return HD_OK;
}

/* Where `size` of `all` pixels begin; `keep` (negative: none) lies between its ends. */
static int place(hd_rng *rng, int all, int size, double keep)
{
    double low = 0, high = all - size, u = hd_rng_unit(rng);
    if (keep >= 0) {
        low = fmax(low, ceil(keep - size));
        high = fmin(high, floor(keep));
        if (low > high) low = high;
    }
    return (int)(low + floor(u * (high - low + 1)));
}

static void place_part(hd_image_part *r, int width, int height, hd_boxes b, hd_rng *rng)
{
    double x = -1, y = -1;
    if (b.count) {
        const hd_box *keep = &b.box[hd_rng_below(rng, (uint32_t)b.count)];
        x = fmin(fmax((double)(keep->x + keep->width / 2), 0), width);
        y = fmin(fmax((double)(keep->y + keep->height / 2), 0), height);
    }
    r->x = place(rng, width, r->width, x);
    r->y = place(rng, height, r->height, y);
}

/* A share of the area, stretched by 1/aspect to aspect; where no such part fits, the largest in the middle
   that is not stretched. */
hd_image_part hd_part_draw(int width, int height, hd_boxes b, const hd_augment *a, double ratio, hd_rng *rng)
{
    const double aspect = log(a->aspect > 0 ? (double)a->aspect : 4.0 / 3), w = width, h = height;
    for (int i = 0; i < TRIES; i++) {
        double share = (double)a->crop + (1 - (double)a->crop) * hd_rng_unit(rng);
        double stretch = ratio * exp(aspect * (2 * hd_rng_unit(rng) - 1));
        hd_image_part r = {.width = (int)lround(sqrt(share * w * h * stretch)),
                           .height = (int)lround(sqrt(share * w * h / stretch))};
        if (r.width < 1 || r.height < 1 || r.width > width || r.height > height) continue;
        place_part(&r, width, height, b, rng);
        return r;
    }
    hd_image_part r = {.width = (int)fmax(1, fmin(w, round(h * ratio))),
                       .height = (int)fmax(1, fmin(h, round(w / ratio)))};
    r.x = (width - r.width) / 2, r.y = (height - r.height) / 2;
    return r;
}

hd_status hd_part_resized(hd_image *out, const hd_image *in, hd_boxes b, hd_image_part r, int width,
                          int height, const hd_image_prepare *p, hd_err *err)
{
    hd_image cut = {0};
    const bool all = r.width == in->width && r.height == in->height && in->channels == p->channels;
    hd_status s = all ? HD_OK : hd_image_crop(&cut, in, r.x, r.y, r.width, r.height, err);
    if (!s && !all) s = hd_image_channels(&cut, p->channels, err);
    if (!s) s = hd_image_resize(out, all ? in : &cut, width, height, p->filter, err);
    hd_image_release(&cut);
    if (s) return s;
    const double scale_x = (double)width / r.width, scale_y = (double)height / r.height;
    hd_boxes_move(b, scale_x, scale_y, -r.x * scale_x, -r.y * scale_y);
    return HD_OK;
}

static int at_least_one(double x)
{
    return x < 1 ? 1 : (int)lround(x);
}

/* Enlarged: a part at the whole size; shrunk: all of it, with zeros around. */
static hd_status scaled(hd_image *out, const hd_image *in, hd_boxes b, const hd_augment *a, int width,
                        int height, const hd_image_prepare *p, hd_rng *rng, hd_err *err)
{
    const double low = log((double)a->scale_low), high = log((double)a->scale_high);
    const double scale = exp(low + (high - low) * hd_rng_unit(rng));
    if (scale >= 1) {
        hd_image_part r = {.width = at_least_one(in->width / scale),
                           .height = at_least_one(in->height / scale)};
        place_part(&r, in->width, in->height, b, rng);
        return hd_part_resized(out, in, b, r, width, height, p, err);
    }
    int w = at_least_one(width * scale), h = at_least_one(height * scale);
    hd_image_part all = {.width = in->width, .height = in->height};
    hd_status s = hd_part_resized(out, in, b, all, w, h, p, err);
    if (s) return s;
    int x = place(rng, width, w, -1), y = place(rng, height, h, -1);
    s = hd_warp_place(out, b, width, height, x, y, err);
    if (s) hd_image_release(out);
    return s;
}

hd_status hd_part_drawn(hd_image *out, const hd_image *in, hd_boxes b, const hd_augment *a,
                        const hd_image_prepare *p, hd_rng rng, hd_err *err)
{
    int width, height;
    const bool crop = a->crop > 0 && a->crop < 1;
    if (!crop && !(a->scale_high > 0)) return hd_part_prepared(out, in, b, p, err);
    hd_status s = hd_image_prepared_size(&height, &width, p, in->height, in->width, err);
    if (s) return s;
    if (!crop) return scaled(out, in, b, a, width, height, p, &rng, err);
    hd_image_part r = hd_part_draw(in->width, in->height, b, a, (double)width / height, &rng);
    return hd_part_resized(out, in, b, r, width, height, p, err);
}
