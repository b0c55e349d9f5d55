/* Plots as files, and their axes. */
#include "view/plot.h"

#include <math.h>
#include <string.h>
#include <strings.h>

const hd_color hd_plot_paper = {255, 255, 255}, hd_plot_ink = {0x1f, 0x23, 0x28},
               hd_plot_faint = {0x59, 0x63, 0x6e}, hd_plot_grid = {0xe4, 0xe7, 0xeb};

hd_color hd_plot_color(size_t number)
{
    static const hd_color color[HD_PLOT_COLORS] = {{0x42, 0x92, 0xc6}, {0xd9, 0x5f, 0x02}, {0x1b, 0x9e, 0x77},
                                                   {0x75, 0x70, 0xb3}, {0xe7, 0x29, 0x8a}, {0x8c, 0x6d, 0x31},
                                                   {0x66, 0x66, 0x66}, {0xc4, 0x1e, 0x3a}};
    return color[number % HD_PLOT_COLORS];
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

double hd_plot_label(const hd_canvas *c, const char *text, double size, double most, char buf[HD_LABEL])
{
    measure m = {c, size};
    hd_label_of(buf, text, &(hd_label_opt){width_of, &m, most, false});
    return width_of(&m, buf);
}

void hd_plot_write(const hd_canvas *c, hd_canvas_text t)
{
    c->text(c->context, &t);
}

void hd_plot_begin(const hd_drawing *d, const hd_canvas *c, const char *title)
{
    c->rect(c->context, &(hd_canvas_rect){0, 0, d->width, d->height, hd_plot_paper, NULL});
    hd_plot_write(c, (hd_canvas_text){.x = HD_PLOT_MARGIN,
                                      .y = HD_PLOT_MARGIN + HD_PLOT_LARGE * 0.8,
                                      .size = HD_PLOT_LARGE,
                                      .color = hd_plot_ink,
                                      .bold = true,
                                      .text = title});
}

double hd_plot_step(double range)
{
    double step = pow(10, floor(log10(range / 8)));
    static const double factor[] = {1, 2, 5, 10};
    int i = 0;
    while (i < 3 && range / (step * factor[i]) > 8) i++;
    return step * factor[i];
}

/* -- files -- */

static hd_status write_pdf(hd_text_file *out, hd_drawing *d, hd_err *err)
{
    hd_pdf *pdf = NULL;
    hd_status s = hd_pdf_new(&pdf, out, d->title, err);
    if (!s) s = hd_pdf_add(pdf, d, err);
    if (!s) s = hd_pdf_end(pdf, err);
    hd_pdf_free(pdf);
    return s;
}

typedef hd_status writer(hd_text_file *out, hd_drawing *d, hd_err *err);

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

hd_status hd_plot_check(const char *path, hd_err *err)
{
    writer *write = writer_of(path);
    hd_save *save = NULL;
    if (!write) return hd_err_set(err, HD_EARG, "%s: a plot file must end in .svg, .png or .pdf", path);
    if (write != hd_drawing_svg && hd_drawing_missing)
        return hd_err_set(err, HD_EMISSING, "%s: %s", path, hd_drawing_missing);
    hd_status s = hd_save_open(&save, path, err);
    hd_save_abandon(save);
    return s;
}

hd_status hd_plot_save(const char *path, hd_drawing *d, hd_err *err)
{
    hd_text_file out = {0};
    writer *write = writer_of(path);
    hd_status s = write ? write(&out, d, err) : hd_plot_check(path, err);
    if (!s) s = hd_text_file_status(&out, err);
    if (!s) s = hd_save_bytes(path, out.text.data, out.text.size, err);
    hd_text_release(&out.text);
    return s;
}
