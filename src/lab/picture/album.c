/* Pages of drawn shapes. */
#include "lab/picture/album.h"

#include <math.h>

hd_status hd_album_turn(hd_album *a, uint64_t page, hd_err *err)
{
    enum { TRIES = 64 };
    hd_status s = HD_OK;
    for (uint64_t i = 0; !s && i < HD_ALBUM_PICTURES; i++) {
        uint64_t number = (page * HD_ALBUM_PICTURES + i) * TRIES;
        for (int left = TRIES; left-- > 0; number++) {
            hd_scene_draw(&a->scene[i], a->seed, number, a->most);
            if (!a->wanted || a->wanted(&a->scene[i])) break;
        }
        hd_image_release(&a->image[i]);
        s = hd_scene_picture(&a->image[i], &a->scene[i], a->side, err);
    }
    return s;
}

void hd_album_close(hd_album *a)
{
    for (size_t i = 0; i < HD_ALBUM_PICTURES; i++) hd_image_release(&a->image[i]);
    *a = (hd_album){0};
}

const hd_pixels *hd_album_send(hd_run *r, const hd_album *a, size_t from, size_t count,
                               const hd_image_prepare *p)
{
    const hd_image *image[HD_ALBUM_PICTURES];
    hd_pixels *to = hd_host_take(r, sizeof *to);
    for (size_t i = 0; i < count; i++) image[i] = &a->image[from + i];
    return to && hd_pixels_send_images(r, to, image, count, p) ? to : NULL;
}

void hd_album_shades(double *to, const hd_album *a, size_t picture)
{
    const hd_image *im = &a->image[picture];
    const size_t channels = (size_t)im->channels;
    for (size_t i = 0; i < (size_t)im->width * (size_t)im->height; i++) {
        double apart = 0;
        for (size_t c = 0; c < channels; c++)
            apart = fmax(apart, fabs((double)im->pixel[i * channels + c] - a->scene[picture].ground[c][0]));
        to[i] = apart / 255;
    }
}

void hd_album_put(hd_paper *to, const char *title, const double *shades, size_t side)
{
    hd_paper_cells(to, &(hd_cells){.title = title,
                                   .across = "pixels",
                                   .downward = "pixels",
                                   .value = shades,
                                   .rows = side,
                                   .cols = side,
                                   .full = 1,
                                   .digits = -1});
}

hd_status hd_album_put_back(hd_album_cut *c, hd_run *r, uint64_t seed, hd_err *err)
{
    const hd_image_prepare plain = {.channels = 3, .rescale = 1, .deviation = {1, 1, 1}};
    const size_t side = (size_t)c->side, p = (size_t)c->patch, across = side / p;
    hd_album a = {.seed = seed, .side = c->side, .most = HD_SCENE_MOST};
    hd_status s = hd_album_turn(&a, 0, err);
    if (s) return hd_album_close(&a), s;
    hd_run_begin(r, HD_INFERENCE);
    hd_rows x = hd_pixel_rows(r, hd_album_send(r, &a, 0, HD_ALBUM_PICTURES, &plain), c->patch);
    hd_real *row = x.t ? hd_host_take(r, hd_count_of(x.t) * sizeof *row) : NULL;
    if (row && hd_read(r, x.t, row)) {
        c->patches = hd_rows_of(x.t) / HD_ALBUM_PICTURES, c->numbers = hd_cols_of(x.t);
        for (size_t i = 0; i < HD_ALBUM_PICTURES * side * side * 3; i++) {
            size_t color = i % 3, w = i / 3 % side, h = i / 3 / side % side, item = i / 3 / side / side;
            size_t at = (item * across + h / p) * across + w / p;
            double back = (double)row[((at * 3 + color) * p + h % p) * p + w % p];
            c->lost = fmax(c->lost, fabs(back - a.image[item].pixel[i % (side * side * 3)]));
        }
    }
    hd_album_close(&a);
    return hd_run_status(r, err);
}
