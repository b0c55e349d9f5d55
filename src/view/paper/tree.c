/* Trees, laid out by their leaves. */
#include "view/paper/tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/draw/markup.h"
#include "view/plot.h"

static const double row_height = 20, longest_label = 200, stem = 28, thin = 1.2, wide = 2.4;

const char *const hd_twig_names[HD_TWIG_STATES] = {"kept", "pruned", "ended", "best"};

static const char *label_of(const hd_tree *v, const hd_twig *t, char *buf, size_t size)
{
    char format[8], number[HD_DECIMAL];
    snprintf(format, sizeof format, "%%.%df", v->digits);
    snprintf(buf, size, "%s %s", t->name, hd_decimal(number, format, t->value));
    return buf;
}

/* Rows of twig i and all behind it; *next is the first that is free. */
static void place(hd_tree *v, size_t i, int depth, double *next)
{
    double first = -1, last = 0;
    v->twig[i].depth = depth;
    for (size_t k = i + 1; k < v->count; k++) {
        if (v->twig[k].parent != (int)i) continue;
        place(v, k, depth + 1, next);
        if (first < 0) first = v->twig[k].row;
        last = v->twig[k].row;
    }
    v->twig[i].row = first < 0 ? (*next)++ : (first + last) / 2;
}

/* -- a drawing -- */

static double top_of(void)
{
    return HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * HD_PLOT_GAP + HD_PLOT_SMALL + HD_PLOT_GAP + row_height;
}

static double x_of(const hd_tree *v, const hd_twig *t)
{
    return HD_PLOT_MARGIN + t->depth * v->column;
}

static double y_of(const hd_twig *t)
{
    return top_of() + (t->row + 0.5) * row_height;
}

static hd_color color_of(hd_twig_state s)
{
    return s == HD_TWIG_PRUNED ? hd_plot_faint : hd_plot_color(s == HD_TWIG_BEST ? 2 : 0);
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_tree *v = d->context;
    char label[HD_LABEL], cut[HD_LABEL];
    double rows = 0, names = 0;
    int deepest = 0;
    if (v->count) place(v, 0, 0, &rows);
    for (size_t i = 0; i < v->count; i++) {
        label_of(v, &v->twig[i], label, sizeof label);
        names = fmax(names, hd_plot_label(c, label, HD_PLOT_LETTERS, longest_label, cut));
        if (v->twig[i].depth > deepest) deepest = v->twig[i].depth;
    }
    v->column = names + HD_PLOT_GAP + stem;
    d->title = v->title;
    d->width = ceil(fmax(2 * HD_PLOT_MARGIN + deepest * v->column + names + HD_PLOT_GAP,
                         2 * HD_PLOT_MARGIN + fmax(c->width(c->context, v->title, HD_PLOT_LARGE, true),
                                                   c->width(c->context, v->about, HD_PLOT_SMALL, false))));
    d->height = ceil(top_of() + rows * row_height + HD_PLOT_MARGIN);
}

static void draw_twig(const hd_tree *v, const hd_canvas *c, const hd_twig *t)
{
    char label[HD_LABEL], cut[HD_LABEL];
    const hd_color color = color_of(t->state);
    const double x = x_of(v, t), y = y_of(t);
    double length =
        hd_plot_label(c, label_of(v, t, label, sizeof label), HD_PLOT_LETTERS, longest_label, cut);
    if (t->parent >= 0) {
        const hd_twig *from = v->twig + t->parent;
        c->line(c->context,
                &(hd_canvas_line){x_of(v, from) + v->column - stem, y_of(from), x - HD_PLOT_GAP / 2.0, y,
                                  t->state == HD_TWIG_BEST ? wide : thin, color});
    }
    hd_plot_write(c, (hd_canvas_text){.x = x,
                                      .y = y + HD_PLOT_LETTERS * 0.36,
                                      .size = HD_PLOT_LETTERS,
                                      .color = t->state == HD_TWIG_PRUNED ? hd_plot_faint : hd_plot_ink,
                                      .bold = t->state == HD_TWIG_BEST,
                                      .text = cut});
    if (t->state == HD_TWIG_PRUNED) /* struck out */
        c->line(c->context, &(hd_canvas_line){x, y, x + length, y, thin, color});
}

static void draw_legend(const hd_tree *v, const hd_canvas *c)
{
    static const char *const meaning[] = {"kept", "pruned", NULL, "found"};
    double x = HD_PLOT_MARGIN, y = HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * HD_PLOT_GAP + HD_PLOT_SMALL * 0.4;
    hd_plot_write(
        c, (hd_canvas_text){.x = x, .y = y, .size = HD_PLOT_SMALL, .color = hd_plot_faint, .text = v->about});
    y += row_height;
    for (int s = 0; s < HD_TWIG_STATES; s++) {
        if (!meaning[s]) continue;
        c->line(c->context, &(hd_canvas_line){x, y - HD_PLOT_SMALL * 0.36, x + stem, y - HD_PLOT_SMALL * 0.36,
                                              s == HD_TWIG_BEST ? wide : thin, color_of((hd_twig_state)s)});
        x += stem + HD_PLOT_GAP;
        hd_plot_write(c,
                      (hd_canvas_text){
                          .x = x, .y = y, .size = HD_PLOT_SMALL, .color = hd_plot_ink, .text = meaning[s]});
        x += c->width(c->context, meaning[s], HD_PLOT_SMALL, false) + 2 * HD_PLOT_GAP;
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_tree *v = d->context;
    (void)err;
    hd_plot_begin(d, c, v->title);
    draw_legend(v, c);
    for (size_t i = 0; i < v->count; i++) draw_twig(v, c, &v->twig[i]);
    return HD_OK;
}

hd_drawing hd_tree_drawing(hd_tree *v)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = v, .title = v->title};
}

/* -- text -- */

enum { INDENT = 192 };

static void put_twig(hd_text_pen *p, const hd_tree *v, size_t i, const char *before)
{
    static const char *const signs[] = {"", "  pruned", "  ended", "  <- found"};
    char label[HD_LABEL], under[INDENT];
    const hd_twig *t = &v->twig[i];
    size_t left = 0;
    bool leaf = true;
    for (size_t k = i + 1; k < v->count; k++) left += v->twig[k].parent == (int)i;
    leaf = !left;
    hd_text_pen_put(p,
                    t->state == HD_TWIG_BEST     ? HD_INK_GOOD
                    : t->state == HD_TWIG_PRUNED ? HD_INK_DIM
                                                 : HD_INK_PLAIN,
                    label_of(v, t, label, sizeof label));
    if (t->state != HD_TWIG_BEST || leaf) hd_text_pen_put(p, HD_INK_DIM, signs[t->state]);
    hd_text_pen_end(p);
    for (size_t k = i + 1; k < v->count; k++) {
        if (v->twig[k].parent != (int)i) continue;
        bool last = !--left;
        hd_text_pen_put(p, HD_INK_DIM, before);
        hd_text_pen_put(p, HD_INK_DIM, p->utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "));
        snprintf(under, sizeof under, "%s%s", before, last ? "   " : p->utf8 ? "│  " : "|  ");
        put_twig(p, v, k, under);
    }
}

void hd_tree_text(hd_text_pen *p, hd_tree *v)
{
    hd_text_pen_put(p, HD_INK_BOLD, v->title);
    hd_text_pen_end(p);
    if (v->count) put_twig(p, v, 0, "");
    hd_text_pen_words(p, HD_INK_DIM, v->about);
    hd_text_pen_end(p);
}
