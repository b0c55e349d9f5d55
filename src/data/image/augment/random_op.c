/* The operations of RandAugment (Cubuk et al., 2019), a function each. */
#include "data/image/augment/random_op.h"

#include <math.h>

#include "data/image/augment/color.h"

/* x: the strength, in the unit of the operation. */
typedef hd_status op_fn(hd_image *im, hd_boxes b, double x, hd_err *err);

static const double radian = 3.14159265358979323846 / 180;

static hd_status identity(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)im, (void)b, (void)x, (void)err;
    return HD_OK;
}

static hd_status autocontrast(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)x, (void)err;
    hd_color_autocontrast(im);
    return HD_OK;
}

static hd_status equalize(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)x, (void)err;
    hd_color_equalize(im);
    return HD_OK;
}

static hd_status solarize(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)err;
    hd_color_solarize(im, 256 - (int)lround(x));
    return HD_OK;
}

static hd_status posterize(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)err;
    hd_color_posterize(im, 8 - (int)lround(x));
    return HD_OK;
}

static hd_status color(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)err;
    hd_color_saturation(im, (float)(1 + x));
    return HD_OK;
}

static hd_status contrast(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)err;
    hd_color_contrast(im, (float)(1 + x));
    return HD_OK;
}

static hd_status brightness(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b, (void)err;
    hd_color_brightness(im, (float)(1 + x));
    return HD_OK;
}

static hd_status sharpness(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    (void)b;
    return hd_color_sharpness(im, (float)(1 + x), err);
}

static hd_status warp(hd_image *im, hd_boxes b, double angle, double shear_x, double shear_y, hd_err *err)
{
    hd_affine a = hd_affine_about(im, angle, shear_x, shear_y);
    return hd_warp_affine(im, b, &a, err);
}

static hd_status rotate(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    return warp(im, b, x * radian, 0, 0, err);
}

static hd_status shear_x(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    return warp(im, b, 0, x, 0, err);
}

static hd_status shear_y(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    return warp(im, b, 0, 0, x, err);
}

static hd_status translate_x(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    return hd_warp_place(im, b, im->width, im->height, (int)lround(x * im->width), 0, err);
}

static hd_status translate_y(hd_image *im, hd_boxes b, double x, hd_err *err)
{
    return hd_warp_place(im, b, im->width, im->height, 0, (int)lround(x * im->height), err);
}

static const struct {
    op_fn *fn;
    double most;
    bool sign;
} ops[HD_RANDOM_OPS] = {
#define X(name, most, sign) {name, most, sign},
    HD_RANDOM_OP_LIST(X)
#undef X
};

hd_status hd_random_op_apply(hd_image *im, hd_boxes b, hd_random_op op, double magnitude, hd_err *err)
{
    double m = ops[op].sign ? magnitude : fabs(magnitude);
    return ops[op].fn(im, b, m / 10 * ops[op].most, err);
}
