/* Pictures as a model reads them. Easy to get wrong: transformers rounds half to even, and cuts a length off
   that it has computed in double. */
#include "data/image/prepare.h"

#include <math.h>

/* The size before the crop. */
static hd_status resized_size(int *height, int *width, const hd_image_prepare *p, int h, int w, hd_err *err)
{
    double shorter = h < w ? h : w, longer = h < w ? w : h, raw = p->shortest, size = p->shortest;
    *height = h, *width = w;
    if (!p->resize) return HD_OK;
    if (p->height || p->width) {
        *height = p->height, *width = p->width;
        return HD_OK;
    }
    if (p->longest && longer / shorter * size > p->longest) {
        raw = p->longest * shorter / longer;
        size = nearbyint(raw);
    }
    if (shorter == size) return HD_OK;
    double other = floor(raw * longer / shorter);
    if (other > HD_IMAGE_MOST_SIDE || other * size > HD_IMAGE_MOST_PIXELS)
        return hd_err_set(err, HD_ELIMIT,
                          "a picture of %d x %d pixels, made %d on its shorter side, is too large", w, h,
                          (int)size);
    if (size < 1)
        return hd_err_set(err, HD_ELIMIT,
                          "a picture of %d x %d pixels, made %d on its longer side, has no pixel", w, h,
                          p->longest);
    *height = (int)(h <= w ? size : other);
    *width = (int)(h <= w ? other : size);
    return HD_OK;
}

hd_status hd_image_prepared_size(int *height, int *width, const hd_image_prepare *p, int from_height,
                                 int from_width, hd_err *err)
{
    hd_status s = resized_size(height, width, p, from_height, from_width, err);
    if (p->crop_height) *height = p->crop_height;
    if (p->crop_width) *width = p->crop_width;
    return s;
}

/* Where the part begins; a smaller picture lies one pixel nearer to the end where it cannot be in the middle,
   a larger one is cut one nearer to the beginning. */
static int offset(int from, int to)
{
    return from >= to ? (from - to) / 2 : -((to - from + 1) / 2);
}

/* Takes the place of what im holds, which may be the picture of the caller. */
static void replace(hd_image *im, hd_image *by, const hd_image *callers)
{
    if (im->pixel != callers->pixel) hd_image_release(im);
    *im = *by;
}

static hd_status center(hd_image *im, const hd_image *in, int width, int height, hd_err *err)
{
    hd_image part;
    if (!width) width = im->width;
    if (!height) height = im->height;
    bool same = width == im->width && height == im->height;
    if (same && im->pixel != in->pixel) return HD_OK;
    hd_status s =
        hd_image_crop(&part, im, offset(im->width, width), offset(im->height, height), width, height, err);
    if (!s) replace(im, &part, in);
    return s;
}

static hd_status convert(hd_image *im, const hd_image *in, int channels, hd_err *err)
{
    if (in->channels == channels) return HD_OK;
    hd_status s = hd_image_crop(im, in, 0, 0, in->width, in->height, err);
    return s ? s : hd_image_channels(im, channels, err);
}

hd_status hd_image_prepared(hd_image *out, const hd_image *in, const hd_image_prepare *p, hd_err *err)
{
    int height, width;
    hd_image im = *in, to;
    *out = (hd_image){0};
    hd_status s = resized_size(&height, &width, p, in->height, in->width, err);
    if (!s) s = convert(&im, in, p->channels, err);
    if (!s && (height != im.height || width != im.width)) {
        s = hd_image_resize(&to, &im, width, height, p->filter, err);
        if (!s) replace(&im, &to, in);
    }
    if (!s) s = center(&im, in, p->crop_width, p->crop_height, err);
    if (!s)
        *out = im;
    else if (im.pixel != in->pixel)
        hd_image_release(&im);
    return s;
}

void hd_image_worth(hd_real *worth, const hd_image_prepare *p)
{
    for (int c = 0; c < p->channels; c++)
        for (int v = 0; v < 256; v++)
            worth[c * 256 + v] = (hd_real)(((float)(v * p->rescale) - p->mean[c]) / p->deviation[c]);
}
