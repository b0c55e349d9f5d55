/* Drawings as SVG, without a library. Widths of texts are those of DejaVu Sans; whoever shows the picture
   with another font finds them close enough. */
#include "view/draw/drawing.h"

#include <utf8proc.h>

#include "view/draw/markup.h"

enum { DIGITS = 6 };

static const char family[] = "DejaVu Sans,Verdana,Noto Sans,Noto Sans CJK SC,sans-serif";

/* Thousandths of the size, from the blank on. */
static const short advance[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};

static double width(void *context, const char *text, double size, bool bold)
{
    (void)context;
    double sum = 0;
    for (const uint8_t *at = (const uint8_t *)text; *at;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t used = utf8proc_iterate(at, -1, &point);
        if (used <= 0) used = 1, point = 0xFFFD;
        at += used;
        int columns = utf8proc_charwidth(point);
        sum += point >= ' ' && point < 127 ? advance[point - ' '] : columns == 2 ? 1000 : columns * 700;
    }
    return sum * size / 1000 * (bold ? 1.12 : 1);
}

static void number(hd_text *to, const char *name, double v)
{
    hd_text_print(to, " %s=\"", name);
    hd_markup_number(to, v, DIGITS);
    hd_text_put(to, "\"");
}

static void finish(hd_text *to, const char *element, const char *text, const char *tip)
{
    if (!text && !tip) {
        hd_text_put(to, "/>\n");
        return;
    }
    hd_text_put(to, ">");
    if (tip) {
        hd_text_put(to, "<title>");
        hd_markup_xml(to, tip);
        hd_text_put(to, "</title>");
    }
    if (text) hd_markup_xml(to, text);
    hd_text_print(to, "</%s>\n", element);
}

static void rect(void *context, const hd_canvas_rect *r)
{
    hd_text *to = context;
    hd_text_put(to, "<rect");
    number(to, "x", r->x);
    number(to, "y", r->y);
    number(to, "width", r->width);
    number(to, "height", r->height);
    hd_text_print(to, " fill=\"#%02x%02x%02x\"", r->fill.red, r->fill.green, r->fill.blue);
    finish(to, "rect", NULL, r->tip);
}

static void text(void *context, const hd_canvas_text *t)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    hd_text *to = context;
    hd_text_put(to, "<text");
    number(to, "x", t->x);
    number(to, "y", t->y);
    number(to, "font-size", t->size);
    if (t->turned) {
        hd_text_print(to, " transform=\"rotate(-%d ", t->turned);
        hd_markup_number(to, t->x, DIGITS);
        hd_text_put(to, " ");
        hd_markup_number(to, t->y, DIGITS);
        hd_text_put(to, ")\"");
    }
    hd_text_print(to, "%s fill=\"#%02x%02x%02x\"%s", anchors[t->anchor], t->color.red, t->color.green,
                  t->color.blue, t->bold ? " font-weight=\"bold\"" : "");
    finish(to, "text", t->text, t->tip);
}

static void line(void *context, const hd_canvas_line *l)
{
    hd_text *to = context;
    hd_text_put(to, "<line");
    number(to, "x1", l->x);
    number(to, "y1", l->y);
    number(to, "x2", l->to_x);
    number(to, "y2", l->to_y);
    number(to, "stroke-width", l->wide);
    hd_text_print(to, " stroke=\"#%02x%02x%02x\" stroke-linecap=\"round\"", l->color.red, l->color.green,
                  l->color.blue);
    finish(to, "line", NULL, NULL);
}

static hd_status image(void *context, const hd_canvas_image *i, hd_err *err)
{
    hd_text *to = context, png = {0};
    hd_status s = hd_image_encode_png(&png, i->image, err);
    if (!s) {
        hd_text_put(to, "<image");
        number(to, "x", i->x);
        number(to, "y", i->y);
        number(to, "width", i->width);
        number(to, "height", i->height);
        hd_text_print(to, " preserveAspectRatio=\"none\"%s href=\"data:image/png;base64,",
                      i->smooth ? "" : " style=\"image-rendering:pixelated\"");
        hd_text_base64(to, png.data, png.size);
        hd_text_put(to, "\"/>\n");
    }
    hd_text_release(&png);
    return s;
}

/* Each frame is a group that is seen in its turn, the last one for longer. By CSS: whoever wants less motion
   sees the last one alone, which lies on top of the others. */
static void frame(void *context, size_t i, size_t of)
{
    enum { MORE = 4 }; /* turns of the last frame beside its own */
    static const double seconds = 0.6;
    hd_text *to = context;
    const double turns = (double)of + MORE;
    if (i) hd_text_put(to, "</g>\n");
    if (!i) {
        hd_text_print(to, "<style>@keyframes f%zu{0%%{visibility:visible}", of);
        hd_markup_number(to, 100 / turns, DIGITS);
        hd_text_print(to, "%%,100%%{visibility:hidden}}@keyframes l%zu{0%%{visibility:visible}", of);
        hd_markup_number(to, 100 * (1 + MORE) / turns, DIGITS);
        hd_text_put(to, "%,100%{visibility:hidden}}</style>\n");
    }
    if (i == of) return;
    hd_text_print(to, "<g class=\"frame\" style=\"animation:%c%zu ", i + 1 == of ? 'l' : 'f', of);
    hd_markup_number(to, seconds * turns, DIGITS);
    hd_text_put(to, "s step-end infinite;animation-delay:-");
    hd_markup_number(to, seconds * (turns - (double)i), DIGITS);
    hd_text_put(to, "s\">\n");
    if (!i)
        hd_text_put(
            to, "<style>@media(prefers-reduced-motion:reduce){.frame{animation:none!important}}</style>\n");
}

static void head(hd_text *to, const hd_drawing *d)
{
    hd_text_put(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
    number(to, "width", d->width);
    number(to, "height", d->height);
    hd_text_put(to, " viewBox=\"0 0 ");
    hd_markup_number(to, d->width, DIGITS);
    hd_text_put(to, " ");
    hd_markup_number(to, d->height, DIGITS);
    hd_text_print(to, "\" font-family=\"%s\">\n<title>", family);
    hd_markup_xml(to, d->title);
    hd_text_put(to, "</title>\n");
}

hd_status hd_drawing_svg(hd_text_file *out, hd_drawing *d, hd_err *err)
{
    hd_text *to = &out->text;
    const hd_canvas canvas = {width, rect, text, line, image, to, true, frame};
    d->lay_out(d, &canvas);
    head(to, d);
    hd_status s = d->draw(d, &canvas, err);
    hd_text_put(to, "</svg>\n");
    return s ? s : hd_text_file_status(out, err);
}
