/* A matrix in shades: white is 0, blue is above it and orange below. */
#include "view/draw/cells.h"

#include <math.h>
#include <stdio.h>

#include "view/plot.h"
#include "view/draw/markup.h"

/* -- a drawing -- */

static const double longest_label = 300, most_width = 640, least_cell = 5, most_cell = 22;

static hd_color shade_of(const hd_cells *v, double number)
{
    const hd_color color = hd_plot_color(number < 0);
    double share = fmin(fabs(number) / v->full, 1);
    return (hd_color){(uint8_t)(255 - share * (255 - color.red)),
                      (uint8_t)(255 - share * (255 - color.green)),
                      (uint8_t)(255 - share * (255 - color.blue))};
}

static const char *number_of(const hd_cells *v, double number, char buf[HD_DECIMAL])
{
    char format[8];
    snprintf(format, sizeof format, "%%.%df", v->digits);
    return hd_decimal(buf, format, fabs(number) < 0.5 * pow(10, -v->digits) ? 0 : number);
}

static double widest_number(const hd_cells *v, const hd_canvas *c)
{
    char buf[HD_DECIMAL];
    double most = 0;
    for (size_t i = 0; i < v->rows * v->cols; i++)
        if (isfinite(v->value[i]))
            most = fmax(most, c->width(c->context, number_of(v, v->value[i], buf), HD_PLOT_SMALL, false));
    return most;
}

static double widest_name(const hd_canvas *c, const char *const *name, size_t count)
{
    char buf[HD_LABEL];
    double most = 0;
    for (size_t i = 0; name && i < count; i++)
        most = fmax(most, hd_plot_label(c, name[i], HD_PLOT_LETTERS, longest_label, buf));
    return most;
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_cells *v = d->context;
    double names = widest_name(c, v->row, v->rows), above = widest_name(c, v->col, v->cols);
    double by_number = ceil(widest_number(v, c)) + HD_PLOT_GAP;
    v->cell = v->digits >= 0 ? fmax(by_number, most_cell)
                             : fmin(fmax(floor(most_width / (double)v->cols), least_cell), most_cell);
    if (v->col && v->cell < HD_PLOT_LETTERS) v->cell = HD_PLOT_LETTERS;
    v->height = v->digits >= 0 ? most_cell : v->cell;
    v->left =
        HD_PLOT_MARGIN + (v->downward ? HD_PLOT_SMALL + HD_PLOT_GAP : 0) + names + (v->row ? HD_PLOT_GAP : 0);
    v->top = HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * HD_PLOT_GAP +
             (v->across ? HD_PLOT_SMALL + HD_PLOT_GAP : 0) + (above > 0 ? above + HD_PLOT_GAP : 0);
    d->title = v->title;
    d->width = ceil(fmax(v->left + (double)v->cols * v->cell,
                         HD_PLOT_MARGIN + c->width(c->context, v->title, HD_PLOT_LARGE, true)) +
                    HD_PLOT_MARGIN);
    d->height = ceil(v->top + (double)v->rows * v->height + HD_PLOT_MARGIN);
}

static void draw_names(const hd_cells *v, const hd_canvas *c)
{
    char buf[HD_LABEL];
    hd_canvas_text t = {.size = HD_PLOT_LETTERS, .color = hd_plot_ink, .text = buf};
    for (size_t i = 0; v->row && i < v->rows; i++) {
        hd_plot_label(c, v->row[i], HD_PLOT_LETTERS, longest_label, buf);
        t.x = v->left - HD_PLOT_GAP, t.anchor = HD_ANCHOR_END;
        t.y = v->top + ((double)i + 0.5) * v->height + HD_PLOT_LETTERS * 0.36;
        hd_plot_write(c, t);
    }
    for (size_t k = 0; v->col && k < v->cols; k++) {
        hd_plot_label(c, v->col[k], HD_PLOT_LETTERS, longest_label, buf);
        t.x = v->left + ((double)k + 0.5) * v->cell + HD_PLOT_LETTERS * 0.36, t.y = v->top - HD_PLOT_GAP;
        t.anchor = HD_ANCHOR_START, t.turned = 90;
        hd_plot_write(c, t);
    }
    t = (hd_canvas_text){.size = HD_PLOT_SMALL, .color = hd_plot_faint};
    if (v->across) {
        t.x = v->left, t.y = HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * HD_PLOT_GAP + HD_PLOT_SMALL * 0.4;
        t.text = v->across;
        hd_plot_write(c, t);
    }
    if (v->downward) {
        t.x = HD_PLOT_MARGIN + HD_PLOT_SMALL * 0.8, t.y = v->top + (double)v->rows * v->height;
        t.turned = 90, t.text = v->downward;
        hd_plot_write(c, t);
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_cells *v = d->context;
    char number[HD_DECIMAL];
    (void)err;
    hd_plot_begin(d, c, v->title);
    draw_names(v, c);
    for (size_t i = 0; i < v->rows * v->cols; i++) {
        if (!isfinite(v->value[i])) continue;
        double x = v->left + (double)(i % v->cols) * v->cell, y = v->top + (double)(i / v->cols) * v->height;
        c->rect(c->context,
                &(hd_canvas_rect){x, y, v->cell - 1, v->height - 1, shade_of(v, v->value[i]),
                                  c->tips && v->digits < 0 ? hd_decimal(number, "%.4g", v->value[i]) : NULL});
        if (v->digits >= 0)
            hd_plot_write(c, (hd_canvas_text){.x = x + (v->cell - 1) / 2,
                                              .y = y + (v->height - 1) / 2 + HD_PLOT_SMALL * 0.36,
                                              .size = HD_PLOT_SMALL,
                                              .anchor = HD_ANCHOR_MIDDLE,
                                              .color = hd_plot_ink,
                                              .text = number_of(v, v->value[i], number)});
    }
    return HD_OK;
}

hd_drawing hd_cells_drawing(hd_cells *v)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = v, .title = v->title};
}

/* -- text -- */

static int columns_of_names(const hd_cells *v)
{
    int most = 0;
    for (size_t i = 0; v->row && i < v->rows; i++) hd_text_pen_widen(&most, v->row[i]);
    return most;
}

static int columns_of_cell(const hd_cells *v)
{
    char buf[HD_DECIMAL];
    int most = 0;
    for (size_t k = 0; v->col && k < v->cols; k++) hd_text_pen_widen(&most, v->col[k]);
    for (size_t i = 0; v->digits >= 0 && i < v->rows * v->cols; i++)
        if (isfinite(v->value[i])) hd_text_pen_widen(&most, number_of(v, v->value[i], buf));
    return most + 1;
}

/* A sign by size, and a background where color is allowed. */
static void put_shade(hd_text_pen *p, const hd_cells *v, double number)
{
    static const char *const plain[] = {" ", ".", ":", "+", "*", "#"}, *const blocks[] = {" ", "·", "░",
                                                                                          "▒", "▓", "█"};
    int n = isfinite(number) ? (int)lround(5 * fmin(fabs(number) / v->full, 1)) : 0;
    hd_text_pen_put(p, HD_INK_PLAIN, number < 0 && n ? "-" : p->utf8 ? blocks[n] : plain[n]);
}

void hd_cells_text(hd_text_pen *p, const hd_cells *v)
{
    char buf[HD_DECIMAL];
    int names = columns_of_names(v), wide = columns_of_cell(v), left = names ? names + 1 : 0;
    bool numbers = v->digits >= 0 && left + (int)v->cols * wide <= p->width;
    size_t shown = numbers || left + (int)v->cols <= p->width ? v->cols : (size_t)(p->width - left);
    hd_text_pen_put(p, HD_INK_BOLD, v->title);
    hd_text_pen_end(p);
    for (size_t k = 0; numbers && v->col && k < v->cols; k++)
        hd_text_pen_put_to(p, left + (int)(k + 1) * wide, HD_INK_BOLD, v->col[k]);
    if (numbers && v->col) hd_text_pen_end(p);
    for (size_t i = 0; i < v->rows; i++) {
        if (v->row) hd_text_pen_put_to(p, names, HD_INK_BOLD, v->row[i]);
        p->next = left;
        for (size_t k = 0; k < shown; k++) {
            double number = v->value[i * v->cols + k];
            if (!numbers)
                put_shade(p, v, number);
            else if (isfinite(number))
                hd_text_pen_put_to(p, left + (int)(k + 1) * wide, HD_INK_PLAIN, number_of(v, number, buf));
        }
        hd_text_pen_end(p);
    }
    if (v->across || v->downward) {
        if (v->downward)
            hd_text_pen_put(p, HD_INK_DIM, "down: "), hd_text_pen_put(p, HD_INK_DIM, v->downward);
        if (v->across) hd_text_pen_put(p, HD_INK_DIM, v->downward ? "; across: " : "across: ");
        if (v->across) hd_text_pen_put(p, HD_INK_DIM, v->across);
        hd_text_pen_end(p);
    }
}
