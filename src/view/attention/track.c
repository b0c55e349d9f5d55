/* Attention over time, drawn. */
#include "view/attention/track.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/attention/picture.h"
#include "view/draw/markup.h"
#include "view/plot.h"

enum { FEW = 60 }; /* rows that have room for every name */

static const double narrowest = 480, widest = 1300, longest_label = 120, strip_height = 120;
static const hd_color path_color = {0xd9, 0x6b, 0x0b}, back_color = {0xc0, 0x1c, 0x28};

bool hd_attention_tracked(const hd_attention_maps *a, const hd_attention_pick *pick)
{
    return a->scene.seconds > 0 && a->scene.image.pixel && a->targets &&
           (!pick->kind || pick->kind == HD_ATTENTION_CROSS + 1);
}

void hd_attention_track_release(hd_attention_track *t)
{
    hd_attention_map_release(&t->map);
    hd_monotone_release(&t->monotone);
    hd_image_release(&t->heat);
    *t = (hd_attention_track){0};
}

static hd_status make_heat(hd_attention_track *t, hd_err *err)
{
    const hd_attention_map *m = &t->map;
    if (m->cols > HD_IMAGE_MOST_SIDE || m->rows > HD_IMAGE_MOST_SIDE)
        return hd_err_set(err, HD_ELIMIT, "attention of %zu over %zu cannot be drawn", m->rows, m->cols);
    hd_status s = hd_image_make(&t->heat, (int)m->cols, (int)m->rows, 3, "attention", err);
    for (size_t i = 0; !s && i < m->rows * m->cols; i++) {
        hd_color c = hd_attention_color((double)m->weight[i] / t->scale);
        memcpy(t->heat.pixel + 3 * i, (const uint8_t[]){c.red, c.green, c.blue}, 3);
    }
    return s;
}

hd_status hd_attention_track_of(hd_attention_track *out, const hd_attention_maps *a,
                                const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_track t = {.maps = a};
    hd_status s = hd_attention_map_of(&t.map, a, pick, err);
    if (!s) s = hd_monotone_of(&t.monotone, t.map.weight, t.map.rows, t.map.cols, err);
    if (!s) t.scale = hd_attention_scale(&t.map), s = make_heat(&t, err);
    if (!s) {
        hd_attention_map_title(&t.map, t.title, sizeof t.title);
        t.title[0] = (char)toupper((unsigned char)t.title[0]);
        snprintf(t.note, sizeof t.note, "in order: %.1f %% of %zu tokens, over %.0f %% of the time",
                 100 * hd_monotone_share(&t.monotone), t.map.rows, 100 * t.monotone.span);
    }
    if (s) hd_attention_track_release(&t);
    *out = t;
    return s;
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_attention_track *t = d->context;
    char buf[HD_LABEL];
    double names = 0, title = c->width(c->context, t->title, HD_PLOT_LARGE, true);
    for (size_t i = 0; i < t->map.rows; i++)
        names = fmax(names, hd_plot_label(c, t->map.row[i].piece, HD_PLOT_LETTERS, longest_label, buf));
    t->across = fmin(fmax(6 * (double)t->map.cols, narrowest), widest);
    t->strip = strip_height, t->row = t->map.rows <= FEW ? 17 : 9;
    t->left = HD_PLOT_MARGIN + names + HD_PLOT_GAP;
    t->top = HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * (HD_PLOT_SMALL + HD_PLOT_GAP) + HD_PLOT_GAP;
    d->width = ceil(fmax(t->left + t->across, HD_PLOT_MARGIN + title) + HD_PLOT_MARGIN);
    d->height = ceil(t->top + t->strip + HD_PLOT_GAP + (double)t->map.rows * t->row + HD_PLOT_SMALL +
                     2 * HD_PLOT_GAP + HD_PLOT_MARGIN);
    d->title = t->title;
}

static double middle_of(const hd_attention_track *t, size_t column)
{
    return t->left + ((double)column + 0.5) * t->across / (double)t->map.cols;
}

/* Seconds below the map, with lines through it. */
static void draw_time(const hd_attention_track *t, const hd_canvas *c, double bottom)
{
    double seconds = t->maps->scene.seconds, step = hd_plot_step(seconds);
    double begin = t->maps->scene.begin, first = begin > 0 ? ceil(begin / step - 1e-6) * step : 0;
    for (double at = first; at <= begin + seconds * 1.0001; at += step) {
        char number[HD_DECIMAL];
        double x = t->left + (at - begin) / seconds * t->across;
        c->line(c->context, &(hd_canvas_line){x, bottom, x, bottom + 4, 1, hd_plot_faint});
        hd_decimal(number, "%g", round(at * 1000) / 1000);
        strncat(number, " s", sizeof number - strlen(number) - 1);
        hd_plot_write(c, (hd_canvas_text){.x = x,
                                          .y = bottom + HD_PLOT_GAP + HD_PLOT_SMALL,
                                          .size = HD_PLOT_SMALL,
                                          .anchor = HD_ANCHOR_MIDDLE,
                                          .color = hd_plot_faint,
                                          .text = number});
    }
}

/* The path, and a dot where a row attends most: another color where that goes back. */
static void draw_path(const hd_attention_track *t, const hd_canvas *c, double top)
{
    const hd_monotone *m = &t->monotone;
    for (size_t i = 1; i < m->rows; i++)
        c->line(c->context, &(hd_canvas_line){middle_of(t, m->path[i - 1]), top + ((double)i - 0.5) * t->row,
                                              middle_of(t, m->path[i]), top + ((double)i + 0.5) * t->row, 1.5,
                                              path_color});
    for (size_t i = 0; i < m->rows; i++) {
        double x = middle_of(t, m->most[i]), y = top + ((double)i + 0.5) * t->row;
        bool back = i && m->most[i] < m->most[i - 1];
        c->line(c->context, &(hd_canvas_line){x, y, x, y, back ? 7 : 5, back ? back_color : path_color});
    }
}

static void draw_names(const hd_attention_track *t, const hd_canvas *c, double top)
{
    size_t each = t->map.rows <= FEW ? 1 : 2;
    for (size_t i = 0; i < t->map.rows; i += each) {
        char buf[HD_LABEL];
        hd_plot_label(c, t->map.row[i].piece, HD_PLOT_LETTERS, longest_label, buf);
        hd_plot_write(c, (hd_canvas_text){.x = t->left - HD_PLOT_GAP / 2,
                                          .y = top + ((double)i + 0.5) * t->row + HD_PLOT_LETTERS * 0.36,
                                          .size = HD_PLOT_LETTERS,
                                          .anchor = HD_ANCHOR_END,
                                          .color = hd_plot_ink,
                                          .text = buf,
                                          .tip = t->map.row[i].piece});
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_attention_track *t = d->context;
    double top = t->top + t->strip + HD_PLOT_GAP, tall = (double)t->map.rows * t->row, y = HD_PLOT_MARGIN;
    char said[HD_LABEL];
    const char *text = t->maps->translation ? t->maps->translation : t->title;
    hd_plot_label(c, text, HD_PLOT_LARGE, d->width - 2 * HD_PLOT_MARGIN, said);
    hd_plot_begin(d, c, said);
    const char *const lines[] = {t->title, t->note};
    for (size_t i = 0; i < 2; i++) {
        y += i ? HD_PLOT_SMALL + HD_PLOT_GAP / 2 : HD_PLOT_LARGE + HD_PLOT_SMALL + HD_PLOT_GAP;
        hd_plot_write(c, (hd_canvas_text){.x = HD_PLOT_MARGIN,
                                          .y = y,
                                          .size = HD_PLOT_SMALL,
                                          .color = hd_plot_faint,
                                          .text = lines[i]});
    }
    hd_status s =
        c->image(c->context,
                 &(hd_canvas_image){t->left, t->top, t->across, t->strip, &t->maps->scene.image, true}, err);
    if (!s) s = c->image(c->context, &(hd_canvas_image){t->left, top, t->across, tall, &t->heat, false}, err);
    if (s) return s;
    draw_time(t, c, top + tall);
    draw_path(t, c, top);
    draw_names(t, c, top);
    return HD_OK;
}

hd_drawing hd_attention_track_drawing(hd_attention_track *t)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = t};
}
