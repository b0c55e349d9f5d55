/* The bars, laid out and drawn. */
#include "view/ladder.h"

#include <math.h>
#include <string.h>

#include "view/plot.h"
#include "view/draw/markup.h"

static const double margin = HD_PLOT_MARGIN, gap = HD_PLOT_GAP, letters = HD_PLOT_LETTERS,
                    small = HD_PLOT_SMALL, large = HD_PLOT_LARGE;
static const double row_height = 28, bar_height = 18, bar_longest = 420, longest_label = 260;
static const char axis[] = "bits per character, fewer are better";

/* Into buf; returns its width. */
static double label_of(const hd_canvas *c, const char *text, char buf[HD_LABEL])
{
    return hd_plot_label(c, text, letters, longest_label, buf);
}

static double number_of(const hd_canvas *c, double bits, char buf[HD_DECIMAL])
{
    if (isfinite(bits))
        hd_decimal(buf, "%.3f", bits);
    else
        memcpy(buf, "-", 2);
    return c->width(c->context, buf, letters, false);
}

static double most_bits(const hd_ladder *l)
{
    double most = 0;
    for (size_t i = 0; i < l->count; i++)
        if (isfinite(l->rung[i].bits)) most = fmax(most, l->rung[i].bits);
    return most > 0 ? most : 1;
}

static double bar_of(const hd_ladder *l, size_t i)
{
    return isfinite(l->rung[i].bits) && l->rung[i].bits > 0 ? l->rung[i].bits * l->unit : 0;
}

static double top_of(void)
{
    return margin + large + 2 * gap;
}

static double bottom_of(const hd_ladder *l)
{
    return top_of() + (double)l->count * row_height;
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_ladder *l = d->context;
    char label[HD_LABEL], number[HD_DECIMAL];
    double names = 0, right = 0;
    l->unit = bar_longest / most_bits(l);
    for (size_t i = 0; i < l->count; i++) {
        names = fmax(names, label_of(c, l->rung[i].name, label));
        double end = bar_of(l, i) + gap + number_of(c, l->rung[i].bits, number);
        if (l->rung[i].detail) end += gap + label_of(c, l->rung[i].detail, label);
        right = fmax(right, end);
    }
    l->left = margin + names + gap;
    right = fmax(right, c->width(c->context, axis, small, false));
    d->width = ceil(fmax(l->left + right, margin + c->width(c->context, l->title, large, true)) + margin);
    d->height = ceil(bottom_of(l) + gap + small + gap + small + margin);
}

static void draw_axis(const hd_ladder *l, const hd_canvas *c)
{
    double most = most_bits(l), step = hd_plot_step(most), bottom = bottom_of(l);
    char number[HD_DECIMAL];
    for (int i = 0; i * step <= most * (1 + 1e-9); i++) {
        double x = l->left + i * step * l->unit;
        c->rect(c->context, &(hd_canvas_rect){x, top_of(), 1, bottom - top_of(), hd_plot_grid, NULL});
        hd_plot_write(c, (hd_canvas_text){.x = x,
                                          .y = bottom + gap + small * 0.8,
                                          .size = small,
                                          .anchor = HD_ANCHOR_MIDDLE,
                                          .color = hd_plot_faint,
                                          .text = hd_decimal(number, "%g", i * step)});
    }
    hd_plot_write(c, (hd_canvas_text){.x = l->left,
                                      .y = bottom + 2 * gap + small * 1.8,
                                      .size = small,
                                      .color = hd_plot_faint,
                                      .text = axis});
}

static void draw_rung(const hd_ladder *l, const hd_canvas *c, size_t i)
{
    const hd_rung *r = &l->rung[i];
    char label[HD_LABEL], number[HD_DECIMAL];
    double top = top_of() + (double)i * row_height, line = top + row_height / 2 + letters * 0.36;
    label_of(c, r->name, label);
    hd_plot_write(c, (hd_canvas_text){.x = l->left - gap,
                                      .y = line,
                                      .size = letters,
                                      .anchor = HD_ANCHOR_END,
                                      .color = hd_plot_ink,
                                      .text = label,
                                      .tip = c->tips ? r->name : NULL});
    c->rect(c->context, &(hd_canvas_rect){l->left, top + (row_height - bar_height) / 2, bar_of(l, i),
                                          bar_height, hd_plot_color(0), c->tips ? r->name : NULL});
    double x = l->left + bar_of(l, i) + gap, width = number_of(c, r->bits, number);
    hd_plot_write(c,
                  (hd_canvas_text){.x = x, .y = line, .size = letters, .color = hd_plot_ink, .text = number});
    if (!r->detail) return;
    label_of(c, r->detail, label);
    hd_plot_write(
        c, (hd_canvas_text){
               .x = x + width + gap, .y = line, .size = letters, .color = hd_plot_faint, .text = label});
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_ladder *l = d->context;
    (void)err;
    hd_plot_begin(d, c, l->title);
    draw_axis(l, c);
    for (size_t i = 0; i < l->count; i++) draw_rung(l, c, i);
    return HD_OK;
}

hd_status hd_ladder_save(const char *path, hd_ladder *l, hd_err *err)
{
    hd_drawing d = {.lay_out = lay_out, .draw = draw, .context = l, .title = l->title};
    return hd_plot_save(path, &d, err);
}
