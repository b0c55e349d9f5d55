/* The heat map, laid out and drawn. Colors are ColorBrewer's "Blues": one hue, even steps to the eye, and
   right in print and for the color-blind. */
#include "view/attention/picture.h"

#include <math.h>

#include "view/draw/label.h"
#include "view/draw/markup.h"

enum { STOPS = 9, STRIPES = 60 };

static const hd_color blues[STOPS] = {{0xf7, 0xfb, 0xff}, {0xde, 0xeb, 0xf7}, {0xc6, 0xdb, 0xef},
                                      {0x9e, 0xca, 0xe1}, {0x6b, 0xae, 0xd6}, {0x42, 0x92, 0xc6},
                                      {0x21, 0x71, 0xb5}, {0x08, 0x51, 0x9c}, {0x08, 0x30, 0x6b}};
static const hd_color white = {255, 255, 255}, ink = {0x1f, 0x23, 0x28}, faint = {0x59, 0x63, 0x6e};

static const double margin = 20, gap = 6, letters = 12, small = 11, large = 15;
static const double longest_label = 150; /* pixels */
static const double slant = 0.70710678;  /* sine and cosine of 45 degrees */
static const double bar_width = 150, bar_height = 10;

/* Sides of a cell for maps up to so many tokens; numbers need room. */
static const struct {
    size_t most;
    double cell;
    bool values;
} sizes[] = {{12, 44, true}, {24, 32, true}, {40, 24, false}, {SIZE_MAX, 19, false}};

enum { FAR = 40 }; /* tokens from which on labels stand on both sides */

static uint8_t between(uint8_t a, uint8_t b, double share)
{
    return (uint8_t)lround(a + (b - a) * share);
}

hd_color hd_attention_color(double share)
{
    double at = share > 0 ? fmin(share, 1) * (STOPS - 1) : 0;
    int i = at < STOPS - 1 ? (int)at : STOPS - 2;
    const hd_color *a = &blues[i], *b = &blues[i + 1];
    return (hd_color){between(a->red, b->red, at - i), between(a->green, b->green, at - i),
                      between(a->blue, b->blue, at - i)};
}

double hd_attention_scale(const hd_attention_map *m)
{
    static const double steps[] = {1, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15};
    enum { STEPS = sizeof steps / sizeof *steps, DECADES = 5 };
    float most = 0;
    for (size_t i = 0; i < m->rows * m->cols; i++) most = m->weight[i] > most ? m->weight[i] : most;
    double scale = 1;
    for (int i = 0; i < DECADES * STEPS; i++) {
        double next = steps[i % STEPS] / pow(10, i / STEPS);
        if ((double)most > next) break;
        scale = next;
    }
    return scale;
}

typedef struct measure {
    const hd_canvas *canvas;
    double size;
} measure;

static double width_of(void *context, const char *text)
{
    const measure *m = context;
    return m->canvas->width(m->canvas->context, text, m->size, false);
}

/* A token's label into buf; returns its width. */
static double label_of(const hd_canvas *c, const char *token, char buf[HD_LABEL])
{
    measure m = {c, letters};
    hd_label_of(buf, token, &(hd_label_opt){width_of, &m, longest_label, false});
    return width_of(&m, buf);
}

static double widest(const hd_canvas *c, const hd_shown_token *tokens, size_t count)
{
    char buf[HD_LABEL];
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, label_of(c, tokens[i].piece, buf));
    return most;
}

/* How far to the right of the first cell the slanted labels reach. */
static double reach(const hd_canvas *c, const hd_attention_map *m, double cell)
{
    char buf[HD_LABEL];
    double most = 0;
    for (size_t j = 0; j < m->cols; j++)
        most = fmax(most, ((double)j + 0.5) * cell + label_of(c, m->col[j].piece, buf) * slant + letters);
    return most;
}

static const char *axis_of(const hd_attention_map *m, bool rows)
{
    if (m->alone) return "text";
    if (m->kind == HD_ATTENTION_ENCODER) return "source";
    return m->kind == HD_ATTENTION_DECODER || rows ? "translation" : "source";
}

/* Lays it out with the canvas' measures. */
static void place(hd_attention_picture *p, const hd_attention_map *m, const hd_canvas *c)
{
    size_t most = m->rows > m->cols ? m->rows : m->cols, i = 0;
    while (most > sizes[i].most) i++;
    *p = (hd_attention_picture){.map = m, .cell = sizes[i].cell, .values = sizes[i].values};
    p->scale = hd_attention_scale(m);
    p->below = m->rows > FAR, p->right = m->cols > FAR;
    hd_attention_map_title(m, p->title, sizeof p->title);
    double names = widest(c, m->row, m->rows);
    p->overhang = widest(c, m->col, m->cols) * slant + letters;
    p->left = margin + small + 2 * gap + names + gap + (p->below ? fmax(0, p->overhang - names) : 0);
    p->top = margin + large + 2.5 * gap + small + gap + p->overhang;
    double right = fmax(reach(c, m, p->cell), (double)m->cols * p->cell + (p->right ? gap + names : 0));
    double title = c->width(c->context, p->title, large, true);
    double legend = bar_width + gap + c->width(c->context, "attention weight", small, false);
    if (m->unknown) legend = fmax(legend, c->width(c->context, HD_UNKNOWN_LEGEND, small, false));
    p->width = ceil(fmax(p->left + fmax(right, legend), margin + title) + margin);
    p->height = ceil(p->top + (double)m->rows * p->cell + (p->below ? p->overhang + gap : 0) + 3 * gap +
                     (m->unknown ? small + 1.5 * gap : 0) + bar_height + gap + small + margin);
}

static void write_at(const hd_canvas *c, hd_canvas_text t)
{
    c->text(c->context, &t);
}

static void draw_labels(const hd_attention_picture *p, const hd_canvas *c)
{
    const hd_attention_map *m = p->map;
    char buf[HD_LABEL];
    double right = p->left + (double)m->cols * p->cell, bottom = p->top + (double)m->rows * p->cell;
    for (size_t i = 0; i < m->rows; i++) {
        label_of(c, m->row[i].piece, buf);
        hd_canvas_text t = {.x = p->left - gap,
                            .y = p->top + ((double)i + 0.5) * p->cell + letters * 0.36,
                            .size = letters,
                            .anchor = HD_ANCHOR_END,
                            .color = ink,
                            .text = buf,
                            .tip = m->row[i].piece};
        write_at(c, t);
        t.x = right + gap, t.anchor = HD_ANCHOR_START;
        if (p->right) write_at(c, t);
    }
    for (size_t j = 0; j < m->cols; j++) {
        label_of(c, m->col[j].piece, buf);
        double middle = p->left + ((double)j + 0.5) * p->cell, down = letters * 0.36 * slant;
        hd_canvas_text t = {.x = middle + down,
                            .y = p->top - gap,
                            .size = letters,
                            .turned = 45,
                            .color = ink,
                            .text = buf,
                            .tip = m->col[j].piece};
        write_at(c, t);
        t.x = middle + down, t.y = bottom + gap + 2 * down, t.anchor = HD_ANCHOR_END;
        if (p->below) write_at(c, t);
    }
}

static void draw_cell(const hd_attention_picture *p, const hd_canvas *c, size_t i, size_t j, const char *tip)
{
    double v = (double)p->map->weight[i * p->map->cols + j], share = v / p->scale;
    hd_canvas_rect r = {p->left + (double)j * p->cell,
                        p->top + (double)i * p->cell,
                        p->cell - 1,
                        p->cell - 1,
                        hd_attention_color(share),
                        tip};
    c->rect(c->context, &r);
    if (!p->values) return;
    char number[HD_DECIMAL];
    write_at(c, (hd_canvas_text){.x = r.x + r.width / 2,
                                 .y = r.y + r.height / 2 + small * 0.36,
                                 .size = p->cell < 40 ? small - 1 : small,
                                 .anchor = HD_ANCHOR_MIDDLE,
                                 .color = share > 0.55 ? white : ink,
                                 .text = hd_decimal(number, "%.2f", v),
                                 .tip = tip});
}

static hd_status draw_cells(const hd_attention_picture *p, const hd_canvas *c, hd_err *err)
{
    const hd_attention_map *m = p->map;
    const hd_label_opt whole = {0};
    char from[HD_LABEL], to[HD_LABEL], number[HD_DECIMAL];
    hd_text tip = {0};
    for (size_t i = 0; i < m->rows; i++) {
        size_t seen = m->masked ? i + 1 : m->cols; /* a mask leaves white */
        hd_label_of(from, m->row[i].piece, &whole);
        for (size_t j = 0; j < seen; j++) {
            tip.size = 0;
            if (c->tips)
                hd_text_print(&tip, "%s → %s: %s", from, hd_label_of(to, m->col[j].piece, &whole),
                              hd_decimal(number, "%.4g", (double)m->weight[i * m->cols + j]));
            draw_cell(p, c, i, j, c->tips && tip.data ? tip.data : NULL);
        }
    }
    hd_status s = hd_text_status(&tip, err);
    hd_text_release(&tip);
    return s;
}

/* The scale, and above it what the marks at words mean. */
static void draw_legend(const hd_attention_picture *p, const hd_canvas *c)
{
    double x = p->left, y = p->height - margin - small - gap - bar_height, step = bar_width / STRIPES;
    for (int i = 0; i < STRIPES; i++)
        c->rect(c->context, &(hd_canvas_rect){x + i * step, y, i + 1 < STRIPES ? step + 0.5 : step,
                                              bar_height, hd_attention_color((i + 0.5) / STRIPES), NULL});
    for (int i = 0; i < 3; i++) {
        char number[HD_DECIMAL];
        write_at(c, (hd_canvas_text){.x = x + bar_width * i / 2,
                                     .y = y + bar_height + gap + small * 0.8,
                                     .size = small,
                                     .anchor = (hd_anchor)i,
                                     .color = faint,
                                     .text = hd_decimal(number, "%g", p->scale * i / 2)});
    }
    write_at(c, (hd_canvas_text){.x = x + bar_width + gap,
                                 .y = y + bar_height / 2 + small * 0.36,
                                 .size = small,
                                 .color = faint,
                                 .text = "attention weight"});
    if (p->map->unknown)
        write_at(c,
                 (hd_canvas_text){
                     .x = x, .y = y - 1.5 * gap, .size = small, .color = faint, .text = HD_UNKNOWN_LEGEND});
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_attention_picture *p = d->context;
    const hd_attention_map *m = p->map;
    c->rect(c->context, &(hd_canvas_rect){0, 0, p->width, p->height, white, NULL});
    write_at(c, (hd_canvas_text){.x = margin,
                                 .y = margin + large * 0.8,
                                 .size = large,
                                 .color = ink,
                                 .bold = true,
                                 .text = p->title});
    write_at(c, (hd_canvas_text){.x = p->left,
                                 .y = p->top - p->overhang - gap,
                                 .size = small,
                                 .color = faint,
                                 .text = axis_of(m, false)});
    write_at(c, (hd_canvas_text){.x = margin + small,
                                 .y = p->top + (double)m->rows * p->cell / 2,
                                 .size = small,
                                 .turned = 90,
                                 .anchor = HD_ANCHOR_MIDDLE,
                                 .color = faint,
                                 .text = axis_of(m, true)});
    draw_labels(p, c);
    draw_legend(p, c);
    return draw_cells(p, c, err);
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_attention_picture *p = d->context;
    place(p, p->map, c);
    d->width = p->width, d->height = p->height, d->title = p->title;
}

hd_drawing hd_attention_drawing(hd_attention_picture *p, const hd_attention_map *map)
{
    p->map = map;
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = p};
}
