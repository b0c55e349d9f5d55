/* Boxes on a picture. Small pictures are enlarged, so that labels are not larger than what they name. */
#include "view/picture/boxes.h"

#include <math.h>
#include <stdio.h>

#include "view/plot.h"

static const double least_side = 640, most_side = 1600, letters = 12, wide = 2, pad = 3;

typedef struct picture {
    const hd_image *image;
    const hd_drawn_box *box;
    size_t boxes;
    double scale;
} picture;

/* Black or white, whichever can be read on it. */
static hd_color ink_on(hd_color c)
{
    double light = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
    return light > 150 ? hd_plot_ink : hd_plot_paper;
}

static void put_edges(const hd_canvas *c, const hd_drawn_box *b, double x, double y, double scale)
{
    const double left = x + b->x * scale, top = y + b->y * scale, right = left + b->width * scale,
                 bottom = top + b->height * scale;
    const double corner[5][2] = {{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}};
    for (int dark = 1; dark >= 0; dark--) /* a dark edge under the color: either is seen on any picture */
        for (int i = 0; i < 4; i++)
            c->line(c->context, &(hd_canvas_line){corner[i][0], corner[i][1], corner[i + 1][0],
                                                  corner[i + 1][1], dark ? wide + 1.5 : wide,
                                                  dark ? hd_plot_ink : hd_plot_color(b->color)});
}

static void put_label(const hd_canvas *c, const hd_drawn_box *b, double x, double y, double scale)
{
    const hd_color color = hd_plot_color(b->color);
    const double left = x + b->x * scale, top = y + b->y * scale;
    char name[HD_LABEL], text[HD_LABEL + 16];
    if (!b->label) return;
    hd_plot_label(c, b->label, letters, 200, name);
    if (isnan(b->score))
        snprintf(text, sizeof text, "%s", name);
    else
        snprintf(text, sizeof text, "%s %.2f", name, b->score);
    const double high = letters + 2 * pad, across = c->width(c->context, text, letters, false) + 2 * pad,
                 above = top - high >= y ? top - high : top;
    c->rect(c->context, &(hd_canvas_rect){left - wide / 2, above, across, high, color, NULL});
    hd_plot_write(c, (hd_canvas_text){.x = left - wide / 2 + pad,
                                      .y = above + pad + letters * 0.86,
                                      .size = letters,
                                      .color = ink_on(color),
                                      .text = text});
}

void hd_boxes_put(const hd_canvas *c, const hd_drawn_box *box, size_t boxes, double x, double y, double scale)
{
    for (size_t i = 0; i < boxes; i++) put_edges(c, &box[i], x, y, scale);
    for (size_t i = 0; i < boxes; i++) put_label(c, &box[i], x, y, scale);
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    picture *p = d->context;
    double side = fmax(p->image->width, p->image->height);
    (void)c;
    p->scale = side < least_side ? least_side / side : side > most_side ? most_side / side : 1;
    d->width = round(p->image->width * p->scale), d->height = round(p->image->height * p->scale);
    d->title = "objects";
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const picture *p = d->context;
    hd_status s = c->image(c->context, &(hd_canvas_image){0, 0, d->width, d->height, p->image, true}, err);
    if (!s) hd_boxes_put(c, p->box, p->boxes, 0, 0, p->scale);
    return s;
}

hd_status hd_boxes_draw(const char *path, const hd_image *im, const hd_drawn_box *box, size_t boxes,
                        hd_err *err)
{
    picture p = {.image = im, .box = box, .boxes = boxes};
    return hd_plot_save(path, &(hd_drawing){.lay_out = lay_out, .draw = draw, .context = &p}, err);
}
