/* A paper as a file. A picture shows its figures one below the other; of a PDF each has a page. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "view/paper/paper.h"
#include "view/plot.h"

/* -- figures one below the other -- */

typedef struct column {
    hd_paper *paper;
    const hd_canvas *canvas;
    double down; /* where the figure that is drawn begins */
} column;

static double width(void *context, const char *text, double size, bool bold)
{
    const column *k = context;
    return k->canvas->width(k->canvas->context, text, size, bold);
}

static void rect(void *context, const hd_canvas_rect *r)
{
    const column *k = context;
    hd_canvas_rect moved = *r;
    moved.y += k->down;
    k->canvas->rect(k->canvas->context, &moved);
}

static void text(void *context, const hd_canvas_text *t)
{
    const column *k = context;
    hd_canvas_text moved = *t;
    moved.y += k->down;
    k->canvas->text(k->canvas->context, &moved);
}

static void line(void *context, const hd_canvas_line *l)
{
    const column *k = context;
    hd_canvas_line moved = *l;
    moved.y += k->down, moved.to_y += k->down;
    k->canvas->line(k->canvas->context, &moved);
}

static hd_status image(void *context, const hd_canvas_image *i, hd_err *err)
{
    const column *k = context;
    hd_canvas_image moved = *i;
    moved.y += k->down;
    return k->canvas->image(k->canvas->context, &moved, err);
}

static void frame(void *context, size_t i, size_t of)
{
    const column *k = context;
    k->canvas->frame(k->canvas->context, i, of);
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    const column *k = d->context;
    d->width = d->height = 0;
    for (size_t i = 0; i < k->paper->parts; i++) {
        hd_drawing one;
        if (!hd_paper_drawing(k->paper->part[i], &one)) continue;
        one.lay_out(&one, c);
        d->width = fmax(d->width, one.width), d->height += one.height;
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    column *k = d->context;
    const hd_canvas moved = {width, rect, text, line, image, k, c->tips, c->frame ? frame : NULL};
    hd_status s = HD_OK;
    k->canvas = c, k->down = 0;
    for (size_t i = 0; !s && i < k->paper->parts; i++) {
        hd_drawing one;
        if (!hd_paper_drawing(k->paper->part[i], &one)) continue;
        one.lay_out(&one, &moved);
        one.width = d->width; /* paper to the edge */
        s = one.draw(&one, &moved, err);
        k->down += one.height;
    }
    return s;
}

/* -- files -- */

static bool ends(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcasecmp(path + n - m, ending);
}

static bool is_page(const char *path)
{
    return ends(path, ".html") || ends(path, ".json");
}

hd_status hd_paper_check(const char *path, hd_err *err)
{
    hd_save *save = NULL;
    if (!is_page(path) && !ends(path, ".svg") && !ends(path, ".png") && !ends(path, ".pdf"))
        return hd_err_set(err, HD_EARG, "%s: a paper's file must end in .html, .json, .svg, .png or .pdf",
                          path);
    if (!is_page(path)) return hd_plot_check(path, err);
    hd_status s = hd_save_open(&save, path, err);
    hd_save_abandon(save);
    return s;
}

hd_status hd_paper_save(const char *path, hd_paper *r, hd_err *err)
{
    column k = {.paper = r};
    hd_drawing d = {.lay_out = lay_out, .draw = draw, .context = &k, .title = r->title};
    hd_text out = {0};
    if (!is_page(path)) return hd_plot_save(path, &d, err);
    hd_status s = HD_OK;
    if (ends(path, ".json"))
        hd_paper_json(&out, r);
    else
        s = hd_paper_html(&out, r, NULL, err);
    if (!s) s = hd_text_status(&out, err);
    if (!s) s = hd_save_bytes(path, out.data, out.size, err);
    hd_text_release(&out);
    return s;
}
