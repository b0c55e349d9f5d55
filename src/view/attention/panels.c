/* The panels of attention over a picture: which rows of which layers and heads they show, and their drawing.
 */
#include "view/attention/panels.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "view/attention/picture.h"
#include "view/attention/track.h"
#include "view/picture/boxes.h"
#include "view/picture/lit.h"
#include "view/plot.h"

static const double wanted = 176; /* pixels on the longer side of a panel */
enum { WIDEST = 6, SHARP = 2 };   /* panels side by side; pixels drawn for one */

static hd_attention_kind kind_of(const hd_attention_maps *a, const hd_attention_pick *p)
{
    if (p->kind) return (hd_attention_kind)(p->kind - 1);
    return a->targets ? HD_ATTENTION_CROSS : HD_ATTENTION_ENCODER;
}

bool hd_attention_pictured(const hd_attention_maps *a, const hd_attention_pick *pick)
{
    return a->scene.image.pixel && !(a->scene.seconds > 0) && kind_of(a, pick) != HD_ATTENTION_DECODER;
}

void hd_attention_panels_release(hd_attention_panels *p)
{
    hd_arena_release(&p->memory);
    *p = (hd_attention_panels){0};
}

/* -- weights -- */

/* A further panel, all 0. */
static hd_attention_panel *panel_add(hd_attention_panels *p, const char *name, hd_err *err)
{
    const hd_attention_scene *s = &p->maps->scene;
    hd_attention_panel *one = &p->panel[p->count++];
    one->weight = hd_arena_array(&p->memory, s->height * s->width, sizeof *one->weight, err);
    one->name = hd_arena_copy(&p->memory, name, strlen(name), err);
    return one->weight && one->name ? one : NULL;
}

static void panel_most(const hd_attention_scene *s, hd_attention_panel *one)
{
    for (size_t i = 0; i < s->height * s->width; i++) one->most = fmax(one->most, (double)one->weight[i]);
}

/* += share * the cells of a row of a matrix. */
static void panel_row(const hd_attention_scene *s, hd_attention_panel *one, const float *row, double share)
{
    for (size_t i = 0; i < s->height * s->width; i++)
        one->weight[i] += (float)(share * (double)row[s->lead + i]);
}

/* The row of the class token; without one, the mean of all rows. */
static void panel_reader(const hd_attention_scene *s, hd_attention_panel *one, const float *matrix, size_t n,
                         double share)
{
    for (size_t i = 0; i < (s->lead ? 1 : n); i++)
        panel_row(s, one, matrix + i * n, share / (s->lead ? 1 : (double)n));
}

static hd_status reader_panel(hd_attention_panels *p, size_t layer, size_t head, const char *name,
                              hd_err *err)
{
    const hd_attention_part *e = &p->maps->part[HD_ATTENTION_ENCODER];
    const hd_attention_scene *s = &p->maps->scene;
    hd_attention_panel *one = panel_add(p, name, err);
    if (!one) return HD_ENOMEM;
    for (size_t h = 0; h < e->heads; h++)
        if (!head || head == h + 1)
            panel_reader(s, one, hd_attention_at(e, layer, h), e->cols, head ? 1 : 1 / (double)e->heads);
    panel_most(s, one);
    return HD_OK;
}

static hd_status rollout_panel(hd_attention_panels *p, hd_err *err)
{
    const hd_attention_part *e = &p->maps->part[HD_ATTENTION_ENCODER];
    const hd_attention_scene *s = &p->maps->scene;
    float *flow = NULL;
    hd_attention_panel *one = panel_add(p, "rollout", err);
    hd_status status = one ? hd_attention_rollout(&flow, e, err) : HD_ENOMEM;
    if (!status) panel_reader(s, one, flow, e->cols, 1), panel_most(s, one);
    hd_mem_free(flow);
    return status;
}

/* What the class token reads: layer by layer and through all of them, or the heads of one layer. */
static hd_status encoder_panels(hd_attention_panels *p, const hd_attention_pick *pick, hd_err *err)
{
    const hd_attention_part *e = &p->maps->part[HD_ATTENTION_ENCODER];
    char name[48];
    hd_status s = HD_OK;
    snprintf(p->title, sizeof p->title, "%s the %s",
             p->maps->scene.lead ? "where the class token looks in" : "where the cells look, on average, in",
             hd_attention_title(HD_ATTENTION_ENCODER));
    if (pick->layer && !pick->head)
        for (size_t h = 0; !s && h <= e->heads; h++) {
            if (h < e->heads)
                snprintf(name, sizeof name, "layer %d, head %zu", pick->layer, h + 1);
            else
                snprintf(name, sizeof name, "layer %d, mean", pick->layer);
            s = reader_panel(p, (size_t)pick->layer - 1, h < e->heads ? h + 1 : 0, name, err);
        }
    else
        for (size_t l = 0; !s && l < e->layers; l++) {
            if (pick->layer && (size_t)pick->layer != l + 1) continue;
            if (pick->head)
                snprintf(name, sizeof name, "layer %zu, head %d", l + 1, pick->head);
            else
                snprintf(name, sizeof name, "layer %zu", l + 1);
            s = reader_panel(p, l, (size_t)pick->head, name, err);
        }
    return s || pick->layer || pick->head ? s : rollout_panel(p, err);
}

/* A word without the mark of its beginning. */
static const char *plain(const char *piece)
{
    static const char mark[] = "▁";
    size_t n = strlen(mark);
    return !strncmp(piece, mark, n) && piece[n] ? piece + n : piece;
}

/* One for each word, or for each object. */
static hd_status cross_panels(hd_attention_panels *p, const hd_attention_pick *pick, hd_err *err)
{
    const hd_attention_maps *a = p->maps;
    hd_attention_map m;
    hd_status s = hd_attention_map_of(&m, a, pick, err);
    if (s) return s;
    hd_attention_map_title(&m, p->title, sizeof p->title);
    for (size_t i = 0; !s && i < m.rows; i++) {
        hd_attention_panel *one = panel_add(p, plain(m.row[i].piece), err);
        if (!one) s = HD_ENOMEM;
        if (one) panel_row(&a->scene, one, m.weight + i * m.cols, 1), panel_most(&a->scene, one);
        if (one && a->scene.box) one->box = a->scene.box + 4 * i;
    }
    hd_attention_map_release(&m);
    return s;
}

hd_status hd_attention_panels_of(hd_attention_panels *out, const hd_attention_maps *a,
                                 const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_panels p = {.maps = a};
    hd_attention_kind k = kind_of(a, pick);
    const hd_attention_part *part = &a->part[k];
    hd_status s = hd_attention_pick_check(pick, k, part->layers, part->heads, err);
    if (s) return s;
    hd_arena_init(&p.memory, hd_allocator_host, 1 << 14);
    size_t most = k == HD_ATTENTION_CROSS ? part->rows : part->layers + part->heads + 2;
    p.panel = hd_arena_array(&p.memory, most, sizeof *p.panel, err);
    s = !p.panel ? HD_ENOMEM : (k == HD_ATTENTION_CROSS ? cross_panels : encoder_panels)(&p, pick, err);
    p.title[0] = (char)toupper((unsigned char)p.title[0]);
    size_t used = strlen(p.title);
    snprintf(p.title + used, sizeof p.title - used, "; spread evenly, a cell has %.2g",
             1 / (double)(a->scene.height * a->scene.width));
    if (s) hd_attention_panels_release(&p);
    *out = p;
    return s;
}

/* -- drawing -- */

static const double text_line = HD_PLOT_SMALL + HD_PLOT_GAP, gap = 10;

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_attention_panels *p = d->context;
    const hd_image *im = &p->maps->scene.image;
    double scale = wanted / fmax(im->width, im->height), all = (double)p->count + 1;
    p->across = round(im->width * scale), p->down = round(im->height * scale);
    p->columns = all < WIDEST ? (size_t)all : (size_t)fmin(WIDEST, ceil(sqrt(all * 1.6)));
    double rows = ceil(all / (double)p->columns), title = c->width(c->context, p->title, HD_PLOT_LARGE, true);
    d->width =
        2 * HD_PLOT_MARGIN + fmax((double)p->columns * (fmax(p->across, 90) + gap) - gap, fmax(title, 300));
    d->height = 2 * HD_PLOT_MARGIN + HD_PLOT_LARGE + (p->maps->translation ? 2 : 1) * text_line +
                rows * (p->down + 2 * text_line + gap);
    d->title = p->title;
}

static const char *file_name(const hd_attention_scene *s)
{
    const char *slash = s->name ? strrchr(s->name, '/') : NULL;
    return slash ? slash + 1 : s->name ? s->name : "picture";
}

static hd_status draw_panel(const hd_attention_panels *p, const hd_canvas *c, size_t i, hd_err *err)
{
    const hd_attention_scene *scene = &p->maps->scene;
    const hd_attention_panel *one = i ? &p->panel[i - 1] : NULL;
    const double x = HD_PLOT_MARGIN + (double)(i % p->columns) * (fmax(p->across, 90) + gap),
                 y = HD_PLOT_MARGIN + HD_PLOT_LARGE + (p->maps->translation ? 2 : 1) * text_line +
                     (double)(i / p->columns) * (p->down + 2 * text_line + gap) + text_line;
    hd_image lit = {0};
    char name[HD_LABEL], most[32];
    hd_status s = HD_OK;
    if (one)
        s = hd_picture_lit(&lit, &scene->image,
                           &(hd_lit_opt){one->weight, scene->height, scene->width, one->most},
                           (int)(fmax(p->across, p->down) * SHARP), err);
    if (!s)
        s = c->image(c->context,
                     &(hd_canvas_image){x, y, p->across, p->down, one ? &lit : &scene->image, true}, err);
    hd_image_release(&lit);
    if (s) return s;
    for (size_t k = 0; scene->box && k < p->count; k++) {
        const float *b = p->panel[k].box;
        if (b && (!one || one == &p->panel[k]))
            hd_boxes_put(c,
                         &(hd_drawn_box){(double)b[0], (double)b[1] * p->down / p->across, (double)b[2],
                                         (double)b[3] * p->down / p->across, NULL, NAN, k},
                         1, x, y, p->across);
    }
    hd_plot_label(c, one ? one->name : file_name(scene), HD_PLOT_LETTERS, fmax(p->across, 90), name);
    hd_plot_write(c, (hd_canvas_text){.x = x,
                                      .y = y - HD_PLOT_GAP / 2,
                                      .size = HD_PLOT_LETTERS,
                                      .color = hd_plot_ink,
                                      .bold = one,
                                      .text = name});
    snprintf(most, sizeof most, "largest weight %.2g", one ? one->most : 0);
    if (one)
        hd_plot_write(c, (hd_canvas_text){.x = x,
                                          .y = y + p->down + HD_PLOT_SMALL + 2,
                                          .size = HD_PLOT_SMALL,
                                          .color = hd_plot_faint,
                                          .text = most});
    return HD_OK;
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_attention_panels *p = d->context;
    char said[HD_LABEL];
    hd_status s = HD_OK;
    if (p->maps->translation)
        hd_plot_label(c, p->maps->translation, HD_PLOT_LARGE, d->width - 2 * HD_PLOT_MARGIN, said);
    hd_plot_begin(d, c, p->maps->translation ? said : p->title);
    if (p->maps->translation)
        hd_plot_write(c, (hd_canvas_text){.x = HD_PLOT_MARGIN,
                                          .y = HD_PLOT_MARGIN + HD_PLOT_LARGE + text_line,
                                          .size = HD_PLOT_LETTERS,
                                          .color = hd_plot_faint,
                                          .text = p->title});
    for (size_t i = 0; !s && i <= p->count; i++) s = draw_panel(p, c, i, err);
    return s;
}

hd_drawing hd_attention_panels_drawing(hd_attention_panels *p)
{
    return (hd_drawing){.lay_out = lay_out, .draw = draw, .context = p};
}

hd_status hd_attention_draw(const hd_attention_maps *a, const hd_attention_pick *pick,
                            hd_attention_write *write, void *context, hd_err *err)
{
    hd_status s;
    if (hd_attention_pictured(a, pick)) {
        hd_attention_panels p;
        s = hd_attention_panels_of(&p, a, pick, err);
        hd_drawing d = hd_attention_panels_drawing(&p);
        if (!s) s = write(context, &d, err), hd_attention_panels_release(&p);
    } else if (hd_attention_tracked(a, pick)) {
        hd_attention_track t;
        s = hd_attention_track_of(&t, a, pick, err);
        hd_drawing d = hd_attention_track_drawing(&t);
        if (!s) s = write(context, &d, err), hd_attention_track_release(&t);
    } else {
        hd_attention_map map = {0};
        hd_attention_picture p;
        s = hd_attention_map_of(&map, a, pick, err);
        hd_drawing d = hd_attention_drawing(&p, &map);
        if (!s) s = write(context, &d, err);
        hd_attention_map_release(&map);
    }
    return s;
}
