/* Pictures moved, with their boxes. Easy to get wrong: the middle of pixel i lies at i + 1/2, and a map says
   where a new pixel comes from, while boxes go the other way. */
#include "data/image/augment/warp.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* -- boxes -- */

void hd_boxes_move(hd_boxes b, double scale_x, double scale_y, double dx, double dy)
{
    for (size_t i = 0; i < b.count; i++) {
        hd_box *x = &b.box[i];
        x->x = (float)(x->x * scale_x + dx), x->y = (float)(x->y * scale_y + dy);
        x->width = (float)(x->width * scale_x), x->height = (float)(x->height * scale_y);
    }
}

static void cut_side(float *start, float *size, float most)
{
    float end = fminf(*start + *size, most);
    *start = fmaxf(*start, 0);
    *size = end - *start;
}

void hd_boxes_cut(hd_boxes *b, int width, int height)
{
    const float w = (float)width, h = (float)height;
    size_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        hd_box x = b->box[i];
        float cx = x.x + x.width / 2, cy = x.y + x.height / 2;
        if (!(cx >= 0 && cx <= w && cy >= 0 && cy <= h)) continue;
        cut_side(&x.x, &x.width, w);
        cut_side(&x.y, &x.height, h);
        b->box[kept++] = x;
    }
    b->count = kept;
}

/* -- moves that keep pixels -- */

static inline void swap_pixels(uint8_t *a, uint8_t *b, size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        uint8_t keep = a[c];
        a[c] = b[c];
        b[c] = keep;
    }
}

static void mirror_row(uint8_t *row, size_t width, size_t channels)
{
    for (size_t i = 0, j = width - 1; i < j; i++, j--)
        swap_pixels(row + i * channels, row + j * channels, channels);
}

void hd_warp_mirror(hd_image *im, hd_boxes b, bool horizontal, bool vertical)
{
    const size_t channels = (size_t)im->channels, width = (size_t)im->width, row = width * channels;
    for (int y = 0; horizontal && y < im->height; y++)
        mirror_row(im->pixel + (size_t)y * row, width, channels);
    for (int y = 0, z = im->height - 1; vertical && y < z; y++, z--)
        swap_pixels(im->pixel + (size_t)y * row, im->pixel + (size_t)z * row, row);
    for (size_t i = 0; i < b.count; i++) {
        hd_box *x = &b.box[i];
        if (horizontal) x->x = (float)im->width - x->x - x->width;
        if (vertical) x->y = (float)im->height - x->y - x->height;
    }
}

/* One row becomes one column. */
static hd_status quarter_turn(hd_image *im, hd_boxes b, hd_err *err)
{
    const size_t w = (size_t)im->width, h = (size_t)im->height, channels = (size_t)im->channels;
    uint8_t *to = hd_mem_new(w * h * channels);
    if (!to) return hd_err_nomem(err, w * h * channels);
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++)
            memcpy(to + ((w - 1 - x) * h + y) * channels, im->pixel + (y * w + x) * channels, channels);
    for (size_t i = 0; i < b.count; i++) {
        hd_box o = b.box[i];
        b.box[i].x = o.y, b.box[i].y = (float)w - o.x - o.width;
        b.box[i].width = o.height, b.box[i].height = o.width;
    }
    hd_mem_free(im->pixel);
    *im = (hd_image){.width = (int)h, .height = (int)w, .channels = im->channels, .pixel = to};
    return HD_OK;
}

hd_status hd_warp_turn(hd_image *im, hd_boxes b, int turns, hd_err *err)
{
    if (turns >= 2) hd_warp_mirror(im, b, true, true);
    return turns % 2 ? quarter_turn(im, b, err) : HD_OK;
}

hd_status hd_warp_place(hd_image *im, hd_boxes b, int width, int height, int x, int y, hd_err *err)
{
    hd_image out = {0};
    hd_status s = hd_image_crop(&out, im, -x, -y, width, height, err);
    if (s) return s;
    hd_boxes_move(b, 1, 1, x, y);
    hd_image_release(im);
    *im = out;
    return HD_OK;
}

/* -- affine maps -- */

hd_affine hd_affine_about(const hd_image *im, double angle, double shear_x, double shear_y)
{
    const double cx = im->width / 2.0, cy = im->height / 2.0, c = cos(angle), s = sin(angle);
    hd_affine a = {.xx = c, .xy = -s + shear_x, .yx = s + shear_y, .yy = c};
    a.dx = cx - a.xx * cx - a.xy * cy, a.dy = cy - a.yx * cx - a.yy * cy;
    return a;
}

enum { BITS = 16, FRACTION = 8, ONE = 1 << FRACTION };

/* One pixel at (x, y), in fixed point, of which the upper left of the four around it is (x >> BITS, ...). */
static inline void sample(uint8_t *to, const hd_image *im, int64_t x, int64_t y, int channels)
{
    const int64_t left = x >> BITS, top = y >> BITS, w = im->width, h = im->height;
    const int fx = (int)(x >> (BITS - FRACTION)) & (ONE - 1), fy = (int)(y >> (BITS - FRACTION)) & (ONE - 1);
    const int weight[4] = {(ONE - fx) * (ONE - fy), fx * (ONE - fy), (ONE - fx) * fy, fx * fy};
    int sum[3] = {1 << (2 * FRACTION - 1), 1 << (2 * FRACTION - 1), 1 << (2 * FRACTION - 1)};
    if (left >= 0 && top >= 0 && left + 1 < w && top + 1 < h) {
        const uint8_t *p = im->pixel + (size_t)((top * w + left) * channels), *q = p + w * channels;
        for (int c = 0; c < channels; c++)
            sum[c] += weight[0] * p[c] + weight[1] * p[c + channels] + weight[2] * q[c] +
                      weight[3] * q[c + channels];
    } else if (left < -1 || top < -1 || left >= w || top >= h) {
        memset(to, 0, (size_t)channels);
        return;
    } else
        for (int k = 0; k < 4; k++) {
            const int64_t px = left + (k & 1), py = top + (k >> 1);
            if (px < 0 || py < 0 || px >= w || py >= h) continue;
            const uint8_t *p = im->pixel + (size_t)((py * w + px) * channels);
            for (int c = 0; c < channels; c++) sum[c] += weight[k] * p[c];
        }
    for (int c = 0; c < channels; c++) to[c] = (uint8_t)(sum[c] >> (2 * FRACTION));
}

static inline __attribute__((always_inline)) void warp(uint8_t *to, const hd_image *im, const hd_affine *from,
                                                       int channels)
{
    const double one = 1 << BITS;
    const int64_t step_x = llround(from->xx * one), step_y = llround(from->yx * one);
    for (int y = 0; y < im->height; y++) {
        int64_t sx = llround((from->xx * 0.5 + from->xy * (y + 0.5) + from->dx - 0.5) * one);
        int64_t sy = llround((from->yx * 0.5 + from->yy * (y + 0.5) + from->dy - 0.5) * one);
        for (int x = 0; x < im->width; x++, to += channels, sx += step_x, sy += step_y)
            sample(to, im, sx, sy, channels);
    }
}

/* Where a box goes: the inverse of the map at its corners. */
static hd_box box_through(hd_box o, const hd_affine *from)
{
    const double det = from->xx * from->yy - from->xy * from->yx;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int k = 0; k < 4; k++) {
        const double u = o.x + (k & 1 ? o.width : 0) - from->dx, v = o.y + (k >> 1 ? o.height : 0) - from->dy;
        const double at[2] = {(from->yy * u - from->xy * v) / det, (from->xx * v - from->yx * u) / det};
        for (int i = 0; i < 2; i++) low[i] = fmin(low[i], at[i]), high[i] = fmax(high[i], at[i]);
    }
    o.x = (float)low[0], o.width = (float)(high[0] - low[0]);
    o.y = (float)low[1], o.height = (float)(high[1] - low[1]);
    return o;
}

hd_status hd_warp_affine(hd_image *im, hd_boxes b, const hd_affine *from, hd_err *err)
{
    const size_t bytes = (size_t)im->width * (size_t)im->height * (size_t)im->channels;
    uint8_t *to = hd_mem_new(bytes);
    if (!to) return hd_err_nomem(err, bytes);
    if (im->channels == 1)
        warp(to, im, from, 1);
    else
        warp(to, im, from, 3);
    for (size_t i = 0; i < b.count; i++) b.box[i] = box_through(b.box[i], from);
    hd_mem_free(im->pixel);
    im->pixel = to;
    return HD_OK;
}
