/* The curves, laid out and drawn. The axis upward begins near the least number, not at 0. */
#include "view/curves.h"

#include <math.h>

#include "view/plot.h"
#include "view/draw/markup.h"

static const double margin = HD_PLOT_MARGIN, gap = HD_PLOT_GAP, letters = HD_PLOT_LETTERS,
                    small = HD_PLOT_SMALL, large = HD_PLOT_LARGE;
static const double row_height = 18, height = 260, least_apart = 56, longest_label = 260, mark = 7, wide = 2;

static void find_range(hd_curves *v)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < v->curves; i++)
        for (size_t k = 0; k < v->points; k++)
            if (isfinite(v->curve[i].value[k])) {
                low = fmin(low, v->curve[i].value[k]);
                high = fmax(high, v->curve[i].value[k]);
            }
    if (low > high) low = 0, high = 1;
    if (high - low < 1e-6) low -= 0.5, high += 0.5;
    v->step = hd_plot_step(high - low);
    v->low = floor(low / v->step) * v->step;
    v->high = ceil(high / v->step) * v->step;
}

static int lines_of(const hd_curves *v)
{
    return (int)lround((v->high - v->low) / v->step);
}

static const char *number_at(const hd_curves *v, int line, char buf[HD_DECIMAL])
{
    double n = v->low + line * v->step;
    return hd_decimal(buf, "%g", fabs(n) < v->step / 2 ? 0 : n);
}

/* Where the axis upward ends: below the title, the names and what it is. */
static double top_of(const hd_curves *v)
{
    return margin + large + gap + (double)v->curves * row_height + gap + small + gap;
}

static double bottom_of(const hd_curves *v)
{
    return top_of(v) + height;
}

static double x_of(const hd_curves *v, size_t point)
{
    return v->left + ((double)point + 0.5) * v->apart;
}

static double y_of(const hd_curves *v, double value)
{
    return bottom_of(v) - (value - v->low) / (v->high - v->low) * height;
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_curves *v = d->context;
    char label[HD_LABEL], number[HD_DECIMAL];
    double numbers = 0, names = c->width(c->context, v->title, large, true);
    find_range(v);
    for (int i = 0; i <= lines_of(v); i++)
        numbers = fmax(numbers, c->width(c->context, number_at(v, i, number), small, false));
    v->left = margin + numbers + gap;
    v->apart = least_apart;
    for (size_t k = 0; k < v->points; k++) {
        const hd_curve_point *p = &v->point[k];
        v->apart = fmax(v->apart, gap + hd_plot_label(c, p->name, letters, longest_label, label));
        if (p->detail)
            v->apart = fmax(v->apart, gap + hd_plot_label(c, p->detail, small, longest_label, label));
    }
    for (size_t i = 0; i < v->curves; i++)
        names = fmax(names, 4 * gap + hd_plot_label(c, v->curve[i].name, letters, longest_label, label));
    double right = v->left + (double)v->points * v->apart;
    right = fmax(right, v->left + c->width(c->context, v->across, small, false));
    d->width = ceil(fmax(right, margin + names) + margin);
    d->height = ceil(bottom_of(v) + gap + letters + gap + small + gap + small + margin);
}

static void draw_names(const hd_curves *v, const hd_canvas *c)
{
    for (size_t i = 0; i < v->curves; i++) {
        char label[HD_LABEL];
        double y = margin + large + gap + ((double)i + 0.5) * row_height;
        hd_color color = hd_plot_color(i);
        hd_plot_label(c, v->curve[i].name, letters, longest_label, label);
        c->line(c->context, &(hd_canvas_line){margin, y, margin + 3 * gap, y, wide, color});
        hd_plot_write(c, (hd_canvas_text){.x = margin + 4 * gap,
                                          .y = y + letters * 0.36,
                                          .size = letters,
                                          .color = hd_plot_ink,
                                          .text = label,
                                          .tip = c->tips ? v->curve[i].name : NULL});
    }
}

static void draw_axes(const hd_curves *v, const hd_canvas *c)
{
    char number[HD_DECIMAL], label[HD_LABEL];
    double bottom = bottom_of(v);
    for (int i = 0; i <= lines_of(v); i++) {
        double y = y_of(v, v->low + i * v->step);
        c->rect(c->context,
                &(hd_canvas_rect){v->left, y, (double)v->points * v->apart, 1, hd_plot_grid, NULL});
        hd_plot_write(c, (hd_canvas_text){.x = v->left - gap,
                                          .y = y + small * 0.36,
                                          .size = small,
                                          .anchor = HD_ANCHOR_END,
                                          .color = hd_plot_faint,
                                          .text = number_at(v, i, number)});
    }
    for (size_t k = 0; k < v->points; k++) {
        hd_canvas_text t = {.x = x_of(v, k), .anchor = HD_ANCHOR_MIDDLE, .text = label};
        t.y = bottom + gap + letters * 0.8, t.size = letters, t.color = hd_plot_ink;
        hd_plot_label(c, v->point[k].name, letters, longest_label, label);
        hd_plot_write(c, t);
        if (!v->point[k].detail) continue;
        t.y += gap + small * 0.8, t.size = small, t.color = hd_plot_faint;
        hd_plot_label(c, v->point[k].detail, small, longest_label, label);
        hd_plot_write(c, t);
    }
    hd_canvas_text name = {.x = v->left, .size = small, .color = hd_plot_faint, .text = v->upward};
    name.y = top_of(v) - gap;
    hd_plot_write(c, name);
    name.y = bottom + gap + letters + gap + small + gap + small * 0.8, name.text = v->across;
    hd_plot_write(c, name);
}

static void draw_curve(const hd_curves *v, const hd_canvas *c, size_t i)
{
    const double *value = v->curve[i].value;
    hd_color color = hd_plot_color(i);
    char number[HD_DECIMAL];
    for (size_t k = 0; k < v->points; k++) {
        if (!isfinite(value[k])) continue;
        double x = x_of(v, k), y = y_of(v, value[k]);
        if (k && isfinite(value[k - 1]))
            c->line(c->context, &(hd_canvas_line){x_of(v, k - 1), y_of(v, value[k - 1]), x, y, wide, color});
        c->rect(c->context, &(hd_canvas_rect){x - mark / 2, y - mark / 2, mark, mark, color,
                                              c->tips ? hd_decimal(number, "%.2f", value[k]) : NULL});
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_curves *v = d->context;
    (void)err;
    hd_plot_begin(d, c, v->title);
    draw_names(v, c);
    draw_axes(v, c);
    for (size_t i = 0; i < v->curves; i++) draw_curve(v, c, i);
    return HD_OK;
}

hd_drawing hd_curves_drawing(hd_curves *v)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = v, .title = v->title};
}
