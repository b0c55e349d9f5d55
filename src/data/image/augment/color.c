/* Changes of color. Most are a table of what each byte becomes. Easy to get wrong: Pillow blends in float and
   truncates; its grey has its own weights. */
#include "data/image/augment/color.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { LEVELS = 256, MOST_CHANNELS = 3 };

typedef struct levels {
    uint8_t to[MOST_CHANNELS][LEVELS];
} levels;

static size_t pixels_of(const hd_image *im)
{
    return (size_t)im->width * (size_t)im->height;
}

static void map_levels(hd_image *im, const levels *t)
{
    const size_t pixels = pixels_of(im);
    uint8_t *p = im->pixel;
    if (im->channels == 1)
        for (size_t i = 0; i < pixels; i++) p[i] = t->to[0][p[i]];
    else
        for (size_t i = 0; i < pixels; i++, p += 3)
            p[0] = t->to[0][p[0]], p[1] = t->to[1][p[1]], p[2] = t->to[2][p[2]];
}

/* One table for all channels. */
static void same_levels(levels *t)
{
    for (int c = 1; c < MOST_CHANNELS; c++) memcpy(t->to[c], t->to[0], LEVELS);
}

static inline uint8_t blend(int from, int to, float factor)
{
    float x = (float)from + factor * (float)(to - from);
    return x <= 0 ? 0 : x >= 255 ? 255 : (uint8_t)x;
}

static inline int grey_of(const uint8_t *p)
{
    return (int)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

static void away_from(hd_image *im, int level, float factor)
{
    levels t;
    for (int v = 0; v < LEVELS; v++) t.to[0][v] = blend(level, v, factor);
    same_levels(&t);
    map_levels(im, &t);
}

void hd_color_brightness(hd_image *im, float factor)
{
    away_from(im, 0, factor);
}

void hd_color_contrast(hd_image *im, float factor)
{
    const size_t pixels = pixels_of(im);
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++)
        sum += (uint64_t)(im->channels == 1 ? im->pixel[i] : grey_of(im->pixel + 3 * i));
    away_from(im, (int)((double)sum / (double)pixels + 0.5), factor);
}

void hd_color_saturation(hd_image *im, float factor)
{
    if (im->channels == 1) return;
    const size_t pixels = pixels_of(im);
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *p = im->pixel + 3 * i;
        int grey = grey_of(p);
        for (int c = 0; c < 3; c++) p[c] = blend(grey, p[c], factor);
    }
}

/* The middle of 3 x 3 counts five times. */
static inline uint8_t smoothed(const uint8_t *p, size_t step, size_t row)
{
    const float one = 1.0f / 13, five = 5.0f / 13;
    const uint8_t *below = p + row, *above = p - row;
    float sum = 0.5f;
    sum += (float)*(below - step) * one + (float)*below * one + (float)below[step] * one;
    sum += (float)*(p - step) * one + (float)*p * five + (float)p[step] * one;
    sum += (float)*(above - step) * one + (float)*above * one + (float)above[step] * one;
    return sum >= 255 ? 255 : (uint8_t)sum;
}

/* Pixels of the edge stay as they are. */
hd_status hd_color_sharpness(hd_image *im, float factor, hd_err *err)
{
    const size_t step = (size_t)im->channels, row = step * (size_t)im->width, bytes = pixels_of(im) * step;
    uint8_t *to = hd_mem_new(bytes);
    if (!to) return hd_err_nomem(err, bytes);
    memcpy(to, im->pixel, bytes);
    for (int y = 1; y < im->height - 1; y++) {
        const uint8_t *from = im->pixel + (size_t)y * row;
        uint8_t *out = to + (size_t)y * row;
        for (size_t i = step; i + step < row; i++)
            out[i] = blend(smoothed(from + i, step, row), from[i], factor);
    }
    hd_mem_free(im->pixel);
    im->pixel = to;
    return HD_OK;
}

/* A rotation of the color cube about its diagonal: grey stays grey. */
void hd_color_hue(hd_image *im, float turn)
{
    if (im->channels == 1) return;
    const double angle = 2 * 3.14159265358979323846 * (double)turn;
    const float c = (float)cos(angle), s = (float)(sin(angle) / sqrt(3.0)), third = (1 - c) / 3;
    const float own = c + third, next = third - s, last = third + s;
    const size_t pixels = pixels_of(im);
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *p = im->pixel + 3 * i;
        float v[3] = {p[0], p[1], p[2]};
        for (int k = 0; k < 3; k++) {
            float x = own * v[k] + next * v[(k + 1) % 3] + last * v[(k + 2) % 3] + 0.5f;
            p[k] = x <= 0 ? 0 : x >= 255 ? 255 : (uint8_t)x;
        }
    }
}

static void count_levels(const hd_image *im, uint32_t count[MOST_CHANNELS][LEVELS])
{
    const size_t bytes = pixels_of(im) * (size_t)im->channels;
    memset(count, 0, MOST_CHANNELS * sizeof *count);
    if (im->channels == 1)
        for (size_t i = 0; i < bytes; i++) count[0][im->pixel[i]]++;
    else
        for (size_t i = 0; i < bytes; i++) count[i % 3][im->pixel[i]]++;
}

void hd_color_autocontrast(hd_image *im)
{
    uint32_t count[MOST_CHANNELS][LEVELS];
    levels t;
    count_levels(im, count);
    for (int c = 0; c < im->channels; c++) {
        int low = 0, high = LEVELS - 1;
        while (low < LEVELS - 1 && !count[c][low]) low++;
        while (high > 0 && !count[c][high]) high--;
        double scale = high > low ? 255.0 / (high - low) : 1, offset = high > low ? -low * scale : 0;
        for (int v = 0; v < LEVELS; v++) {
            double x = v * scale + offset;
            t.to[c][v] = x < 0 ? 0 : x > 255 ? 255 : (uint8_t)x;
        }
    }
    map_levels(im, &t);
}

static void even_levels(uint8_t to[LEVELS], const uint32_t count[LEVELS], size_t pixels)
{
    int last = LEVELS - 1;
    while (last > 0 && !count[last]) last--;
    const size_t step = (pixels - count[last]) / 255;
    size_t n = step / 2;
    for (int v = 0; v < LEVELS; v++) {
        size_t level = step ? n / step : (size_t)v;
        to[v] = level > 255 ? 255 : (uint8_t)level;
        n += count[v];
    }
}

void hd_color_equalize(hd_image *im)
{
    uint32_t count[MOST_CHANNELS][LEVELS];
    levels t;
    count_levels(im, count);
    for (int c = 0; c < im->channels; c++) even_levels(t.to[c], count[c], pixels_of(im));
    map_levels(im, &t);
}

void hd_color_solarize(hd_image *im, int threshold)
{
    levels t;
    for (int v = 0; v < LEVELS; v++) t.to[0][v] = (uint8_t)(v < threshold ? v : 255 - v);
    same_levels(&t);
    map_levels(im, &t);
}

void hd_color_posterize(hd_image *im, int bits)
{
    levels t;
    for (int v = 0; v < LEVELS; v++) t.to[0][v] = (uint8_t)(v & ~(0xFF >> bits));
    same_levels(&t);
    map_levels(im, &t);
}
