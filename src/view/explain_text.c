/* Text of the worked example. Matrices are blocks that stand side by side as long as the width allows; a
   block that is too wide by itself continues below with its further columns. */
#include "view/explain_text.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/draw/text_pen.h"

enum { BETWEEN = 3, BEHIND_LABEL = 2, BEFORE_MOMENTS = 2, MOST_BLOCKS = 8, LINES = 25 };

typedef struct page {
    hd_text_pen pen;
    const hd_explain_look *look;
} page;

static const char *number(const page *g, double v, int digits, char *buf, size_t size)
{
    return hd_text_pen_number(&g->pen, v, digits, buf, size);
}

static const char *label(hd_lecture_axis a, size_t i, char *buf, size_t size)
{
    const hd_lecture_pair *pair = &hd_lecture_pairs[0];
    const char *word = NULL;
    if (a == HD_LECTURE_SOURCE) word = hd_lecture_words[pair->source[i]];
    if (a == HD_LECTURE_TARGET) word = hd_lecture_words[i ? pair->target[i - 1] : HD_LECTURE_SOS];
    if (a == HD_LECTURE_WORDS) word = hd_lecture_words[i];
    if (word)
        snprintf(buf, size, "%s", word);
    else
        snprintf(buf, size, a == HD_LECTURE_PLACES ? "pos %zu" : "%zu", i);
    return buf;
}

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
    return named && !hd_lecture_is_vector(b->m->of) ? label(across(b), j, buf, size) : "";
}

static const char *row_label(const block *b, size_t i, char *buf, size_t size)
{
    return down(b) == HD_LECTURE_CHANNELS ? "" : label(down(b), i, buf, size);
}

/* Where column j stands in the block. */
static int place_of(const block *b, size_t j)
{
    int x = b->label_width + (b->label_width ? BEHIND_LABEL : 0) + (int)(j % b->run) * (b->cell + 1);
    return x + (j >= b->own && b->run == b->cols ? BEFORE_MOMENTS : 0);
}

static void widen(int *width, const char *s)
{
    int n = hd_text_pen_columns(s);
    if (n > *width) *width = n;
}

static void measure(const page *g, block *b)
{
    char buf[64];
    for (size_t i = 0; i < b->rows; i++) {
        widen(&b->label_width, row_label(b, i, buf, sizeof buf));
        for (size_t j = 0; j < b->cols; j++)
            widen(&b->cell, number(g, cell_at(b, i, j), b->digits, buf, sizeof buf));
    }
    for (size_t j = 0; j < b->cols; j++) {
        const char *head = head_at(b, j, buf, sizeof buf);
        b->heads = b->heads || *head;
        widen(&b->cell, head);
    }
    b->run = b->cols;
    while (b->run > 1 && place_of(b, b->run - 1) + b->cell > g->look->width) b->run--;
    b->width = place_of(b, b->run - 1) + b->cell;
    widen(&b->width, b->title);
    widen(&b->width, b->formula);
    int runs = (int)((b->cols + b->run - 1) / b->run);
    b->height = 2 + runs * ((int)b->rows + b->heads + 1) - 1;
}

/* The cell of the largest magnitude, by name: "[how, 2]". */
static void name_largest(const page *g, block *b)
{
    const hd_explain_matrix *m = b->m;
    size_t most = 0;
    char row[16], col[16], value[32];
    for (size_t i = 1; i < m->rows * m->cols; i++)
        if (fabs((double)b->value[i]) > fabs((double)b->value[most])) most = i;
    label(m->of->rows, most / m->cols, row, sizeof row);
    label(m->of->cols, most % m->cols, col, sizeof col);
    bool vector = hd_lecture_is_vector(m->of);
    snprintf(b->formula, sizeof b->formula, "largest %s at [%s%s%s]",
             number(g, (double)b->value[most], b->digits, value, sizeof value), vector ? "" : row,
             vector ? "" : ", ", col);
}

static block block_of(const page *g, const hd_explain_matrix *m, bool gradient)
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

static void put_heads(page *g, const block *b, int x, size_t from, size_t to)
{
    char buf[64];
    for (size_t j = from; j < to; j++)
        hd_text_pen_put_to(&g->pen, x + place_of(b, j) + b->cell, HD_INK_DIM, head_at(b, j, buf, sizeof buf));
}

static void put_row(page *g, const block *b, int x, size_t from, size_t to, size_t i)
{
    char buf[64], cell[80];
    hd_text_pen_put_at(&g->pen, x, HD_INK_PLAIN, row_label(b, i, buf, sizeof buf));
    for (size_t j = from; j < to; j++) {
        double v = cell_at(b, i, j);
        hd_ink ink = ink_of(b, v);
        const char *s = number(g, v, b->digits, buf, sizeof buf);
        if (ink >= HD_INK_SHADE && g->pen.color) { /* a shade fills its cell */
            snprintf(cell, sizeof cell, "%*s%s", b->cell - hd_text_pen_columns(s), "", s);
            s = cell;
        }
        hd_text_pen_put_to(&g->pen, x + place_of(b, j) + b->cell, ink, s);
    }
}

static void put_line(page *g, const block *b, int x, int line)
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

static void put_band(page *g, band *s)
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

static void add_block(page *g, band *s, block b)
{
    measure(g, &b);
    if (s->count == MOST_BLOCKS || (s->count && s->width + BETWEEN + b.width > g->look->width))
        put_band(g, s);
    s->width += (s->count ? BETWEEN : 0) + b.width;
    s->b[s->count++] = b;
}

static bool shown(const page *g, const hd_explain_matrix *m)
{
    return !g->look->only || !fnmatch(g->look->only, m->of->name, 0);
}

static void put_matrices(page *g, const hd_explain *x)
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

static void put_sentence(hd_text_pen *p, int column, const int32_t *ids, bool numbers)
{
    for (int i = 0; i < HD_LECTURE_LENGTH; i++) {
        char buf[16];
        snprintf(buf, sizeof buf, "%d", (int)ids[i]);
        hd_text_pen_put_at(p, i ? p->at + 1 : column, numbers ? HD_INK_DIM : HD_INK_PLAIN,
                           numbers ? buf : hd_lecture_words[ids[i]]);
    }
}

static void put_vocabulary(hd_text_pen *p)
{
    enum { EACH = 13 };
    int room = p->width / EACH;
    for (int i = 0; i < HD_LECTURE_VOCAB; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        if (i && i % room == 0) hd_text_pen_end(p);
        hd_text_pen_put_to(p, i % room * EACH + 3, HD_INK_DIM, id);
        hd_text_pen_put_at(p, p->at + 1, HD_INK_PLAIN, hd_lecture_words[i]);
    }
    hd_text_pen_end(p);
}

static void put_dataset(page *g)
{
    const hd_lecture_pair *pair = &hd_lecture_pairs[0];
    const int32_t reads[] = {HD_LECTURE_SOS, pair->target[0], pair->target[1]};
    const struct {
        const char *what;
        const int32_t *ids;
    } rows[] = {
        {"encoder reads", pair->source}, {"decoder reads", reads}, {"decoder should say", pair->target}};
    hd_text_pen *p = &g->pen;
    hd_text_pen_put(p, HD_INK_BOLD, "A Transformer, number by number");
    hd_text_pen_end(p);
    hd_text_pen_end(p);
    hd_text_pen_paragraph(
        p, "One step of the lecture's worked example: the model reads \"how are you\" and should answer "
           "\"i am fine\". One encoder layer, one decoder layer, one head, vectors of length 6. The "
           "weights are still random.");
    hd_text_pen_heading(p, "", "(1) Dataset, (2) vocabulary, (3) numbers");
    for (int i = 0; i < HD_LECTURE_PAIRS; i++) {
        char arrow[16];
        put_sentence(p, 2, hd_lecture_pairs[i].source, false);
        hd_text_pen_put_at(p, 15, HD_INK_DIM, hd_text_pen_signs(p, "->", arrow, sizeof arrow));
        put_sentence(p, 18, hd_lecture_pairs[i].target, false);
        hd_text_pen_end(p);
    }
    hd_text_pen_end(p);
    put_vocabulary(p);
    hd_text_pen_end(p);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hd_text_pen_put_at(p, 2, HD_INK_PLAIN, rows[i].what);
        put_sentence(p, 22, rows[i].ids, false);
        put_sentence(p, 35, rows[i].ids, true);
        hd_text_pen_end(p);
    }
}

static void put_loss(page *g, const hd_explain *x)
{
    const hd_explain_matrix *probs = hd_explain_find(x, "probs");
    int digits = g->look->digits, target = 7, share = 17 + digits, cost = share + 5 + digits, says = cost + 3;
    hd_text_pen *p = &g->pen;
    char buf[64];
    hd_text_pen_heading(p, "Loss:", "cross-entropy");
    hd_text_pen_paragraph(
        p, "The probability p of the right word costs -ln p. Backpropagation and an update of every weight "
           "follow: that is how a Transformer learns.");
    hd_text_pen_end(p);
    hd_text_pen_put(p, HD_INK_DIM, "reads");
    hd_text_pen_put_at(p, target, HD_INK_DIM, "target");
    hd_text_pen_put_to(p, share, HD_INK_DIM, "p");
    hd_text_pen_put_to(p, cost, HD_INK_DIM, "-ln p");
    hd_text_pen_put_at(p, says, HD_INK_DIM, "says");
    hd_text_pen_end(p);
    for (size_t i = 0; i < HD_LECTURE_LENGTH; i++) {
        const hd_explain_token *t = &x->token[i];
        const hd_real *row = probs->value + i * probs->cols;
        hd_text_pen_put(p, HD_INK_PLAIN, label(HD_LECTURE_TARGET, i, buf, sizeof buf));
        hd_text_pen_put_at(p, target, HD_INK_BOLD, hd_lecture_words[t->target]);
        hd_text_pen_put_to(p, share, HD_INK_PLAIN,
                           number(g, (double)row[t->target], digits, buf, sizeof buf));
        hd_text_pen_put_to(p, cost, HD_INK_PLAIN, number(g, t->loss, digits, buf, sizeof buf));
        hd_text_pen_put_at(p, says, HD_INK_PLAIN, hd_lecture_words[t->predicted]);
        hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM,
                           number(g, (double)row[t->predicted], digits, buf, sizeof buf));
        hd_text_pen_end(p);
    }
    hd_text_pen_put_at(p, target, HD_INK_PLAIN, "mean");
    hd_text_pen_put_to(p, cost, HD_INK_BOLD, number(g, x->loss, digits, buf, sizeof buf));
    hd_text_pen_end(p);
    if (!x->backward) return;
    snprintf(buf, sizeof buf, "All gradients together have length %.4f.", hd_explain_norm(x));
    hd_text_pen_end(p);
    hd_text_pen_paragraph(p, buf);
}

static void put_answer(hd_text_pen *p, const hd_explain_step *s, int which, int column, int most)
{
    char words[64];
    const char *dots = p->utf8 ? "…" : "..", *mark = p->utf8 ? "✓" : "ok";
    hd_explain_words(s->answer[which], words, sizeof words);
    bool cut = (int)strlen(words) > most;
    if (cut) words[most - hd_text_pen_columns(dots)] = 0;
    p->next = column;
    if (*words)
        hd_text_pen_put(p, HD_INK_PLAIN, words);
    else
        hd_text_pen_put(p, HD_INK_DIM, hd_lecture_words[HD_LECTURE_EOS]); /* said nothing */
    if (cut) hd_text_pen_put(p, HD_INK_DIM, dots);
    if (s->right[which]) hd_text_pen_put_at(p, p->at + 1, HD_INK_GOOD, mark);
}

typedef struct columns {   /* of the training's lines */
    int bar, answer, each; /* width of the bar, where the answers begin, width of one */
} columns;

static void put_step(hd_text_pen *p, const hd_explain *x, size_t i, columns c)
{
    const hd_explain_step *s = &x->step[i - 1];
    char buf[32];
    snprintf(buf, sizeof buf, "%zu", i);
    hd_text_pen_put_to(p, 6, HD_INK_DIM, buf);
    snprintf(buf, sizeof buf, "%.4f", s->loss);
    hd_text_pen_put_to(p, 14, HD_INK_PLAIN, buf);
    p->next = 16;
    hd_text_pen_bar(p, s->loss / x->step[0].loss, c.bar);
    for (int k = 0; k < HD_LECTURE_PAIRS; k++) put_answer(p, s, k, c.answer + k * c.each, c.each - 4);
    hd_text_pen_end(p);
}

/* The step to show after step i: most happens early, so the gaps grow, to about LINES lines in all. */
static size_t next_shown(size_t i, size_t steps)
{
    double factor = steps > LINES ? pow((double)steps, 1.0 / (LINES - 1)) : 1;
    size_t next = (size_t)round((double)i * factor);
    return next > i ? next : i + 1;
}

static void put_training(page *g, const hd_explain *x)
{
    hd_text_pen *p = &g->pen;
    int bar = p->width >= 72 ? p->width - 66 : 0, answer = 16 + (bar ? bar + 2 : 0);
    columns c = {bar, answer, (p->width - answer) / 2};
    char line[120];
    size_t first = hd_explain_first_right(x), last_wrong = 0;
    for (size_t i = 1; i <= x->steps; i++)
        if (!x->step[i - 1].right[0] || !x->step[i - 1].right[1]) last_wrong = i;
    hd_text_pen_heading(p, "Training", "with Adam, rate 0.01, both pairs in one batch");
    hd_text_pen_paragraph(
        p, "After every step both questions are asked; the most probable word is taken until <EOS>.");
    hd_text_pen_end(p);
    hd_text_pen_put_to(p, 6, HD_INK_DIM, "step");
    hd_text_pen_put_to(p, 14, HD_INK_DIM, "loss");
    for (int k = 0; k < HD_LECTURE_PAIRS; k++)
        put_sentence(p, answer + k * c.each, hd_lecture_pairs[k].source, false);
    hd_text_pen_end(p);
    for (size_t i = 1, shown_next = 1; i <= x->steps; i++) {
        if (i != shown_next && i != first && i != x->steps) continue;
        if (i == shown_next) shown_next = next_shown(i, x->steps);
        put_step(p, x, i, c);
    }
    hd_text_pen_end(p);
    if (!first)
        snprintf(line, sizeof line, "Not both answers are right yet.");
    else if (last_wrong < first)
        snprintf(line, sizeof line, "Both answers are right from step %zu on.", first);
    else
        snprintf(line, sizeof line, "Both answers are right at step %zu first, and wrong at step %zu last.",
                 first, last_wrong);
    hd_text_pen_paragraph(p, line);
}

hd_status hd_explain_text(hd_text *to, const hd_explain *x, const hd_explain_look *look, hd_err *err)
{
    page g = {.pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8},
              .look = look};
    bool whole = !look->only && !look->no_matrices;
    if (whole) put_dataset(&g);
    if (!look->no_matrices) put_matrices(&g, x);
    if (whole) put_loss(&g, x);
    if (x->steps) put_training(&g, x);
    return hd_text_status(to, err);
}
