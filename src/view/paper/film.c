/* How the frames of a film are drawn: each is a whole drawing of cells, one over the other. */
#include "view/paper/film.h"

#include "view/plot.h"

enum { LINE = 20 }; /* pixels of a caption */

hd_cells hd_film_at(const hd_film *v, size_t i)
{
    hd_cells c = v->cells;
    c.value = v->value + i * c.rows * c.cols;
    return c;
}

/* -- a drawing -- */

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_film *v = d->context;
    d->width = d->height = 0;
    for (size_t i = 0; i < v->count; i++) { /* the room that the widest numbers need */
        hd_cells cells = hd_film_at(v, i);
        hd_drawing one = hd_cells_drawing(&cells);
        one.lay_out(&one, c);
        if (one.width > d->width || !i) d->width = one.width, d->height = one.height + LINE, v->cells = cells;
    }
    d->title = v->cells.title;
}

static hd_status draw_frame(const hd_drawing *d, const hd_canvas *c, size_t i, hd_err *err)
{
    const hd_film *v = d->context;
    hd_cells cells = hd_film_at(v, i);
    hd_drawing one = hd_cells_drawing(&cells);
    one.width = d->width, one.height = d->height;
    hd_status s = one.draw(&one, c, err);
    hd_plot_write(c, (hd_canvas_text){.x = HD_PLOT_MARGIN,
                                      .y = d->height - HD_PLOT_MARGIN,
                                      .size = HD_PLOT_LETTERS,
                                      .color = hd_plot_ink,
                                      .text = v->caption[i]});
    return s;
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_film *v = d->context;
    hd_status s = HD_OK;
    for (size_t i = c->frame ? 0 : v->count - 1; !s && i < v->count; i++) {
        if (c->frame) c->frame(c->context, i, v->count);
        s = draw_frame(d, c, i, err);
    }
    if (c->frame) c->frame(c->context, v->count, v->count);
    return s;
}

hd_drawing hd_film_drawing(hd_film *v)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = v, .title = v->cells.title};
}

/* -- text -- */

void hd_film_text(hd_text_pen *p, const hd_film *v)
{
    const size_t shown[] = {0, v->count / 2, v->count - 1};
    for (size_t k = 0; k < 3; k++) {
        if (k && shown[k] == shown[k - 1]) continue;
        hd_cells c = hd_film_at(v, shown[k]);
        if (k) hd_text_pen_end(p);
        hd_cells_text(p, &c);
        hd_text_pen_put(p, HD_INK_DIM, v->caption[shown[k]]);
        hd_text_pen_end(p);
    }
}
