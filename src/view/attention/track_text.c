/* Attention over time in a terminal: a few lines of spectrogram, then a line for each token; the path of
   attention is marked. Columns of the terminal stand for some times each: the largest weight counts. */
#include <math.h>
#include <stdio.h>

#include "view/attention/track.h"
#include "view/draw/label.h"
#include "view/draw/text_pen.h"

enum { LEVELS = 5, STRIP = 6, WIDEST_NAME = 12, MOST = 160 };

static const char *const shades[2][LEVELS] = {{" ", ".", ":", "+", "#"}, {" ", "░", "▒", "▓", "█"}};
static const char *const marks[2] = {"o", "●"};

typedef struct page {
    hd_text_pen pen;
    hd_attention_track track;
    int label;   /* width of the names */
    size_t wide; /* columns of time */
} page;

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

static int level_of(double share, int levels)
{
    int n = share > 0 ? (int)(share * levels) : 0;
    return n < levels ? n : levels - 1;
}

static void put_share(page *g, size_t column, double share)
{
    hd_ink ink = g->pen.color ? (hd_ink)(HD_INK_SHADE + level_of(share, HD_INK_SHADES)) : HD_INK_PLAIN;
    const char *sign = g->pen.color ? " " : shades[g->pen.utf8][level_of(share, LEVELS)];
    if (g->pen.color || *sign != ' ') hd_text_pen_put_at(&g->pen, g->label + 1 + (int)column, ink, sign);
}

/* How bright the spectrogram is in a cell of the terminal. */
static double brightness(const page *g, size_t line, size_t column)
{
    const hd_image *im = &g->track.maps->scene.image;
    size_t x0 = column * (size_t)im->width / g->wide, x1 = (column + 1) * (size_t)im->width / g->wide,
           y0 = line * (size_t)im->height / STRIP, y1 = (line + 1) * (size_t)im->height / STRIP, count = 0;
    double sum = 0;
    for (size_t y = y0; y <= y1 && y < (size_t)im->height; y++)
        for (size_t x = x0; x <= x1 && x < (size_t)im->width; x++, count++) {
            const uint8_t *p = im->pixel + 3 * (y * (size_t)im->width + x);
            sum += 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
        }
    return count ? sum / (double)count / 255 : 0;
}

static void put_row(page *g, size_t i)
{
    const hd_attention_map *m = &g->track.map;
    char name[HD_LABEL];
    hd_label_of(name, m->row[i].piece, &(hd_label_opt){columns_of, NULL, g->label, !g->pen.utf8});
    hd_text_pen_put_at(&g->pen, 0, HD_INK_PLAIN, name);
    for (size_t j = 0; j < g->wide; j++) {
        size_t first = j * m->cols / g->wide, last = ((j + 1) * m->cols - 1) / g->wide,
               path = g->track.monotone.path[i];
        double most = 0;
        for (size_t t = first; t <= last; t++) most = fmax(most, (double)m->weight[i * m->cols + t]);
        if (path >= first && path <= last)
            hd_text_pen_put_at(&g->pen, g->label + 1 + (int)j, HD_INK_GOOD, marks[g->pen.utf8]);
        else
            put_share(g, j, most / g->track.scale);
    }
    hd_text_pen_end(&g->pen);
}

static void put_time(page *g)
{
    const hd_attention_scene *s = &g->track.maps->scene;
    char begin[32] = "0", end[32];
    if (s->begin > 0) snprintf(begin, sizeof begin, "%.2f s", s->begin);
    snprintf(end, sizeof end, "%.2f s", s->begin + s->seconds);
    hd_text_pen_put_at(&g->pen, g->label + 1, HD_INK_DIM, begin);
    hd_text_pen_put_to(&g->pen, g->label + 1 + (int)g->wide, HD_INK_DIM, end);
    hd_text_pen_end(&g->pen);
}

static void measure(page *g)
{
    const hd_attention_map *m = &g->track.map;
    for (size_t i = 0; i < m->rows; i++) {
        char name[HD_LABEL];
        hd_label_of(name, m->row[i].piece, &(hd_label_opt){columns_of, NULL, WIDEST_NAME, !g->pen.utf8});
        hd_text_pen_widen(&g->label, name);
    }
    int room = g->pen.width - g->label - 1;
    g->wide = room < 10 ? 10 : room > MOST ? MOST : (size_t)room;
    if (g->wide > m->cols) g->wide = g->wide / m->cols * m->cols; /* times of equal width */
}

hd_status hd_attention_track_text(hd_text *to, const hd_attention_maps *a, const hd_attention_look *look,
                                  hd_err *err)
{
    page g = {.pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8}};
    hd_status s = hd_attention_track_of(&g.track, a, &look->pick, err);
    if (s) return s;
    measure(&g);
    hd_text_pen_words(&g.pen, HD_INK_BOLD, g.track.title);
    hd_text_pen_end(&g.pen);
    hd_text_pen_words(&g.pen, HD_INK_DIM, g.track.note);
    hd_text_pen_end(&g.pen);
    for (size_t line = 0; line < STRIP; line++) {
        for (size_t j = 0; j < g.wide; j++) put_share(&g, j, brightness(&g, line, j));
        hd_text_pen_end(&g.pen);
    }
    put_time(&g);
    for (size_t i = 0; i < g.track.map.rows; i++) put_row(&g, i);
    hd_attention_track_release(&g.track);
    return hd_text_status(to, err);
}
