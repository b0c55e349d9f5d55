/* Drawings as PNG and PDF, by Cairo. */
#include "view/draw/drawing.h"

#include <cairo.h>
#include <cairo-pdf.h>
#include <math.h>

#include "base/mem.h"
#include "view/draw/letters.h"

static const double points = 0.75;               /* of a pixel: 72 to 96 to the inch */
static const double sharp = 2, most_sharp = 4e6; /* pixels drawn for one, up to so many of them */
static const double widest = 32767;              /* Cairo's limit */

static double width(void *context, const char *text, double size, bool bold)
{
    return hd_letters_width(context, text, size, bold);
}

static void take_color(cairo_t *c, hd_color color)
{
    cairo_set_source_rgb(c, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
}

static void rect(void *context, const hd_canvas_rect *r)
{
    take_color(context, r->fill);
    cairo_rectangle(context, r->x, r->y, r->width, r->height);
    cairo_fill(context);
}

static void text(void *context, const hd_canvas_text *t)
{
    cairo_t *c = context;
    cairo_save(c);
    cairo_translate(c, t->x, t->y);
    cairo_rotate(c, -t->turned * acos(-1) / 180);
    cairo_move_to(c, -hd_letters_width(c, t->text, t->size, t->bold) * (int)t->anchor / 2, 0);
    take_color(c, t->color);
    hd_letters_show(c, t->text, t->size, t->bold);
    cairo_restore(c);
}

static void line(void *context, const hd_canvas_line *l)
{
    take_color(context, l->color);
    cairo_set_line_width(context, l->wide);
    cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND);
    cairo_move_to(context, l->x, l->y);
    cairo_line_to(context, l->to_x, l->to_y);
    cairo_stroke(context);
}

static hd_status status_of(cairo_status_t s, const char *what, hd_err *err)
{
    if (!s) return HD_OK;
    if (s == CAIRO_STATUS_NO_MEMORY) return hd_err_set(err, HD_ENOMEM, "no memory for the %s", what);
    return hd_err_set(err, HD_EFILE, "the %s cannot be drawn: %s", what, cairo_status_to_string(s));
}

/* Cairo's pixels are words, the high byte unused. */
static hd_status image(void *context, const hd_canvas_image *i, hd_err *err)
{
    const hd_image *im = i->image;
    cairo_surface_t *to = cairo_image_surface_create(CAIRO_FORMAT_RGB24, im->width, im->height);
    hd_status s = status_of(cairo_surface_status(to), "picture", err);
    for (int y = 0; !s && y < im->height; y++) {
        uint32_t *row =
            (uint32_t *)(void *)(cairo_image_surface_get_data(to) + y * cairo_image_surface_get_stride(to));
        const uint8_t *from = im->pixel + (size_t)y * (size_t)im->width * (size_t)im->channels;
        for (int x = 0; x < im->width; x++, from += im->channels) {
            const uint8_t *green = im->channels > 1 ? from + 1 : from,
                          *blue = im->channels > 1 ? from + 2 : from;
            row[x] = (uint32_t)from[0] << 16 | (uint32_t)*green << 8 | *blue;
        }
    }
    cairo_surface_mark_dirty(to);
    cairo_save(context);
    cairo_translate(context, i->x, i->y);
    cairo_scale(context, i->width / im->width, i->height / im->height);
    cairo_set_source_surface(context, to, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(context), i->smooth ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(context), CAIRO_EXTEND_PAD);
    cairo_rectangle(context, 0, 0, im->width, im->height);
    cairo_fill(context);
    cairo_restore(context);
    cairo_surface_destroy(to);
    return s;
}

static cairo_status_t take_bytes(void *context, const unsigned char *bytes, unsigned count)
{
    hd_text_file *out = context;
    hd_text_add(&out->text, (const char *)bytes, count);
    hd_text_file_settle(out);
    return hd_text_file_status(out, NULL) ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

/* Draws with c, which may scale. */
static hd_status draw(cairo_t *c, const hd_drawing *d, const char *what, hd_err *err)
{
    hd_status s = d->draw(d, &(hd_canvas){width, rect, text, line, image, c, false, NULL}, err);
    return s ? s : status_of(cairo_status(c), what, err);
}

/* Lays the picture out on a surface of no size, with metrics that do not depend on how large it is drawn. */
static hd_status lay_out(hd_drawing *d, hd_err *err)
{
    cairo_surface_t *nothing = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
    cairo_t *c = cairo_create(nothing);
    d->lay_out(d, &(hd_canvas){width, rect, text, line, image, c, false, NULL});
    hd_status s = status_of(cairo_status(c), "picture", err);
    cairo_destroy(c);
    cairo_surface_destroy(nothing);
    return s;
}

static hd_status paint(hd_text_file *out, const hd_drawing *d, hd_err *err)
{
    double scale = d->width * d->height * sharp * sharp <= most_sharp * sharp ? sharp : 1;
    if (d->width * scale > widest || d->height * scale > widest)
        return hd_err_set(err, HD_ELIMIT,
                          "a picture of %.0f x %.0f is too large for PNG; .pdf, .svg and .html have no limit",
                          d->width, d->height);
    cairo_surface_t *image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(d->width * scale), (int)(d->height * scale));
    cairo_t *c = cairo_create(image);
    cairo_scale(c, scale, scale);
    hd_status s = draw(c, d, "PNG", err);
    if (!s) {
        cairo_status_t written = cairo_surface_write_to_png_stream(image, take_bytes, out);
        s = hd_text_file_status(out, err);
        if (!s) s = status_of(written, "PNG", err);
    }
    cairo_destroy(c);
    cairo_surface_destroy(image);
    return s;
}

hd_status hd_drawing_png(hd_text_file *out, hd_drawing *d, hd_err *err)
{
    hd_status s = lay_out(d, err);
    return s ? s : paint(out, d, err);
}

struct hd_pdf {
    cairo_surface_t *surface;
    hd_text_file *out;
};

hd_status hd_pdf_new(hd_pdf **pdf, hd_text_file *out, const char *title, hd_err *err)
{
    hd_pdf *p = hd_mem_zero(sizeof *p);
    if (!p) return hd_err_nomem(err, sizeof *p);
    p->out = out;
    p->surface = cairo_pdf_surface_create_for_stream(take_bytes, out, 1, 1);
    cairo_pdf_surface_restrict_to_version(p->surface,
                                          CAIRO_PDF_VERSION_1_4); /* readable by all, pages can be counted */
    cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_TITLE, title);
    cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_CREATOR, "heed");
    /* any fixed day: the same drawing gives the same bytes */
    cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
    hd_status s = status_of(cairo_surface_status(p->surface), "PDF", err);
    if (s)
        hd_pdf_free(p);
    else
        *pdf = p;
    return s;
}

hd_status hd_pdf_add(hd_pdf *pdf, hd_drawing *d, hd_err *err)
{
    hd_status s = lay_out(d, err);
    if (s) return s;
    cairo_pdf_surface_set_size(pdf->surface, d->width * points, d->height * points);
    cairo_t *c = cairo_create(pdf->surface);
    cairo_scale(c, points, points);
    s = draw(c, d, "PDF", err);
    cairo_show_page(c);
    if (!s) s = hd_text_file_status(pdf->out, err);
    if (!s) s = status_of(cairo_status(c), "PDF", err);
    cairo_destroy(c);
    return s;
}

hd_status hd_pdf_end(hd_pdf *pdf, hd_err *err)
{
    cairo_surface_finish(pdf->surface);
    hd_status s = hd_text_file_status(pdf->out, err);
    return s ? s : status_of(cairo_surface_status(pdf->surface), "PDF", err);
}

void hd_pdf_free(hd_pdf *pdf)
{
    if (!pdf) return;
    cairo_surface_destroy(pdf->surface);
    hd_mem_free(pdf);
}

bool hd_drawing_shapes(void)
{
    return hd_letters_shaped;
}

const char *const hd_drawing_missing = NULL;
