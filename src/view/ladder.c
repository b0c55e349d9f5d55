/* The bars, laid out and drawn, and the files they are written to. */
#include "view/ladder.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "view/label.h"
#include "view/put.h"

static const hd_colour white = {255, 255, 255}, ink = {0x1f, 0x23, 0x28}, faint = {0x59, 0x63, 0x6e},
                       grid = {0xe4, 0xe7, 0xeb}, blue = {0x42, 0x92, 0xc6};

static const double margin = 20, gap = 8, letters = 12, small = 11, large = 15;
static const double row_height = 28, bar_height = 18, bar_longest = 420, longest_label = 260;
static const char axis[] = "bits per character, fewer are better";

typedef struct measure {
    const hd_canvas *canvas;
    double size;
} measure;

static double width_of(void *context, const char *text)
{
    const measure *m = context;
    return m->canvas->width(m->canvas->context, text, m->size, false);
}

/* Into buf; returns its width. */
static double label_of(const hd_canvas *c, const char *text, char buf[HD_LABEL])
{
    measure m = {c, letters};
    hd_label_of(buf, text, &(hd_label_opt){width_of, &m, longest_label, false});
    return width_of(&m, buf);
}

static double number_of(const hd_canvas *c, double bits, char buf[HD_DECIMAL])
{
    measure m = {c, letters};
    if (isfinite(bits))
        hd_decimal(buf, "%.3f", bits);
    else
        memcpy(buf, "-", 2);
    return width_of(&m, buf);
}

static double most_bits(const hd_ladder *l)
{
    double most = 0;
    for (size_t i = 0; i < l->count; i++)
        if (isfinite(l->rung[i].bits)) most = fmax(most, l->rung[i].bits);
    return most > 0 ? most : 1;
}

/* The round distance of at most eight lines. */
static double step_of(double most)
{
    double step = pow(10, floor(log10(most / 8)));
    static const double factor[] = {1, 2, 5, 10};
    int i = 0;
    while (i < 3 && most / (step * factor[i]) > 8) i++;
    return step * factor[i];
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
    d->title = l->title;
    right = fmax(right, c->width(c->context, axis, small, false));
    d->width = ceil(fmax(l->left + right, margin + c->width(c->context, l->title, large, true)) + margin);
    d->height = ceil(bottom_of(l) + gap + small + gap + small + margin);
}

static void write_at(const hd_canvas *c, hd_canvas_text t)
{
    c->text(c->context, &t);
}

static void draw_axis(const hd_ladder *l, const hd_canvas *c)
{
    double most = most_bits(l), step = step_of(most), bottom = bottom_of(l);
    char number[HD_DECIMAL];
    for (int i = 0; i * step <= most * (1 + 1e-9); i++) {
        double x = l->left + i * step * l->unit;
        c->rect(c->context, &(hd_canvas_rect){x, top_of(), 1, bottom - top_of(), grid, NULL});
        write_at(c, (hd_canvas_text){.x = x,
                                     .y = bottom + gap + small * 0.8,
                                     .size = small,
                                     .anchor = HD_ANCHOR_MIDDLE,
                                     .colour = faint,
                                     .text = hd_decimal(number, "%g", i * step)});
    }
    write_at(
        c,
        (hd_canvas_text){
            .x = l->left, .y = bottom + 2 * gap + small * 1.8, .size = small, .colour = faint, .text = axis});
}

static void draw_rung(const hd_ladder *l, const hd_canvas *c, size_t i)
{
    const hd_rung *r = &l->rung[i];
    char label[HD_LABEL], number[HD_DECIMAL];
    double top = top_of() + (double)i * row_height, line = top + row_height / 2 + letters * 0.36;
    label_of(c, r->name, label);
    write_at(c, (hd_canvas_text){.x = l->left - gap,
                                 .y = line,
                                 .size = letters,
                                 .anchor = HD_ANCHOR_END,
                                 .colour = ink,
                                 .text = label,
                                 .tip = c->tips ? r->name : NULL});
    c->rect(c->context, &(hd_canvas_rect){l->left, top + (row_height - bar_height) / 2, bar_of(l, i),
                                          bar_height, blue, c->tips ? r->name : NULL});
    double x = l->left + bar_of(l, i) + gap, width = number_of(c, r->bits, number);
    write_at(c, (hd_canvas_text){.x = x, .y = line, .size = letters, .colour = ink, .text = number});
    if (!r->detail) return;
    label_of(c, r->detail, label);
    write_at(c, (hd_canvas_text){
                    .x = x + width + gap, .y = line, .size = letters, .colour = faint, .text = label});
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_ladder *l = d->context;
    (void)err;
    c->rect(c->context, &(hd_canvas_rect){0, 0, d->width, d->height, white, NULL});
    write_at(c, (hd_canvas_text){.x = margin,
                                 .y = margin + large * 0.8,
                                 .size = large,
                                 .colour = ink,
                                 .bold = true,
                                 .text = l->title});
    draw_axis(l, c);
    for (size_t i = 0; i < l->count; i++) draw_rung(l, c, i);
    return HD_OK;
}

hd_drawing hd_ladder_drawing(hd_ladder *l)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = l};
}

/* -- files -- */

static hd_status write_pdf(hd_spool *out, hd_drawing *d, hd_err *err)
{
    hd_pdf *pdf = NULL;
    hd_status s = hd_pdf_new(&pdf, out, ((const hd_ladder *)d->context)->title, err);
    if (!s) s = hd_pdf_add(pdf, d, err);
    if (!s) s = hd_pdf_end(pdf, err);
    hd_pdf_free(pdf);
    return s;
}

typedef hd_status writer(hd_spool *out, hd_drawing *d, hd_err *err);

static writer *writer_of(const char *path)
{
    static const struct {
        const char *ending;
        writer *write;
    } formats[] = {{".svg", hd_drawing_svg}, {".png", hd_drawing_png}, {".pdf", write_pdf}};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    for (size_t i = 0; dot && dot > name && i < sizeof formats / sizeof *formats; i++)
        if (!strcasecmp(dot, formats[i].ending)) return formats[i].write;
    return NULL;
}

hd_status hd_ladder_check(const char *path, hd_err *err)
{
    writer *write = writer_of(path);
    hd_save *save = NULL;
    if (!write)
        return hd_err_set(err, HD_EARG, "%s: a plot is written to a file that ends in .svg, .png or .pdf",
                          path);
    if (write != hd_drawing_svg && hd_drawing_missing)
        return hd_err_set(err, HD_EMISSING, "%s: %s", path, hd_drawing_missing);
    hd_status s = hd_save_open(&save, path, err);
    hd_save_abandon(save);
    return s;
}

hd_status hd_ladder_save(const char *path, hd_ladder *l, hd_err *err)
{
    hd_spool out = {0};
    hd_drawing d = hd_ladder_drawing(l);
    writer *write = writer_of(path);
    hd_status s = write ? write(&out, &d, err) : hd_ladder_check(path, err);
    if (!s) s = hd_spool_status(&out, err);
    if (!s) s = hd_save_bytes(path, out.text.data, out.text.size, err);
    hd_text_release(&out.text);
    return s;
}
