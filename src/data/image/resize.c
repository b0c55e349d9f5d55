/* Resizing as Pillow does it: each axis on its own, by weights of 22 bits, with bytes in between. Easy to get
   wrong: the order of the two passes shows in the result, and so does every rounding. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/image/image.h"

enum { BITS = 22 }; /* of a weight behind the point: 32 less 8 of a pixel and 2 to spare */

/* Weights of an axis: output i is the sum over j < count[i] of weight[i * most + j] * input[first[i] + j]. */
typedef struct taps {
    int32_t *weight, *first, *count;
    size_t most;
} taps;

typedef struct kernel {
    double (*value)(double x);
    double support; /* it is 0 beyond */
} kernel;

static double box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static double bilinear(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double hamming(double x)
{
    x = fabs(x);
    if (x == 0) return 1;
    if (x >= 1) return 0;
    x *= M_PI;
    return sin(x) / x * (0.54f + 0.46f * cos(x)); /* Pillow has these two as floats */
}

static double bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x)
{
    x *= M_PI;
    return x == 0 ? 1 : sin(x) / x;
}

static double lanczos(double x)
{
    return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const kernel kernels[HD_FILTERS] = {
    [HD_FILTER_LANCZOS] = {lanczos, 3}, [HD_FILTER_BILINEAR] = {bilinear, 1},
    [HD_FILTER_BICUBIC] = {bicubic, 2}, [HD_FILTER_BOX] = {box, 0.5},
    [HD_FILTER_HAMMING] = {hamming, 1},
};

static void taps_release(taps *t)
{
    hd_mem_free(t->weight);
    hd_mem_free(t->first);
}

/* One output: its weights, which sum to 1 before they are rounded. */
static void weigh(taps *t, int i, int from, double scale, const kernel *k, double *w)
{
    double stretch = scale < 1 ? 1 : scale, support = k->support * stretch, sum = 0;
    double center = (i + 0.5) * scale, inverse = 1 / stretch;
    int first = (int)(center - support + 0.5), end = (int)(center + support + 0.5);
    if (first < 0) first = 0;
    if (end > from) end = from;
    int count = end - first;
    for (int j = 0; j < count; j++) sum += w[j] = k->value((j + first - center + 0.5) * inverse);
    for (int j = 0; j < count; j++) {
        double share = (sum != 0 ? w[j] / sum : w[j]) * (1 << BITS);
        t->weight[(size_t)i * t->most + (size_t)j] = (int32_t)(share < 0 ? share - 0.5 : share + 0.5);
    }
    t->first[i] = first;
    t->count[i] = count;
}

static hd_status taps_make(taps *t, int from, int to, const kernel *k, hd_err *err)
{
    double scale = (double)from / to, support = k->support * (scale < 1 ? 1 : scale);
    *t = (taps){.most = (size_t)ceil(support) * 2 + 1};
    double *w = hd_mem_array(t->most, sizeof *w);
    size_t room;
    if (hd_size_mul((size_t)to, t->most, &room)) t->weight = hd_mem_array(room, sizeof *t->weight);
    t->first = hd_mem_array(2 * (size_t)to, sizeof *t->first);
    t->count = t->first ? t->first + to : NULL;
    bool made = w && t->weight && t->first;
    for (int i = 0; made && i < to; i++) weigh(t, i, from, scale, k, w);
    hd_mem_free(w);
    if (made) return HD_OK;
    taps_release(t);
    return hd_err_nomem(err, t->most * (size_t)to * sizeof *t->weight);
}

static inline uint8_t byte_of(int32_t sum)
{
    sum >>= BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* The loops of both passes are compiled twice where that pays: on x86-64 the instructions that every
   processor has multiply 32 bits slowly. Whole numbers: the result is the same. */
#define BODY static inline __attribute__((always_inline)) void

enum { ROWS = 16 }; /* of a strip */

/* ROWS rows of `from` bytes each become strip[from, ROWS], so that a weight meets whole vectors. */
BODY turn(uint8_t *strip, const uint8_t *rows, size_t from)
{
    for (size_t i = 0; i < from; i++)
        for (size_t r = 0; r < ROWS; r++) strip[i * ROWS + r] = rows[r * from + i];
}

/* Rows of a strip with c channels become out->width pixels long. */
BODY resize_strip(uint8_t *to, size_t width, const uint8_t *strip, const taps *t, size_t c)
{
    int32_t sum[3 * ROWS];
    for (size_t x = 0; x < width; x++) {
        const int32_t *w = t->weight + x * t->most;
        const uint8_t *p = strip + (size_t)t->first[x] * c * ROWS;
        for (size_t i = 0; i < c * ROWS; i++) sum[i] = 1 << (BITS - 1);
        for (int32_t j = 0; j < t->count[x]; j++, p += c * ROWS)
            for (size_t i = 0; i < c * ROWS; i++) sum[i] += w[j] * p[i];
        for (size_t k = 0; k < c; k++)
            for (size_t r = 0; r < ROWS; r++) to[(r * width + x) * c + k] = byte_of(sum[k * ROWS + r]);
    }
}

/* Rows that fill no strip. */
BODY resize_row(uint8_t *to, size_t width, const uint8_t *from, const taps *t, size_t c)
{
    for (size_t x = 0; x < width; x++)
        for (size_t k = 0; k < c; k++) {
            const int32_t *w = t->weight + x * t->most;
            const uint8_t *p = from + (size_t)t->first[x] * c + k;
            int32_t sum = 1 << (BITS - 1);
            for (int32_t j = 0; j < t->count[x]; j++) sum += w[j] * p[(size_t)j * c];
            *to++ = byte_of(sum);
        }
}

BODY resize_rows_body(hd_image *out, const hd_image *in, const taps *t, uint8_t *strip, size_t c)
{
    size_t from = (size_t)in->width * c, to = (size_t)out->width * c, y = 0, height = (size_t)in->height;
    for (; y + ROWS <= height; y += ROWS) {
        turn(strip, in->pixel + y * from, from);
        resize_strip(out->pixel + y * to, (size_t)out->width, strip, t, c);
    }
    for (; y < height; y++) resize_row(out->pixel + y * to, (size_t)out->width, in->pixel + y * from, t, c);
}

enum { STRIP = 256 }; /* bytes of a row at once: their sums stay in the nearest cache */

BODY resize_columns_body(hd_image *out, const hd_image *in, const taps *t)
{
    size_t row = (size_t)in->width * (size_t)in->channels;
    int32_t sum[STRIP];
    for (int y = 0; y < out->height; y++) {
        const int32_t *w = t->weight + (size_t)y * t->most;
        const uint8_t *first = in->pixel + (size_t)t->first[y] * row;
        uint8_t *to = out->pixel + (size_t)y * row;
        for (size_t x = 0; x < row; x += STRIP) {
            size_t n = row - x < STRIP ? row - x : STRIP;
            for (size_t i = 0; i < n; i++) sum[i] = 1 << (BITS - 1);
            for (int32_t j = 0; j < t->count[y]; j++) {
                const uint8_t *from = first + (size_t)j * row + x;
                for (size_t i = 0; i < n; i++) sum[i] += w[j] * from[i];
            }
            for (size_t i = 0; i < n; i++) to[x + i] = byte_of(sum[i]);
        }
    }
}

/* strip NULL: columns. */
BODY resize_body(hd_image *out, const hd_image *in, const taps *t, uint8_t *strip)
{
    if (!strip)
        resize_columns_body(out, in, t);
    else if (in->channels == 1)
        resize_rows_body(out, in, t, strip, 1);
    else
        resize_rows_body(out, in, t, strip, 3);
}

typedef void resize_fn(hd_image *out, const hd_image *in, const taps *t, uint8_t *strip);

static void resize_plain(hd_image *out, const hd_image *in, const taps *t, uint8_t *strip)
{
    resize_body(out, in, t, strip);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void resize_avx2(hd_image *out, const hd_image *in, const taps *t,
                                                        uint8_t *strip)
{
    resize_body(out, in, t, strip);
}

static resize_fn *fastest(void)
{
    return __builtin_cpu_supports("avx2") ? resize_avx2 : resize_plain;
}
#else
static resize_fn *fastest(void)
{
    return resize_plain;
}
#endif

/* One axis. */
static hd_status resize_axis(hd_image *out, const hd_image *in, int width, int height, const kernel *k,
                             hd_err *err)
{
    taps t;
    bool rows = width != in->width;
    hd_status s = taps_make(&t, rows ? in->width : in->height, rows ? width : height, k, err);
    if (s) return s;
    size_t bytes = (size_t)in->width * (size_t)in->channels * ROWS;
    uint8_t *strip = rows ? hd_mem_new(bytes) : NULL;
    s = rows && !strip ? hd_err_nomem(err, bytes)
                       : hd_image_make(out, width, height, in->channels, "resized picture", err);
    if (!s) fastest()(out, in, &t, strip);
    hd_mem_free(strip);
    taps_release(&t);
    return s;
}

/* Places are summed up step by step, as Pillow does: that rounds in another way than a product. */
static hd_status nearest(hd_image *out, const hd_image *in, int width, int height, hd_err *err)
{
    size_t c = (size_t)in->channels;
    hd_status s = hd_image_make(out, width, height, in->channels, "resized picture", err);
    if (s) return s;
    double step_x = (double)in->width / width, step_y = (double)in->height / height, at_y = step_y * 0.5;
    uint8_t *to = out->pixel;
    for (int y = 0; y < height; y++, at_y += step_y) {
        int row = (int)at_y < in->height ? (int)at_y : in->height - 1;
        const uint8_t *from = in->pixel + (size_t)row * (size_t)in->width * c;
        double at_x = step_x * 0.5;
        for (int x = 0; x < width; x++, at_x += step_x, to += c) {
            size_t column = (int)at_x < in->width ? (size_t)at_x : (size_t)in->width - 1;
            memcpy(to, from + column * c, c);
        }
    }
    return HD_OK;
}

static hd_status resize(hd_image *out, const hd_image *in, int width, int height, hd_filter f,
                        bool columns_first, hd_err *err)
{
    *out = (hd_image){0};
    if ((unsigned)f >= HD_FILTERS) return hd_err_set(err, HD_EARG, "no filter has the number %d", (int)f);
    hd_status s = hd_image_check(width, height, "resized picture", err);
    if (s) return s;
    if (width == in->width && height == in->height) return hd_image_crop(out, in, 0, 0, width, height, err);
    if (f == HD_FILTER_NEAREST) return nearest(out, in, width, height, err);
    const kernel *k = &kernels[f];
    if (width == in->width || height == in->height) return resize_axis(out, in, width, height, k, err);
    hd_image between = {0};
    s = resize_axis(&between, in, columns_first ? in->width : width, columns_first ? height : in->height, k,
                    err);
    if (!s) s = resize_axis(out, &between, width, height, k, err);
    hd_image_release(&between);
    if (s) hd_image_release(out);
    return s;
}

hd_status hd_image_resize(hd_image *out, const hd_image *in, int width, int height, hd_filter f, hd_err *err)
{
    int64_t less_width = (int64_t)in->width - width, less_height = (int64_t)in->height - height;
    return resize(out, in, width, height, f, less_height > 0 && 2 * less_width < less_height, err);
}

hd_status hd_image_resize_rows_first(hd_image *out, const hd_image *in, int width, int height, hd_filter f,
                                     hd_err *err)
{
    return resize(out, in, width, height, f, false, err);
}
