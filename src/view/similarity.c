/* A matrix of cosines, as text and as a picture. A cell's color is its cosine: white is 0 or less, blue is
   1. */
#include "view/similarity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/plot.h"
#include "view/draw/markup.h"

/* -- contexts -- */

enum { AROUND = 24 /* characters on either side of the word */ };

static bool inside(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* "... a red [apple] with ...", into buf. A line is valid UTF-8. */
static const char *context_of(char buf[HD_LABEL], const hd_place *p, const hd_label_opt *o)
{
    size_t from = p->begin, to = p->end, size = strlen(p->text);
    const char *more = o->ascii ? "..." : "…";
    char word[HD_LABEL], raw[4 * HD_LABEL];
    for (int i = 0; i < AROUND && from; i++) do
            from--;
        while (from && inside(p->text, from));
    for (int i = 0; i < AROUND && to < size; i++) do
            to++;
        while (to < size && inside(p->text, to));
    snprintf(word, sizeof word, "%.*s", (int)(p->end - p->begin), p->text + p->begin);
    word[hd_utf8_good(word, strlen(word))] = 0; /* a long one may have been cut inside a letter */
    snprintf(raw, sizeof raw, "%s%.*s[%s]%.*s%s", from ? more : "", (int)(p->begin - from), p->text + from,
             word, (int)(to - p->end), p->text + p->end, to < size ? more : "");
    return hd_label_of(buf, raw, o);
}

/* -- text -- */

enum { NUMBER = 4, CELL = 6, DIGITS = 2 };

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

void hd_similarity_text(hd_text_pen *p, const hd_similarity_view *v)
{
    const hd_similar *s = v->of;
    const hd_label_opt wide = {columns_of, NULL, HD_LABEL, !p->utf8};
    char buf[HD_LABEL];
    for (size_t i = 0; i < s->count; i++) {
        snprintf(buf, sizeof buf, "%zu", i + 1);
        hd_text_pen_put_to(p, NUMBER, HD_INK_BOLD, buf);
        snprintf(buf, sizeof buf, "  line %zu: ", s->at[i].line);
        hd_text_pen_put(p, HD_INK_DIM, buf);
        hd_text_pen_put(p, HD_INK_PLAIN, context_of(buf, &s->at[i], &wide));
        hd_text_pen_end(p);
    }
    hd_text_pen_end(p);
    for (size_t k = 0; k < s->count; k++) {
        snprintf(buf, sizeof buf, "%zu", k + 1);
        hd_text_pen_put_to(p, NUMBER + (int)(k + 1) * CELL, HD_INK_BOLD, buf);
    }
    hd_text_pen_end(p);
    for (size_t i = 0; i < s->count; i++) {
        snprintf(buf, sizeof buf, "%zu", i + 1);
        hd_text_pen_put_to(p, NUMBER, HD_INK_BOLD, buf);
        for (size_t k = 0; k < s->count; k++)
            hd_text_pen_put_to(p, NUMBER + (int)(k + 1) * CELL, i == k ? HD_INK_DIM : HD_INK_PLAIN,
                               hd_text_pen_number(p, hd_similar_cosine(s, i, k), DIGITS, buf, sizeof buf));
        hd_text_pen_end(p);
    }
}

/* -- JSON -- */

void hd_similarity_json(hd_text *to, const hd_similarity_view *v)
{
    const hd_similar *s = v->of;
    hd_text_put(to, "{\"word\": ");
    hd_markup_json(to, s->word, false);
    hd_text_print(to, ", \"layer\": %d, \"places\": [", v->layer);
    for (size_t i = 0; i < s->count; i++) {
        hd_text_print(to, "%s{\"line\": %zu, \"begin\": %zu, \"end\": %zu, \"text\": ", i ? ", " : "",
                      s->at[i].line, s->at[i].begin, s->at[i].end);
        hd_markup_json(to, s->at[i].text, false);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "], \"cosines\": [");
    for (size_t i = 0; i < s->count; i++) {
        hd_text_put(to, i ? ", [" : "[");
        for (size_t k = 0; k < s->count; k++) {
            if (k) hd_text_put(to, ", ");
            hd_markup_number(to, hd_similar_cosine(s, i, k), 9);
        }
        hd_text_put(to, "]");
    }
    hd_text_put(to, "]}\n");
}

/* -- a picture -- */

static const double longest_label = 300;

static double label_at(const hd_similarity_view *v, const hd_canvas *c, size_t i, char buf[HD_LABEL])
{
    char context[HD_LABEL];
    const hd_label_opt wide = {columns_of, NULL, HD_LABEL, false};
    context_of(context, &v->of->at[i], &wide);
    return hd_plot_label(c, context, HD_PLOT_LETTERS, longest_label, buf);
}

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_similarity_view *v = d->context;
    char buf[HD_LABEL];
    double names = 0, n = (double)v->of->count;
    for (size_t i = 0; i < v->of->count; i++) names = fmax(names, label_at(v, c, i, buf));
    v->cell = ceil(c->width(c->context, "-0.00", HD_PLOT_SMALL, false)) + HD_PLOT_GAP;
    v->left = HD_PLOT_MARGIN + names + HD_PLOT_GAP;
    v->top = HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * HD_PLOT_GAP;
    d->title = v->title;
    double wide =
        fmax(v->left + n * v->cell, HD_PLOT_MARGIN + c->width(c->context, v->title, HD_PLOT_LARGE, true));
    d->width = ceil(wide + HD_PLOT_MARGIN);
    d->height = ceil(v->top + n * v->cell + HD_PLOT_MARGIN);
}

static hd_color shade_of(double cosine)
{
    const hd_color full = hd_plot_color(0);
    double share = fmin(fmax(cosine, 0), 1);
    return (hd_color){(uint8_t)(255 - share * (255 - full.red)), (uint8_t)(255 - share * (255 - full.green)),
                      (uint8_t)(255 - share * (255 - full.blue))};
}

static void draw_row(const hd_similarity_view *v, const hd_canvas *c, size_t i)
{
    char buf[HD_LABEL];
    double y = v->top + (double)i * v->cell;
    hd_canvas_text t = {.size = HD_PLOT_LETTERS, .color = hd_plot_ink, .text = buf};
    label_at(v, c, i, buf);
    t.x = v->left - HD_PLOT_GAP, t.y = y + v->cell / 2 + HD_PLOT_LETTERS * 0.36, t.anchor = HD_ANCHOR_END;
    hd_plot_write(c, t);
    t.size = HD_PLOT_SMALL, t.y = y + v->cell / 2 + HD_PLOT_SMALL * 0.36, t.anchor = HD_ANCHOR_MIDDLE;
    for (size_t k = 0; k < v->of->count; k++) {
        double cosine = hd_similar_cosine(v->of, i, k), x = v->left + (double)k * v->cell;
        char number[HD_DECIMAL];
        c->rect(c->context, &(hd_canvas_rect){x, y, v->cell - 1, v->cell - 1, shade_of(cosine), NULL});
        t.x = x + (v->cell - 1) / 2, t.text = hd_decimal(number, "%.2f", fabs(cosine) < 0.005 ? 0 : cosine);
        hd_plot_write(c, t);
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_similarity_view *v = d->context;
    (void)err;
    hd_plot_begin(d, c, v->title);
    for (size_t i = 0; i < v->of->count; i++) draw_row(v, c, i);
    return HD_OK;
}

hd_status hd_similarity_save(const char *path, hd_similarity_view *v, hd_err *err)
{
    hd_drawing d = {.lay_out = lay_out, .draw = draw, .context = v};
    return hd_plot_save(path, &d, err);
}
