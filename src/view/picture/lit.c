/* Light on a picture. Weights are of cells, not of pixels: between the middles of cells they are mixed. */
#include "view/picture/lit.h"

#include <math.h>

/* The weight at a point, in shares of the picture. */
static double weight_at(const hd_lit_opt *o, double x, double y)
{
    double col = fmin(fmax(x * (double)o->width - 0.5, 0), (double)o->width - 1),
           row = fmin(fmax(y * (double)o->height - 0.5, 0), (double)o->height - 1);
    size_t left = (size_t)col, top = (size_t)row, right = left + 1 < o->width ? left + 1 : left,
           bottom = top + 1 < o->height ? top + 1 : top;
    double across = col - (double)left, down = row - (double)top;
    const float *above = o->weight + top * o->width, *below = o->weight + bottom * o->width;
    return (1 - down) * ((1 - across) * (double)above[left] + across * (double)above[right]) +
           down * ((1 - across) * (double)below[left] + across * (double)below[right]);
}

/* From a dark grey to the color under a warm light, which shows on a dark picture and leaves a bright one as
   it is. */
static void light(uint8_t *p, double share)
{
    static const double glow[] = {95, 85, 55};
    double grey = 0.28 * (0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]) + 8, s = pow(share, 0.8);
    for (int c = 0; c < 3; c++)
        p[c] = (uint8_t)lround((1 - s) * grey + s * (p[c] + glow[c] * (1 - p[c] / 255.0)));
}

hd_status hd_picture_lit(hd_image *out, const hd_image *im, const hd_lit_opt *o, int side, hd_err *err)
{
    hd_image lit = {0};
    double longer = im->width > im->height ? im->width : im->height, by = side / longer;
    int width = (int)fmax(1, round(im->width * by)), height = (int)fmax(1, round(im->height * by));
    hd_status s = hd_image_resize(&lit, im, width, height, HD_FILTER_BILINEAR, err);
    for (int y = 0; !s && y < height; y++)
        for (int x = 0; x < width; x++) {
            double w = weight_at(o, (x + 0.5) / width, (y + 0.5) / height);
            light(lit.pixel + 3 * ((size_t)y * (size_t)width + (size_t)x),
                  o->most > 0 ? fmin(fmax(w / o->most, 0), 1) : 0);
        }
    if (s) hd_image_release(&lit);
    *out = lit;
    return s;
}
