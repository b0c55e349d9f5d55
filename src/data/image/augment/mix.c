/* Mixup (Zhang et al., 2018) and CutMix (Yun et al., 2019) of two pictures, in their bytes. */
#include "data/image/augment/mix.h"

#include <math.h>

/* Marsaglia and Tsang, 2000; below 1 by the power of another draw. In logs: with a small shape the draw
   itself would be 0. */
static double log_gamma_draw(hd_rng *rng, double shape)
{
    double more = 0;
    if (shape < 1) {
        more = log((hd_rng_u32(rng) + 0.5) * 0x1p-32) / shape;
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = hd_rng_normal(rng), u = (hd_rng_u32(rng) + 0.5) * 0x1p-32, v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) return log(d * v) + more;
    }
}

double hd_mix_beta(hd_rng *rng, double alpha)
{
    double a = log_gamma_draw(rng, alpha), b = log_gamma_draw(rng, alpha);
    return 1 / (1 + exp(b - a));
}

float hd_mix_blend(hd_image *a, hd_image *b, double share)
{
    const unsigned own = (unsigned)lround(share * 256), rest = 256 - own;
    const size_t bytes = hd_image_bytes(a);
    uint8_t *p = a->pixel, *q = b->pixel;
    for (size_t i = 0; i < bytes; i++) {
        unsigned x = p[i], y = q[i];
        p[i] = (uint8_t)((x * own + y * rest + 128) >> 8);
        q[i] = (uint8_t)((y * own + x * rest + 128) >> 8);
    }
    return (float)own / 256;
}

/* From .. to-1 of a side, about its share, around a place that is drawn. */
static void draw_side(hd_rng *rng, int side, double share, int *from, int *to)
{
    int half = (int)(side * share / 2), at = (int)hd_rng_below(rng, (uint32_t)side);
    *from = at > half ? at - half : 0;
    *to = at + half < side ? at + half : side;
}

float hd_mix_cut(hd_image *a, hd_image *b, double share, hd_rng *rng)
{
    int x0, x1, y0, y1;
    const double part = sqrt(1 - share);
    draw_side(rng, a->width, part, &x0, &x1);
    draw_side(rng, a->height, part, &y0, &y1);
    const size_t row = (size_t)a->width * (size_t)a->channels, from = (size_t)x0 * (size_t)a->channels,
                 to = (size_t)x1 * (size_t)a->channels;
    for (int y = y0; y < y1; y++)
        for (size_t i = (size_t)y * row + from; i < (size_t)y * row + to; i++) {
            uint8_t keep = a->pixel[i];
            a->pixel[i] = b->pixel[i];
            b->pixel[i] = keep;
        }
    double area = (double)(x1 - x0) * (y1 - y0) / ((double)a->width * a->height);
    return (float)(1 - area);
}
