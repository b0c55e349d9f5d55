/* The items of an exhibit as text. Easy to get wrong: one row over tokens is turned, so that tokens run down
   and every weight has a bar; a vector that is too long is cut and says how much is missing. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/explain/exhibit_page.h"

enum { HEAD = 8, BAR = 24, MORE = 14 };

static bool shown(const hd_exhibit_page *g, const char *name)
{
    return !g->look->only || !fnmatch(g->look->only, name, 0);
}

/* The token of row or column i; NULL: it has none. */
static const char *token_at(const hd_exhibit_page *g, hd_exhibit_axis a, size_t i)
{
    const hd_exhibit *x = g->of;
    switch (a) {
    case HD_EXHIBIT_SOURCE:
        return i < x->sources ? x->source[i].piece : NULL;
    case HD_EXHIBIT_READ:
        return i < x->reads ? x->read[i].piece : NULL;
    case HD_EXHIBIT_NOW:
        return x->reads ? x->read[x->reads - 1].piece : NULL;
    case HD_EXHIBIT_BACK:
        return i < x->reads ? x->read[x->reads - 1 - i].piece : x->before.piece;
    case HD_EXHIBIT_ASKED:
        return i < x->answers ? x->read[x->place[i]].piece : NULL;
    case HD_EXHIBIT_CHANNELS:
    case HD_EXHIBIT_WORDS:
        break;
    }
    return NULL;
}

/* Q, K, V and what attention gives have the columns of all heads side by side: how many heads. 1: it is none
 * of these. */
static size_t heads_beside(const hd_exhibit_page *g, const hd_exhibit_item *t)
{
    static const char *const lasts[] = {"Q", "K", "V", "attn_out"};
    const char *dot = strrchr(t->name, '.');
    size_t scope = dot ? (size_t)(dot + 1 - t->name) : 0;
    bool one = false;
    for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) one = one || !strcmp(t->name + scope, lasts[i]);
    for (size_t i = 0; one && i < g->of->items; i++) {
        const hd_exhibit_item *w = &g->of->item[i];
        if (w->heads && !strncmp(w->name, t->name, scope) && !strcmp(w->name + scope, "softmax"))
            return t->cols % w->heads ? 1 : w->heads;
    }
    return 1;
}

/* An item as it is shown: of one head, or the mean, or as it is. */
typedef struct sight {
    const hd_exhibit_item *of;
    size_t head, heads;   /* 1, 2, ... of so many; 0: of none */
    size_t first, cols;   /* columns */
    const hd_real *value; /* NULL: the mean of the heads */
} sight;

static sight sight_of(const hd_exhibit_page *g, const hd_exhibit_item *t, size_t head)
{
    sight s = {.of = t, .cols = t->cols, .value = t->value};
    size_t beside = heads_beside(g, t);
    if (t->heads > 1) {
        s.heads = t->heads, s.head = head <= t->heads ? head : 0;
        s.value = s.head ? t->value + (s.head - 1) * t->rows * t->cols : NULL;
    } else if (beside > 1 && head && head <= beside) {
        s.heads = beside, s.head = head;
        s.cols = t->cols / beside, s.first = (head - 1) * s.cols;
    }
    return s;
}

static double value_at(const sight *s, size_t i, size_t j)
{
    const hd_exhibit_item *t = s->of;
    size_t cells = t->rows * t->cols, at = i * t->cols + s->first + j;
    double sum = 0;
    if (s->value) return (double)s->value[at];
    for (size_t h = 0; h < t->heads; h++) sum += (double)t->value[h * cells + at];
    return sum / (double)t->heads;
}

/* With the digits that are asked for; a whole number has none. */
static const char *number_at(const hd_exhibit_page *g, const sight *s, size_t i, size_t j,
                             char buf[HD_EXHIBIT_NUMBER])
{
    double v = value_at(s, i, j);
    if (!s->of->whole) return hd_exhibit_number(g, v, buf);
    snprintf(buf, HD_EXHIBIT_NUMBER, "%.0f", v);
    return buf;
}

static void put_title(hd_exhibit_page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    hd_text_pen *p = &g->pen;
    char shape[160], heads[96] = "", buf[192];
    if (s->cols < t->cols)
        snprintf(heads, sizeof heads, ", columns %zu to %zu: head %zu of %zu", s->first + 1,
                 s->first + s->cols, s->head, s->heads);
    else if (s->head)
        snprintf(heads, sizeof heads, ", head %zu of %zu", s->head, s->heads);
    else if (s->heads)
        snprintf(heads, sizeof heads, ", mean of %zu heads", s->heads);
    snprintf(shape, sizeof shape, "%zu x %zu%s", t->rows, t->cols, heads);
    hd_text_pen_end(p);
    hd_text_pen_put(p, HD_INK_BOLD, t->name);
    hd_text_pen_put_at(p, p->at + HD_EXHIBIT_INDENT, HD_INK_PLAIN,
                       hd_text_pen_signs(p, shape, buf, sizeof buf));
    if (t->formula) {
        hd_text_pen_put_at(p, p->at + HD_EXHIBIT_INDENT, HD_INK_DIM, "=");
        if (s->heads && !s->head) hd_text_pen_words(p, HD_INK_DIM, "mean of");
        hd_text_pen_words(p, HD_INK_DIM, hd_text_pen_signs(p, t->formula, buf, sizeof buf));
    }
    hd_text_pen_end(p);
}

typedef struct grid { /* an item as it is laid out */
    int label, cell;
    size_t cols;
} grid;

static grid grid_of(const hd_exhibit_page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    grid d = {.cols = s->cols};
    size_t most = g->look->columns ? (size_t)g->look->columns : (size_t)g->pen.width;
    if (d.cols > most) d.cols = most;
    for (size_t i = 0; i < t->rows; i++) {
        const char *token = token_at(g, t->down, i);
        if (token) hd_text_pen_widen(&d.label, hd_exhibit_label(g, token, HD_EXHIBIT_LABEL, name));
        for (size_t j = 0; j < d.cols; j++) hd_text_pen_widen(&d.cell, number_at(g, s, i, j, buf));
    }
    for (size_t j = 0; j < d.cols; j++) {
        const char *token = token_at(g, t->across, j);
        if (token) hd_text_pen_widen(&d.cell, hd_exhibit_label(g, token, HEAD, name));
    }
    if (g->look->columns) return d;
    int room = g->pen.width - HD_EXHIBIT_INDENT - d.label - HD_EXHIBIT_BEHIND_LABEL;
    if (s->cols * (size_t)(d.cell + 1) > (size_t)(room > 0 ? room : 0) + 1) {
        room -= MORE;
        d.cols = room > d.cell ? (size_t)(room / (d.cell + 1)) : 1;
    }
    return d;
}

static int column_end(const grid *d, size_t j)
{
    int first = HD_EXHIBIT_INDENT + d->label + (d->label ? HD_EXHIBIT_BEHIND_LABEL : 0);
    return first + (int)(j + 1) * (d->cell + 1) - 1;
}

static void put_heads(hd_exhibit_page *g, const hd_exhibit_item *t, const grid *d)
{
    char name[HD_LABEL];
    if (!token_at(g, t->across, 0)) return;
    for (size_t j = 0; j < d->cols; j++) {
        const char *token = token_at(g, t->across, j);
        if (token)
            hd_text_pen_put_to(&g->pen, column_end(d, j), HD_INK_DIM, hd_exhibit_label(g, token, HEAD, name));
    }
    hd_text_pen_end(&g->pen);
}

static void put_rows(hd_exhibit_page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    hd_text_pen *p = &g->pen;
    grid d = grid_of(g, s);
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    put_heads(g, t, &d);
    for (size_t i = 0; i < t->rows; i++) {
        const char *token = token_at(g, t->down, i);
        if (token)
            hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_DIM,
                               hd_exhibit_label(g, token, HD_EXHIBIT_LABEL, name));
        for (size_t j = 0; j < d.cols; j++)
            hd_text_pen_put_to(p, column_end(&d, j), HD_INK_PLAIN, number_at(g, s, i, j, buf));
        if (d.cols < s->cols) {
            snprintf(buf, sizeof buf, "%s %zu more", p->utf8 ? "…" : "...", s->cols - d.cols);
            hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM, buf);
        }
        hd_text_pen_end(p);
    }
}

static void put_bar(hd_exhibit_page *g, double share, int column)
{
    hd_text_pen *p = &g->pen;
    int room = p->width - column;
    p->next = column;
    hd_text_pen_bar(p, share, room > BAR ? BAR : room > 0 ? room : 0);
}

static void put_token_line(hd_exhibit_page *g, const char *token, double v, int wide, int cell, bool bar)
{
    hd_text_pen *p = &g->pen;
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    int end = HD_EXHIBIT_INDENT + wide + HD_EXHIBIT_BEHIND_LABEL + cell;
    hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_DIM, hd_exhibit_label(g, token, HD_EXHIBIT_LABEL, name));
    hd_text_pen_put_to(p, end, HD_INK_PLAIN, hd_exhibit_number(g, v, buf));
    if (bar) put_bar(g, v, end + HD_EXHIBIT_BEHIND_LABEL);
    hd_text_pen_end(p);
}

/* One row over tokens: they run down. */
static void put_turned(hd_exhibit_page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    int wide = 0, cell = 0;
    size_t n = strlen(t->name), m = strlen("softmax");
    bool bar = n >= m && !strcmp(t->name + n - m, "softmax");
    for (size_t j = 0; j < t->cols; j++) {
        const char *token = token_at(g, t->across, j);
        hd_text_pen_widen(&wide, hd_exhibit_label(g, token ? token : "", HD_EXHIBIT_LABEL, name));
        hd_text_pen_widen(&cell, hd_exhibit_number(g, value_at(s, 0, j), buf));
    }
    for (size_t j = 0; j < t->cols; j++) {
        const char *token = token_at(g, t->across, j);
        put_token_line(g, token ? token : "", value_at(s, 0, j), wide, cell, bar);
    }
}

/* Above the answer for a mask: which token it is. */
static void put_asked(hd_exhibit_page *g, size_t answer)
{
    const hd_exhibit *x = g->of;
    char line[HD_EXHIBIT_NUMBER];
    if (!x->place) return;
    snprintf(line, sizeof line, "%zu. %s, token %d", answer + 1, x->read[x->place[answer]].piece,
             x->place[answer] + 1);
    hd_text_pen_end(&g->pen);
    hd_text_pen_put_at(&g->pen, HD_EXHIBIT_INDENT, HD_INK_BOLD, line);
    hd_text_pen_end(&g->pen);
}

static void put_answer(hd_exhibit_page *g, const hd_exhibit_choice *top)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    int wide = 5, cell = 6, id = 4;
    for (size_t i = 0; i < x->tops; i++) {
        hd_text_pen_widen(&wide, hd_exhibit_label(g, top[i].token.piece, HD_EXHIBIT_LABEL, name));
        hd_text_pen_widen(&cell, hd_exhibit_number(g, top[i].logit, buf));
        snprintf(buf, sizeof buf, "%d", top[i].token.id);
        hd_text_pen_widen(&id, buf);
    }
    int at_id = HD_EXHIBIT_INDENT + wide + HD_EXHIBIT_BEHIND_LABEL + id,
        at_logit = at_id + HD_EXHIBIT_BEHIND_LABEL + cell,
        at_p = at_logit + HD_EXHIBIT_BEHIND_LABEL + g->look->digits + 4;
    bool logits = !isnan(top[0].logit);
    if (!x->place) hd_text_pen_end(p);
    hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_DIM, x->kind == HD_EXHIBIT_LABELER ? "label" : "token");
    hd_text_pen_put_to(p, at_id, HD_INK_DIM, "id");
    if (logits) hd_text_pen_put_to(p, at_logit, HD_INK_DIM, "logit");
    hd_text_pen_put_to(p, at_p, HD_INK_DIM, "p");
    hd_text_pen_end(p);
    for (size_t i = 0; i < x->tops; i++) {
        const hd_exhibit_choice *c = &top[i];
        hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, i ? HD_INK_PLAIN : HD_INK_BOLD,
                           hd_exhibit_label(g, c->token.piece, HD_EXHIBIT_LABEL, name));
        snprintf(buf, sizeof buf, "%d", c->token.id);
        hd_text_pen_put_to(p, at_id, HD_INK_DIM, buf);
        if (logits) hd_text_pen_put_to(p, at_logit, HD_INK_PLAIN, hd_exhibit_number(g, c->logit, buf));
        hd_text_pen_put_to(p, at_p, HD_INK_PLAIN, hd_exhibit_number(g, c->p, buf));
        put_bar(g, c->p, at_p + HD_EXHIBIT_BEHIND_LABEL);
        hd_text_pen_end(p);
    }
}

static void put_distribution(hd_exhibit_page *g)
{
    for (size_t i = 0; g->of->tops && i < g->of->answers; i++) {
        put_asked(g, i);
        put_answer(g, g->of->top + i * g->of->tops);
    }
}

static void put_item(hd_exhibit_page *g, const hd_exhibit_item *t, size_t head)
{
    sight s = sight_of(g, t, head);
    bool last = t + 1 == g->of->item + g->of->items;
    put_title(g, &s);
    if (t->rows == 1 && (t->across == HD_EXHIBIT_SOURCE || t->across == HD_EXHIBIT_READ))
        put_turned(g, &s);
    else if (t->across != HD_EXHIBIT_WORDS)
        put_rows(g, &s);
    else if (last || !shown(g, t[1].name)) /* once, for logits and probs */
        put_distribution(g);
}

void hd_exhibit_put_items(hd_exhibit_page *g)
{
    const char *part = "";
    for (size_t i = 0; i < g->of->items; i++) {
        const hd_exhibit_item *t = &g->of->item[i];
        size_t beside = heads_beside(g, t), heads = t->heads > beside ? t->heads : beside;
        if (!shown(g, t->name)) continue;
        if (strcmp(part, t->part)) hd_text_pen_heading(&g->pen, "", part = t->part);
        if (g->look->head != HD_EXHIBIT_ALL) put_item(g, t, (size_t)g->look->head);
        for (size_t h = 1; g->look->head == HD_EXHIBIT_ALL && h <= heads; h++) put_item(g, t, h);
    }
}
