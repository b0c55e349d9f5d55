/* Matrices of the worked example as text: blocks that stand side by side as long as the width allows; a
   block that is too wide by itself continues below with its further columns. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>

#include "view/explain/explain_page.h"

enum { BETWEEN = 3, BEHIND_LABEL = 2, BEFORE_MOMENTS = 2, MOST_BLOCKS = 8 };

/* A matrix as it is laid out. */
typedef struct block {
    const hd_explain_matrix *m, *mean, *sd; /* mean and SD beside it, or NULL */
    const hd_real *value;
    bool turned; /* the vocabulary always runs down */
    int digits;
    size_t rows, own, cols; /* as shown; columns of the matrix, and with mean and SD */
    bool heads;             /* a line above the columns */
    int label_width, cell;  /* columns of a row's label and of a number */
    size_t run;             /* columns of the matrix side by side */
    char title[80], formula[80];
    int width, height;
} block;

static hd_lecture_axis down(const block *b)
{
    return b->turned ? b->m->of->cols : b->m->of->rows;
}
static hd_lecture_axis across(const block *b)
{
    return b->turned ? b->m->of->rows : b->m->of->cols;
}

static double cell_at(const block *b, size_t i, size_t j)
{
    if (j >= b->own) return (double)(j == b->own ? b->mean : b->sd)->value[i];
    return (double)b->value[b->turned ? j * b->m->cols + i : i * b->m->cols + j];
}

/* Channels have no names; where positions run down, their numbers are part of the formula. */
static const char *head_at(const block *b, size_t j, char *buf, size_t size)
{
    if (j >= b->own) return j == b->own ? "mean" : "SD";
    bool named = across(b) != HD_LECTURE_CHANNELS || down(b) == HD_LECTURE_PLACES;
    return named && !hd_lecture_is_vector(b->m->of) ? hd_explain_label(across(b), j, buf, size) : "";
}

static const char *row_label(const block *b, size_t i, char *buf, size_t size)
{
    return down(b) == HD_LECTURE_CHANNELS ? "" : hd_explain_label(down(b), i, buf, size);
}

/* Where column j stands in the block. */
static int place_of(const block *b, size_t j)
{
    int x = b->label_width + (b->label_width ? BEHIND_LABEL : 0) + (int)(j % b->run) * (b->cell + 1);
    return x + (j >= b->own && b->run == b->cols ? BEFORE_MOMENTS : 0);
}

static void measure(const hd_explain_page *g, block *b)
{
    char buf[64];
    for (size_t i = 0; i < b->rows; i++) {
        hd_text_pen_widen(&b->label_width, row_label(b, i, buf, sizeof buf));
        for (size_t j = 0; j < b->cols; j++)
            hd_text_pen_widen(&b->cell,
                              hd_text_pen_number(&g->pen, cell_at(b, i, j), b->digits, buf, sizeof buf));
    }
    for (size_t j = 0; j < b->cols; j++) {
        const char *head = head_at(b, j, buf, sizeof buf);
        b->heads = b->heads || *head;
        hd_text_pen_widen(&b->cell, head);
    }
    b->run = b->cols;
    while (b->run > 1 && place_of(b, b->run - 1) + b->cell > g->look->width) b->run--;
    b->width = place_of(b, b->run - 1) + b->cell;
    hd_text_pen_widen(&b->width, b->title);
    hd_text_pen_widen(&b->width, b->formula);
    int runs = (int)((b->cols + b->run - 1) / b->run);
    b->height = 2 + runs * ((int)b->rows + b->heads + 1) - 1;
}

/* The cell of the largest magnitude, by name: "[how, 2]". */
static void name_largest(const hd_explain_page *g, block *b)
{
    const hd_explain_matrix *m = b->m;
    size_t most = 0;
    char row[16], col[16], value[32];
    for (size_t i = 1; i < m->rows * m->cols; i++)
        if (fabs((double)b->value[i]) > fabs((double)b->value[most])) most = i;
    hd_explain_label(m->of->rows, most / m->cols, row, sizeof row);
    hd_explain_label(m->of->cols, most % m->cols, col, sizeof col);
    bool vector = hd_lecture_is_vector(m->of);
    snprintf(b->formula, sizeof b->formula, "largest %s at [%s%s%s]",
             hd_text_pen_number(&g->pen, (double)b->value[most], b->digits, value, sizeof value),
             vector ? "" : row, vector ? "" : ", ", col);
}

static block block_of(const hd_explain_page *g, const hd_explain_matrix *m, bool gradient)
{
    block b = {
        .m = m, .value = m->value, .digits = g->look->digits, .turned = m->of->cols == HD_LECTURE_WORDS};
    char buf[80];
    b.rows = b.turned ? m->cols : m->rows;
    b.own = b.cols = b.turned ? m->rows : m->cols;
    if (gradient) {
        b.value = m->gradient;
        b.digits += 2;
        snprintf(buf, sizeof buf, "d loss / d %s", m->of->name);
        hd_text_pen_signs(&g->pen, buf, b.title, sizeof b.title);
        name_largest(g, &b);
        return b;
    }
    if (hd_lecture_is_vector(m->of))
        snprintf(buf, sizeof buf, "%s  %zu", m->of->name, m->rows * m->cols);
    else
        snprintf(buf, sizeof buf, "%s  %zu x %zu%s", m->of->name, m->rows, m->cols,
                 b.turned ? ", transposed" : "");
    hd_text_pen_signs(&g->pen, buf, b.title, sizeof b.title);
    snprintf(buf, sizeof buf, "%s%s", hd_lecture_learned(m->of) ? "" : "= ", m->of->formula);
    hd_text_pen_signs(&g->pen, buf, b.formula, sizeof b.formula);
    return b;
}

static hd_ink ink_of(const block *b, double v)
{
    if (b->m->of->kind != HD_LECTURE_SHARES) return HD_INK_PLAIN;
    int shade = (int)(v * HD_INK_SHADES);
    return (hd_ink)(HD_INK_SHADE + (shade < 0 ? 0 : shade < HD_INK_SHADES ? shade : HD_INK_SHADES - 1));
}

static void put_heads(hd_explain_page *g, const block *b, int x, size_t from, size_t to)
{
    char buf[64];
    for (size_t j = from; j < to; j++)
        hd_text_pen_put_to(&g->pen, x + place_of(b, j) + b->cell, HD_INK_DIM, head_at(b, j, buf, sizeof buf));
}

static void put_row(hd_explain_page *g, const block *b, int x, size_t from, size_t to, size_t i)
{
    char buf[64], cell[80];
    hd_text_pen_put_at(&g->pen, x, HD_INK_PLAIN, row_label(b, i, buf, sizeof buf));
    for (size_t j = from; j < to; j++) {
        double v = cell_at(b, i, j);
        hd_ink ink = ink_of(b, v);
        const char *s = hd_text_pen_number(&g->pen, v, b->digits, buf, sizeof buf);
        if (ink >= HD_INK_SHADE && g->pen.color) { /* a shade fills its cell */
            snprintf(cell, sizeof cell, "%*s%s", b->cell - hd_text_pen_columns(s), "", s);
            s = cell;
        }
        hd_text_pen_put_to(&g->pen, x + place_of(b, j) + b->cell, ink, s);
    }
}

static void put_line(hd_explain_page *g, const block *b, int x, int line)
{
    if (line == 0) hd_text_pen_put_at(&g->pen, x, HD_INK_BOLD, b->title);
    if (line == 1) hd_text_pen_put_at(&g->pen, x, HD_INK_DIM, b->formula);
    if (line < 2 || line >= b->height) return;
    int each = (int)b->rows + b->heads + 1, i = (line - 2) % each - b->heads;
    size_t from = (size_t)((line - 2) / each) * b->run,
           to = from + b->run < b->cols ? from + b->run : b->cols;
    if (i < 0)
        put_heads(g, b, x, from, to);
    else if (i < (int)b->rows)
        put_row(g, b, x, from, to, (size_t)i);
}

typedef struct band { /* blocks side by side */
    block b[MOST_BLOCKS];
    int count, width;
} band;

static void put_band(hd_explain_page *g, band *s)
{
    int height = 0;
    for (int i = 0; i < s->count; i++) height = s->b[i].height > height ? s->b[i].height : height;
    if (s->count) hd_text_pen_end(&g->pen);
    for (int line = 0; line < height; line++) {
        for (int i = 0, x = 0; i < s->count; x += s->b[i++].width + BETWEEN) put_line(g, &s->b[i], x, line);
        hd_text_pen_end(&g->pen);
    }
    s->count = s->width = 0;
}

static void add_block(hd_explain_page *g, band *s, block b)
{
    measure(g, &b);
    if (s->count == MOST_BLOCKS || (s->count && s->width + BETWEEN + b.width > g->look->width))
        put_band(g, s);
    s->width += (s->count ? BETWEEN : 0) + b.width;
    s->b[s->count++] = b;
}

static bool shown(const hd_explain_page *g, const hd_explain_matrix *m)
{
    return !g->look->only || !fnmatch(g->look->only, m->of->name, 0);
}

void hd_explain_put_matrices(hd_explain_page *g, const hd_explain *x)
{
    band s = {0};
    int section = -1;
    for (size_t i = 0; i < x->matrices; i++) {
        const hd_explain_matrix *m = &x->matrix[i];
        if (!shown(g, m)) continue;
        if ((int)m->of->section != section) {
            const hd_lecture_heading *h = &hd_lecture_headings[section = (int)m->of->section];
            put_band(g, &s);
            hd_text_pen_heading(&g->pen, h->part, h->title);
            if (h->text && !g->look->only) hd_text_pen_paragraph(&g->pen, h->text);
        }
        block b = block_of(g, m, false);
        if (i + 2 < x->matrices && m[1].of->kind == HD_LECTURE_MEAN && shown(g, m + 1) && shown(g, m + 2))
            b.mean = m + 1, b.sd = m + 2, b.cols += 2, i += 2;
        if (m->gradient) put_band(g, &s); /* a parameter and its gradient stand together */
        add_block(g, &s, b);
        if (m->gradient) add_block(g, &s, block_of(g, m, true));
    }
    put_band(g, &s);
}
