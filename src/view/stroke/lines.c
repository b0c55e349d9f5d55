/* Lines of handwriting, laid out and drawn. */
#include "view/stroke/lines.h"

#include <math.h>

#include "base/mem.h"
#include "view/plot.h"

static const double margin = HD_PLOT_MARGIN, gap = HD_PLOT_GAP, letters = HD_PLOT_SMALL;
static const double wide = 2.2, cell = 13, between = 22;

hd_ink_box hd_ink_box_of(const hd_pen_point *p, size_t count)
{
    hd_ink_box b = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        b.left = fmin(b.left, (double)p[i].x), b.right = fmax(b.right, (double)p[i].x);
        b.top = fmin(b.top, (double)p[i].y), b.bottom = fmax(b.bottom, (double)p[i].y);
    }
    if (!count) b = (hd_ink_box){0};
    return b;
}

static double map_height(const hd_drawn_lines *v, const hd_drawn_line *l)
{
    return v->window && l->phi ? (double)(l->letters + 1) * cell + gap : 0;
}

/* A column of the map is a point; the map is as wide as the line, where that is wide enough. */
static double across(const hd_drawn_lines *v, const hd_drawn_line *l)
{
    hd_ink_box b = hd_ink_box_of(l->point, l->count);
    double ink = (b.right - b.left) * v->scale;
    return v->window && l->phi ? fmax(ink, (double)l->count) : ink;
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_drawn_lines *v = d->context;
    v->side = v->window ? 2 * gap + c->width(c->context, "W", letters, false) : 0;
    d->width = 2 * margin + v->side, d->height = 2 * margin - between;
    double widest = 0;
    for (size_t i = 0; i < v->lines; i++) {
        hd_ink_box b = hd_ink_box_of(v->line[i].point, v->line[i].count);
        widest = fmax(widest, across(v, &v->line[i]));
        d->height += map_height(v, &v->line[i]) + (b.bottom - b.top) * v->scale + between;
    }
    d->width = ceil(d->width + widest), d->height = ceil(d->height);
    d->title = "handwriting";
}

/* -- the window -- */

/* White to ink by weight, the last character at the top and what is behind it above. */
static void shade(hd_image *im, const hd_drawn_line *l, double most)
{
    for (size_t u = 0; u <= l->letters; u++)
        for (size_t t = 0; t < l->count; t++) {
            double share = (double)l->phi[t * (l->letters + 1) + u] / most;
            uint8_t *p = im->pixel + 3 * ((l->letters - u) * l->count + t);
            const uint8_t paper[3] = {hd_plot_paper.red, hd_plot_paper.green, hd_plot_paper.blue},
                          ink[3] = {20, 60, 130};
            share = sqrt(fmin(1, fmax(0, share)));
            for (int k = 0; k < 3; k++) p[k] = (uint8_t)lround(paper[k] + share * (ink[k] - paper[k]));
        }
}

static hd_status draw_map(const hd_drawn_lines *v, const hd_canvas *c, const hd_drawn_line *l, double y,
                          hd_err *err)
{
    hd_image im = {0};
    double most = 1e-30, height = (double)(l->letters + 1) * cell, left = margin + v->side;
    for (size_t i = 0; i < l->count * (l->letters + 1); i++) most = fmax(most, (double)l->phi[i]);
    hd_status s = hd_image_make(&im, (int)l->count, (int)(l->letters + 1), 3, "a window", err);
    if (s) return s;
    shade(&im, l, most);
    s = c->image(c->context, &(hd_canvas_image){left, y, across(v, l), height, &im, false}, err);
    hd_image_release(&im);
    for (size_t u = 0; u < l->letters; u++)
        hd_plot_write(c, (hd_canvas_text){.x = left - gap,
                                          .y = y + ((double)(l->letters - u) + 0.5) * cell + letters * 0.36,
                                          .size = letters,
                                          .anchor = HD_ANCHOR_END,
                                          .color = hd_plot_faint,
                                          .text = l->letter ? l->letter[u] : ""});
    return s;
}

/* -- ink -- */

static void draw_ink(const hd_drawn_lines *v, const hd_canvas *c, const hd_drawn_line *l, double y)
{
    hd_ink_box b = hd_ink_box_of(l->point, l->count);
    double left = margin + v->side;
    for (size_t i = 0; i < l->count; i++) {
        bool begins = !i || l->point[i - 1].lift;
        const hd_pen_point *to = &l->point[i], *from = begins ? to : to - 1;
        if (begins && !to->lift) continue; /* a dot alone is drawn */
        c->line(c->context, &(hd_canvas_line){left + ((double)from->x - b.left) * v->scale,
                                              y + ((double)from->y - b.top) * v->scale,
                                              left + ((double)to->x - b.left) * v->scale,
                                              y + ((double)to->y - b.top) * v->scale, wide,
                                              i < l->faint ? hd_plot_faint : hd_plot_ink});
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_drawn_lines *v = d->context;
    hd_status s = HD_OK;
    double y = margin;
    c->rect(c->context, &(hd_canvas_rect){0, 0, d->width, d->height, hd_plot_paper, NULL});
    for (size_t i = 0; !s && i < v->lines; i++) {
        const hd_drawn_line *l = &v->line[i];
        hd_ink_box b = hd_ink_box_of(l->point, l->count);
        double map = map_height(v, l);
        if (map > 0) s = draw_map(v, c, l, y, err);
        draw_ink(v, c, l, y + map);
        y += map + (b.bottom - b.top) * v->scale + between;
    }
    return s;
}

hd_drawing hd_drawn_lines_drawing(hd_drawn_lines *v)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = v, .title = "handwriting"};
}
