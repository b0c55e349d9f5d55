/* Importance of heads. A cell's color is how much worse (blue) or better (orange) the model is without the
   head, in relation to the largest difference; the root of that, so that a head of a tenth is still seen. */
#include "view/importance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/draw/json_members.h"
#include "view/draw/markup.h"
#include "view/draw/table.h"
#include "view/plot.h"

/* Without the sign of what rounds to 0. */
static double rounded(const hd_importance *i, double difference)
{
    return fabs(difference) < (i->bleu ? 0.005 : 0.00005) ? 0 : difference;
}

/* -- text -- */

static bool graded(const hd_importance *i)
{
    return i->count && !isnan(i->head[0].gradient);
}

void hd_importance_text(hd_text *to, const hd_importance *i)
{
    hd_table t = {.columns = graded(i) ? 4 : 3, .left = 1};
    char name[HD_HEAD_NAME], number[HD_DECIMAL];
    hd_table_add(&t, "head");
    hd_table_add(&t, i->bleu ? "BLEU without" : "loss without");
    hd_table_add(&t, "difference");
    if (graded(i)) hd_table_add(&t, "gradient");
    for (size_t k = 0; k < i->count; k++) {
        const hd_head_importance *h = &i->head[k];
        hd_table_add(&t, hd_head_name(h->layer, h->head, name));
        hd_table_add(&t, hd_decimal(number, i->bleu ? "%.2f" : "%.4f", h->without));
        hd_table_add(&t, hd_decimal(number, i->bleu ? "%+.2f" : "%+.4f", rounded(i, h->difference)));
        if (graded(i)) hd_table_add(&t, hd_decimal(number, "%.4f", h->gradient));
    }
    hd_table_write(to, &t);
    if (i->bleu)
        hd_text_print(to, "all heads: BLEU %s", hd_decimal(number, "%.2f", i->all));
    else
        hd_text_print(to, "all heads: loss %s nats a token", hd_decimal(number, "%.4f", i->all));
    if (graded(i))
        hd_text_print(to, "; rank correlation of gradients and differences %s",
                      hd_decimal(number, "%.3f", i->correlation));
    hd_text_put(to, "\n");
}

/* -- JSON -- */

void hd_importance_json(hd_text *to, const hd_importance *i)
{
    char name[HD_HEAD_NAME];
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "metric", i->bleu ? "bleu" : "loss");
    hd_member_number(to, "all", i->all, 9);
    if (!isnan(i->tokens)) hd_member_number(to, "token_count", i->tokens, 15);
    if (graded(i)) hd_member_number(to, "correlation", i->correlation, 9);
    hd_member_number(to, "seconds", i->seconds, 6);
    hd_member_begin(to, "heads", '[');
    for (size_t k = 0; k < i->count; k++) {
        const hd_head_importance *h = &i->head[k];
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "head", hd_head_name(h->layer, h->head, name));
        hd_member_text(to, "kind", hd_attention_name((hd_attention_kind)h->layer->kind));
        hd_member_number(to, "without", h->without, 9);
        hd_member_number(to, "difference", h->difference, 9);
        if (graded(i)) hd_member_number(to, "gradient", h->gradient, 9);
        if (graded(i)) hd_member_number(to, "slope", h->slope, 9);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "]}\n");
}

/* -- a picture -- */

typedef struct block { /* one kind of attention */
    size_t layers, heads;
    double left, width; /* laid out */
    const char *title;
} block;

typedef struct picture {
    const hd_importance *of;
    block kind[HD_ATTENTION_KINDS];
    double top, cell, names, largest;
    char caption[128];
} picture;

enum { HIGH = 26, BETWEEN = 28 }; /* pixels: of a cell; between blocks */

static const char title[] = "Importance of attention heads", layer_name[] = "layer 00";

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    picture *p = d->context;
    double x = HD_PLOT_MARGIN, tall = 0;
    p->cell = ceil(c->width(c->context, "-0.0000", HD_PLOT_SMALL, false)) + HD_PLOT_GAP;
    p->names = ceil(c->width(c->context, layer_name, HD_PLOT_SMALL, false)) + HD_PLOT_GAP;
    p->top = HD_PLOT_MARGIN + HD_PLOT_LARGE + 3 * HD_PLOT_GAP + HD_PLOT_LETTERS + HD_PLOT_SMALL + HD_PLOT_GAP;
    for (int k = 0; k < HD_ATTENTION_KINDS; k++) {
        block *b = &p->kind[k];
        if (!b->layers) continue;
        b->left = x + p->names;
        b->width = fmax((double)b->heads * p->cell, c->width(c->context, b->title, HD_PLOT_LETTERS, true));
        x = b->left + b->width + BETWEEN;
        tall = fmax(tall, (double)b->layers * HIGH);
    }
    d->title = title;
    double wide =
        fmax(x - BETWEEN, HD_PLOT_MARGIN + fmax(c->width(c->context, title, HD_PLOT_LARGE, true),
                                                c->width(c->context, p->caption, HD_PLOT_SMALL, false)));
    d->width = ceil(wide + HD_PLOT_MARGIN);
    d->height = ceil(p->top + tall + 2 * HD_PLOT_GAP + HD_PLOT_SMALL + HD_PLOT_MARGIN);
}

static hd_color shade_of(double share)
{
    const hd_color full = hd_plot_color(share > 0 ? 0 : 1);
    double s = sqrt(fmin(fabs(share), 1)) * 0.85; /* numbers must be read on it */
    return (hd_color){(uint8_t)(255 - s * (255 - full.red)), (uint8_t)(255 - s * (255 - full.green)),
                      (uint8_t)(255 - s * (255 - full.blue))};
}

static void draw_cell(const picture *p, const hd_canvas *c, const hd_head_importance *h)
{
    const block *b = &p->kind[h->layer->kind];
    double x = b->left + (double)h->head * p->cell, y = p->top + (double)h->layer->number * HIGH;
    double worse = p->of->bleu ? -h->difference : h->difference;
    char number[HD_DECIMAL], name[HD_HEAD_NAME], tip[HD_HEAD_NAME + 64];
    snprintf(tip, sizeof tip, "%s: %.4f without it", hd_head_name(h->layer, h->head, name), h->without);
    c->rect(c->context,
            &(hd_canvas_rect){x, y, p->cell - 1, HIGH - 1, shade_of(p->largest > 0 ? worse / p->largest : 0),
                              c->tips ? tip : NULL});
    hd_plot_write(c, (hd_canvas_text){.x = x + (p->cell - 1) / 2,
                                      .y = y + HIGH / 2.0 + HD_PLOT_SMALL * 0.36,
                                      .size = HD_PLOT_SMALL,
                                      .anchor = HD_ANCHOR_MIDDLE,
                                      .color = hd_plot_ink,
                                      .text = hd_decimal(number, p->of->bleu ? "%.2f" : "%.4f",
                                                         rounded(p->of, h->difference))});
}

/* The title of a block, numbers of its heads and of its layers: from 0, as the names count. */
static void draw_names(const picture *p, const hd_canvas *c, const block *b)
{
    char text[32];
    hd_canvas_text t = {.x = b->left, .size = HD_PLOT_LETTERS, .color = hd_plot_ink, .bold = true};
    t.y = p->top - 2 * HD_PLOT_GAP - HD_PLOT_SMALL, t.text = b->title;
    hd_plot_write(c, t);
    t.bold = false, t.size = HD_PLOT_SMALL, t.color = hd_plot_faint, t.text = text;
    t.y = p->top - HD_PLOT_GAP, t.anchor = HD_ANCHOR_MIDDLE;
    for (size_t h = 0; h < b->heads; h++) {
        snprintf(text, sizeof text, "head %zu", h);
        t.x = b->left + ((double)h + 0.5) * p->cell;
        hd_plot_write(c, t);
    }
    t.x = b->left - HD_PLOT_GAP, t.anchor = HD_ANCHOR_END;
    for (size_t l = 0; l < b->layers; l++) {
        snprintf(text, sizeof text, "layer %zu", l);
        t.y = p->top + ((double)l + 0.5) * HIGH + HD_PLOT_SMALL * 0.36;
        hd_plot_write(c, t);
    }
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const picture *p = d->context;
    (void)err;
    hd_plot_begin(d, c, title);
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        if (p->kind[k].layers) draw_names(p, c, &p->kind[k]);
    for (size_t i = 0; i < p->of->count; i++) draw_cell(p, c, &p->of->head[i]);
    hd_plot_write(c, (hd_canvas_text){.x = HD_PLOT_MARGIN,
                                      .y = d->height - HD_PLOT_MARGIN,
                                      .size = HD_PLOT_SMALL,
                                      .color = hd_plot_faint,
                                      .text = p->caption});
    return HD_OK;
}

hd_status hd_importance_save(const char *path, const hd_importance *i, hd_err *err)
{
    picture p = {.of = i};
    hd_drawing d = {.lay_out = lay_out, .draw = draw, .context = &p};
    char number[HD_DECIMAL];
    for (size_t k = 0; k < i->count; k++) {
        const hd_head_importance *h = &i->head[k];
        block *b = &p.kind[h->layer->kind];
        b->layers = h->layer->number >= b->layers ? h->layer->number + 1 : b->layers;
        b->heads = h->layer->heads > b->heads ? h->layer->heads : b->heads;
        b->title = hd_attention_title((hd_attention_kind)h->layer->kind);
        p.largest = fmax(p.largest, fabs(h->difference));
    }
    hd_decimal(number, i->bleu ? "%.2f" : "%.4f", i->all);
    if (i->bleu)
        snprintf(p.caption, sizeof p.caption, "BLEU without the head minus %s with all", number);
    else
        snprintf(p.caption, sizeof p.caption, "loss without the head minus %s nats a token with all", number);
    snprintf(p.caption + strlen(p.caption), sizeof p.caption - strlen(p.caption),
             "; blue: worse without it, orange: better");
    return hd_plot_save(path, &d, err);
}
