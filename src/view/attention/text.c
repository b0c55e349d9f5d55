/* Text of an attention map. Every column is as wide as its token, so that cells are blocks of some width; a
   map with more columns than fit goes on below, in panels. */
#include "view/attention/text.h"

#include <stdio.h>
#include <string.h>

#include "view/attention/panels.h"
#include "view/attention/panels_text.h"
#include "view/attention/picture.h"
#include "view/attention/track.h"
#include "view/draw/label.h"
#include "view/draw/text_pen.h"

enum { LEVELS = 5, NARROWEST = 3, WIDEST = 12, BEHIND_LABEL = 2, BETWEEN = 3, BAR = 16, CELL = 64 };

/* From a fifth of the scale to the next; below the first nothing is shown. */
static const char *const shades[2][LEVELS] = {{" ", ".", ":", "+", "#"}, {" ", "░", "▒", "▓", "█"}};

typedef struct page {
    hd_text_pen pen;
    hd_attention_map map;
    double scale;
    int label; /* width of the rows' labels */
} page;

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

/* A token's label of at most so many columns, into buf; returns its columns. */
static int label_of(const page *g, const char *token, int most, char buf[HD_LABEL])
{
    hd_label_of(buf, token, &(hd_label_opt){columns_of, NULL, most, !g->pen.utf8});
    return hd_text_pen_columns(buf);
}

static int most_label(const page *g)
{
    int quarter = g->pen.width / 4;
    return quarter < WIDEST ? quarter : WIDEST;
}

static int column_width(const page *g, size_t j)
{
    char buf[HD_LABEL];
    int n = label_of(g, g->map.col[j].piece, most_label(g), buf);
    return n < NARROWEST ? NARROWEST : n;
}

/* The column after the last that fits in a panel from column `from` on; at least one does. */
static size_t panel_end(const page *g, size_t from)
{
    int x = g->label + BEHIND_LABEL;
    size_t j = from;
    for (; j < g->map.cols; j++) {
        x += column_width(g, j);
        if (x > g->pen.width && j > from) break;
        x++;
    }
    return j;
}

static int level_of(const page *g, double v, int levels)
{
    int n = v > 0 ? (int)(v / g->scale * levels) : 0;
    return n < levels ? n : levels - 1;
}

/* A cell of n columns: with color its weight in percent on a background, else a block of one shade. */
static hd_ink cell_of(const page *g, double v, int n, char buf[CELL])
{
    if (g->pen.color) {
        char number[16];
        int digits = snprintf(number, sizeof number, "%.0f", v * 100), before = (n - digits + 1) / 2;
        snprintf(buf, CELL, "%*s%s%*s", before, "", number, n - digits - before, "");
        return (hd_ink)(HD_INK_SHADE + level_of(g, v, HD_INK_SHADES));
    }
    const char *shade = shades[g->pen.utf8][level_of(g, v, LEVELS)];
    buf[0] = 0;
    for (int i = 0; *shade != ' ' && i < n; i++) strcat(buf, shade);
    return HD_INK_PLAIN;
}

static void put_row(page *g, size_t i, size_t from, size_t end)
{
    const hd_attention_map *m = &g->map;
    char buf[HD_LABEL], cell[CELL];
    int x = g->label + BEHIND_LABEL;
    label_of(g, m->row[i].piece, g->label, buf);
    hd_text_pen_put_at(&g->pen, 0, HD_INK_PLAIN, buf);
    for (size_t j = from; j < end; j++) {
        int n = column_width(g, j);
        bool masked = m->masked && j > i;
        hd_ink ink = cell_of(g, (double)m->weight[i * m->cols + j], n, cell);
        if (!masked) hd_text_pen_put_at(&g->pen, x, ink, cell);
        x += n + 1;
    }
    hd_text_pen_end(&g->pen);
}

static void put_panel(page *g, size_t from, size_t end)
{
    char buf[HD_LABEL];
    int x = g->label + BEHIND_LABEL;
    hd_text_pen_end(&g->pen);
    for (size_t j = from; j < end; j++) {
        label_of(g, g->map.col[j].piece, most_label(g), buf);
        hd_text_pen_put_at(&g->pen, x, HD_INK_DIM, buf);
        x += column_width(g, j) + 1;
    }
    hd_text_pen_end(&g->pen);
    for (size_t i = 0; i < g->map.rows; i++) put_row(g, i, from, end);
}

/* What the shades stand for; with color the numbers say it. */
static void put_legend(page *g)
{
    char buf[32];
    if (g->pen.color) return;
    hd_text_pen_end(&g->pen);
    for (int i = 1; i < LEVELS; i++) {
        snprintf(buf, sizeof buf, "%s %s%.2g", shades[g->pen.utf8][i], i == 1 ? "from " : "",
                 g->scale * i / LEVELS);
        if (g->pen.at + BETWEEN + hd_text_pen_columns(buf) > g->pen.width) hd_text_pen_end(&g->pen);
        hd_text_pen_put_at(&g->pen, g->pen.at ? g->pen.at + BETWEEN : 0, HD_INK_PLAIN, buf);
    }
    hd_text_pen_end(&g->pen);
}

static void put_unknown(page *g)
{
    if (!g->map.unknown) return;
    hd_text_pen_end(&g->pen);
    hd_text_pen_words(&g->pen, HD_INK_DIM, HD_UNKNOWN_LEGEND);
    hd_text_pen_end(&g->pen);
}

static void put_strongest(page *g)
{
    const hd_attention_map *m = &g->map;
    char buf[HD_LABEL], number[16];
    int widest = 0;
    for (size_t j = 0; j < m->cols; j++) {
        int n = column_width(g, j);
        widest = n > widest ? n : widest;
    }
    hd_text_pen_end(&g->pen);
    for (size_t i = 0; i < m->rows; i++) {
        const float *row = m->weight + i * m->cols;
        size_t best = 0;
        for (size_t j = 1; j < m->cols; j++) best = row[j] > row[best] ? j : best;
        label_of(g, m->row[i].piece, g->label, buf);
        hd_text_pen_put_at(&g->pen, 0, HD_INK_PLAIN, buf);
        hd_text_pen_put_at(&g->pen, g->label + 1, HD_INK_DIM, g->pen.utf8 ? "→" : ">");
        label_of(g, m->col[best].piece, most_label(g), buf);
        hd_text_pen_put_at(&g->pen, g->label + 3, HD_INK_BOLD, buf);
        snprintf(number, sizeof number, "%.2f", (double)row[best]);
        hd_text_pen_put_at(&g->pen, g->label + widest + 4, HD_INK_PLAIN, number);
        int left = g->pen.width - ++g->pen.next;
        hd_text_pen_bar(&g->pen, (double)row[best], left < BAR ? left : BAR);
        hd_text_pen_end(&g->pen);
    }
}

hd_status hd_attention_text(hd_text *to, const hd_attention_maps *a, const hd_attention_look *look,
                            hd_err *err)
{
    page g = {.pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8}};
    char buf[HD_LABEL];
    if (hd_attention_pictured(a, &look->pick)) return hd_attention_panels_text(to, a, look, err);
    if (hd_attention_tracked(a, &look->pick)) return hd_attention_track_text(to, a, look, err);
    hd_status s = hd_attention_map_of(&g.map, a, &look->pick, err);
    if (s) return s;
    g.scale = hd_attention_scale(&g.map);
    for (size_t i = 0; i < g.map.rows; i++) {
        int n = label_of(&g, g.map.row[i].piece, most_label(&g), buf);
        g.label = n > g.label ? n : g.label;
    }
    hd_text_pen_words(&g.pen, HD_INK_BOLD, hd_attention_map_title(&g.map, buf, sizeof buf));
    hd_text_pen_end(&g.pen);
    for (size_t from = 0, end; from < g.map.cols; from = end) put_panel(&g, from, end = panel_end(&g, from));
    put_legend(&g);
    put_strongest(&g);
    put_unknown(&g);
    hd_attention_map_release(&g.map);
    return hd_text_status(to, err);
}
