/* Text of what a model did. Easy to get wrong: one row over tokens is turned, so that tokens run down and
   every weight has a bar; a vector that is too long is cut and says how much is missing. */
#include "view/exhibit_text.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/draw/label.h"
#include "view/draw/text_pen.h"

enum { INDENT = 2, BEHIND_LABEL = 2, LABEL = 16, HEAD = 8, BAR = 24, MORE = 14, NUMBER = 64 };

typedef struct page {
    hd_text_pen pen;
    const hd_exhibit_look *look;
    const hd_exhibit *of;
} page;

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

static const char *label(const page *g, const char *token, int most, char buf[HD_LABEL])
{
    return hd_label_of(buf, token, &(hd_label_opt){columns_of, NULL, most, !g->pen.utf8});
}

static const char *number(const page *g, double v, char buf[NUMBER])
{
    return isnan(v) ? "nan" : hd_text_pen_number(&g->pen, v, g->look->digits, buf, NUMBER);
}

static void widen(int *width, const char *s)
{
    int n = hd_text_pen_columns(s);
    if (n > *width) *width = n;
}

static bool shown(const page *g, const char *name)
{
    return !g->look->only || !fnmatch(g->look->only, name, 0);
}

/* The token of row or column i; NULL: it has none. */
static const char *token_at(const page *g, hd_exhibit_axis a, size_t i)
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

/* -- items -- */

/* Q, K, V and what attention gives have the columns of all heads side by side: how many heads. 1: it is none
 * of these. */
static size_t heads_beside(const page *g, const hd_exhibit_item *t)
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

static sight sight_of(const page *g, const hd_exhibit_item *t, size_t head)
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

static void put_title(page *g, const sight *s)
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
    hd_text_pen_put_at(p, p->at + INDENT, HD_INK_PLAIN, hd_text_pen_signs(p, shape, buf, sizeof buf));
    if (t->formula) {
        hd_text_pen_put_at(p, p->at + INDENT, HD_INK_DIM, "=");
        if (s->heads && !s->head) hd_text_pen_words(p, HD_INK_DIM, "mean of");
        hd_text_pen_words(p, HD_INK_DIM, hd_text_pen_signs(p, t->formula, buf, sizeof buf));
    }
    hd_text_pen_end(p);
}

typedef struct grid { /* an item as it is laid out */
    int label, cell;
    size_t cols;
} grid;

static grid grid_of(const page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    char buf[NUMBER], name[HD_LABEL];
    grid d = {.cols = s->cols};
    size_t most = g->look->columns ? (size_t)g->look->columns : (size_t)g->pen.width;
    if (d.cols > most) d.cols = most;
    for (size_t i = 0; i < t->rows; i++) {
        const char *token = token_at(g, t->down, i);
        if (token) widen(&d.label, label(g, token, LABEL, name));
        for (size_t j = 0; j < d.cols; j++) widen(&d.cell, number(g, value_at(s, i, j), buf));
    }
    for (size_t j = 0; j < d.cols; j++) {
        const char *token = token_at(g, t->across, j);
        if (token) widen(&d.cell, label(g, token, HEAD, name));
    }
    if (g->look->columns) return d;
    int room = g->pen.width - INDENT - d.label - BEHIND_LABEL;
    if (s->cols * (size_t)(d.cell + 1) > (size_t)(room > 0 ? room : 0) + 1) {
        room -= MORE;
        d.cols = room > d.cell ? (size_t)(room / (d.cell + 1)) : 1;
    }
    return d;
}

static int column_end(const grid *d, size_t j)
{
    int first = INDENT + d->label + (d->label ? BEHIND_LABEL : 0);
    return first + (int)(j + 1) * (d->cell + 1) - 1;
}

static void put_heads(page *g, const hd_exhibit_item *t, const grid *d)
{
    char name[HD_LABEL];
    if (!token_at(g, t->across, 0)) return;
    for (size_t j = 0; j < d->cols; j++) {
        const char *token = token_at(g, t->across, j);
        if (token) hd_text_pen_put_to(&g->pen, column_end(d, j), HD_INK_DIM, label(g, token, HEAD, name));
    }
    hd_text_pen_end(&g->pen);
}

static void put_rows(page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    hd_text_pen *p = &g->pen;
    grid d = grid_of(g, s);
    char buf[NUMBER], name[HD_LABEL];
    put_heads(g, t, &d);
    for (size_t i = 0; i < t->rows; i++) {
        const char *token = token_at(g, t->down, i);
        if (token) hd_text_pen_put_at(p, INDENT, HD_INK_DIM, label(g, token, LABEL, name));
        for (size_t j = 0; j < d.cols; j++)
            hd_text_pen_put_to(p, column_end(&d, j), HD_INK_PLAIN, number(g, value_at(s, i, j), buf));
        if (d.cols < s->cols) {
            snprintf(buf, sizeof buf, "%s %zu more", p->utf8 ? "…" : "...", s->cols - d.cols);
            hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM, buf);
        }
        hd_text_pen_end(p);
    }
}

static void put_bar(page *g, double share, int column)
{
    hd_text_pen *p = &g->pen;
    int room = p->width - column;
    p->next = column;
    hd_text_pen_bar(p, share, room > BAR ? BAR : room > 0 ? room : 0);
}

static void put_token_line(page *g, const char *token, double v, int wide, int cell, bool bar)
{
    hd_text_pen *p = &g->pen;
    char buf[NUMBER], name[HD_LABEL];
    int end = INDENT + wide + BEHIND_LABEL + cell;
    hd_text_pen_put_at(p, INDENT, HD_INK_DIM, label(g, token, LABEL, name));
    hd_text_pen_put_to(p, end, HD_INK_PLAIN, number(g, v, buf));
    if (bar) put_bar(g, v, end + BEHIND_LABEL);
    hd_text_pen_end(p);
}

/* One row over tokens: they run down. */
static void put_turned(page *g, const sight *s)
{
    const hd_exhibit_item *t = s->of;
    char buf[NUMBER], name[HD_LABEL];
    int wide = 0, cell = 0;
    size_t n = strlen(t->name), m = strlen("softmax");
    bool bar = n >= m && !strcmp(t->name + n - m, "softmax");
    for (size_t j = 0; j < t->cols; j++) {
        const char *token = token_at(g, t->across, j);
        widen(&wide, label(g, token ? token : "", LABEL, name));
        widen(&cell, number(g, value_at(s, 0, j), buf));
    }
    for (size_t j = 0; j < t->cols; j++) {
        const char *token = token_at(g, t->across, j);
        put_token_line(g, token ? token : "", value_at(s, 0, j), wide, cell, bar);
    }
}

/* Above the answer for a mask: which token it is. */
static void put_asked(page *g, size_t answer)
{
    const hd_exhibit *x = g->of;
    char line[NUMBER];
    if (!x->place) return;
    snprintf(line, sizeof line, "%zu. %s, token %zu", answer + 1, x->read[x->place[answer]].piece,
             x->place[answer] + 1);
    hd_text_pen_end(&g->pen);
    hd_text_pen_put_at(&g->pen, INDENT, HD_INK_BOLD, line);
    hd_text_pen_end(&g->pen);
}

static void put_answer(page *g, const hd_exhibit_choice *top)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char buf[NUMBER], name[HD_LABEL];
    int wide = 5, cell = 6, id = 4;
    for (size_t i = 0; i < x->tops; i++) {
        widen(&wide, label(g, top[i].token.piece, LABEL, name));
        widen(&cell, number(g, top[i].logit, buf));
        snprintf(buf, sizeof buf, "%d", top[i].token.id);
        widen(&id, buf);
    }
    int at_id = INDENT + wide + BEHIND_LABEL + id, at_logit = at_id + BEHIND_LABEL + cell,
        at_p = at_logit + BEHIND_LABEL + g->look->digits + 4;
    bool logits = !isnan(top[0].logit);
    if (!x->place) hd_text_pen_end(p);
    hd_text_pen_put_at(p, INDENT, HD_INK_DIM, x->kind == HD_EXHIBIT_LABELER ? "label" : "token");
    hd_text_pen_put_to(p, at_id, HD_INK_DIM, "id");
    if (logits) hd_text_pen_put_to(p, at_logit, HD_INK_DIM, "logit");
    hd_text_pen_put_to(p, at_p, HD_INK_DIM, "p");
    hd_text_pen_end(p);
    for (size_t i = 0; i < x->tops; i++) {
        const hd_exhibit_choice *c = &top[i];
        hd_text_pen_put_at(p, INDENT, i ? HD_INK_PLAIN : HD_INK_BOLD, label(g, c->token.piece, LABEL, name));
        snprintf(buf, sizeof buf, "%d", c->token.id);
        hd_text_pen_put_to(p, at_id, HD_INK_DIM, buf);
        if (logits) hd_text_pen_put_to(p, at_logit, HD_INK_PLAIN, number(g, c->logit, buf));
        hd_text_pen_put_to(p, at_p, HD_INK_PLAIN, number(g, c->p, buf));
        put_bar(g, c->p, at_p + BEHIND_LABEL);
        hd_text_pen_end(p);
    }
}

static void put_distribution(page *g)
{
    for (size_t i = 0; g->of->tops && i < g->of->answers; i++) {
        put_asked(g, i);
        put_answer(g, g->of->top + i * g->of->tops);
    }
}

static void put_item(page *g, const hd_exhibit_item *t, size_t head)
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

static void put_items(page *g)
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

/* -- around them -- */

static void put_tokens(page *g, const hd_exhibit_token *t, size_t count)
{
    hd_text_pen *p = &g->pen;
    char buf[NUMBER], name[HD_LABEL];
    for (size_t i = 0; i < count; i++) {
        snprintf(buf, sizeof buf, "%d", t[i].id);
        label(g, t[i].piece, LABEL, name);
        int wide = hd_text_pen_columns(name) + 1 + hd_text_pen_columns(buf);
        if (p->at && p->at + BEHIND_LABEL + wide > p->width) hd_text_pen_end(p);
        hd_text_pen_put_at(p, p->at ? p->at + BEHIND_LABEL : INDENT, HD_INK_PLAIN, name);
        hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM, buf);
    }
    hd_text_pen_end(p);
}

static void put_step(page *g, size_t i, const int at[5])
{
    const hd_exhibit_step *s = &g->of->step[i];
    hd_text_pen *p = &g->pen;
    char buf[NUMBER], name[HD_LABEL];
    snprintf(buf, sizeof buf, "%zu", i + 1);
    hd_text_pen_put_to(p, at[0], i + 1 == g->of->shown ? HD_INK_BOLD : HD_INK_DIM, buf);
    hd_text_pen_put_at(p, at[1], HD_INK_DIM, label(g, s->reads.piece, LABEL, name));
    hd_text_pen_put_at(p, at[2], HD_INK_PLAIN, label(g, s->says.piece, LABEL, name));
    hd_text_pen_put_to(p, at[3], HD_INK_PLAIN, number(g, s->p, buf));
    if (s->looks) {
        hd_text_pen_put_at(p, at[4], HD_INK_PLAIN, label(g, g->of->source[s->where].piece, LABEL, name));
        hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM, number(g, s->share, buf));
    }
    hd_text_pen_end(p);
}

static void put_steps(page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char name[HD_LABEL];
    int reads = 5, says = 4;
    bool looks = false;
    for (size_t i = 0; i < x->steps; i++) {
        widen(&reads, label(g, x->step[i].reads.piece, LABEL, name));
        widen(&says, label(g, x->step[i].says.piece, LABEL, name));
        looks = looks || x->step[i].looks;
    }
    int at[5] = {INDENT + 4, INDENT + 6};
    at[2] = at[1] + reads + BEHIND_LABEL, at[3] = at[2] + says + 4 + g->look->digits;
    at[4] = at[3] + BEHIND_LABEL;
    hd_text_pen_put_to(p, at[0], HD_INK_DIM, "step");
    hd_text_pen_put_at(p, at[1], HD_INK_DIM, "reads");
    hd_text_pen_put_at(p, at[2], HD_INK_DIM, "says");
    hd_text_pen_put_to(p, at[3], HD_INK_DIM, "p");
    if (looks) hd_text_pen_put_at(p, at[4], HD_INK_DIM, "looks most at");
    hd_text_pen_end(p);
    for (size_t i = 0; i < x->steps; i++) put_step(g, i, at);
}

static void put_shares(page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char line[160], buf[3][NUMBER], name[HD_LABEL];
    if (!x->shares) return;
    snprintf(line, sizeof line, "How %s got its probability", label(g, x->top[0].token.piece, LABEL, name));
    hd_text_pen_heading(p, "", line);
    if (x->discounts)
        hd_text_pen_paragraph(p, "From the shortest context to the longest: p = (seen - discount) / total + "
                                 "passed * p of the line above. Above the first stands 1 / vocabulary.");
    else
        snprintf(line, sizeof line, "p = (seen + k) / (total + k V), with k = %g.", x->k),
            hd_text_pen_paragraph(p, line);
    for (size_t i = 0; i < x->shares; i++) {
        const hd_ngram_share *s = &x->share[i];
        hd_text_pen_put_at(p, INDENT, HD_INK_DIM, "after");
        for (size_t j = x->reads - (size_t)s->context; j < x->reads; j++)
            hd_text_pen_put_at(p, p->at + 1, HD_INK_PLAIN, label(g, x->read[j].piece, LABEL, name));
        if (!s->context) hd_text_pen_put_at(p, p->at + 1, HD_INK_PLAIN, "anything");
        snprintf(line, sizeof line, "seen %u of %u, %u kinds", s->seen, s->total, s->kinds);
        hd_text_pen_put_at(p, p->at + BEHIND_LABEL, HD_INK_PLAIN, line);
        if (x->discounts) {
            snprintf(line, sizeof line, "discount %s, passed %s", number(g, s->discount, buf[0]),
                     number(g, s->passed, buf[1]));
            hd_text_pen_put_at(p, p->at + BEHIND_LABEL, HD_INK_PLAIN, line);
        }
        hd_text_pen_put_at(p, p->at + BEHIND_LABEL, HD_INK_DIM, "p");
        hd_text_pen_put_at(p, p->at + 1, HD_INK_BOLD, number(g, s->p, buf[2]));
        hd_text_pen_end(p);
    }
}

static void put_features(page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char line[160], buf[NUMBER], name[HD_LABEL];
    if (!x->features) return;
    snprintf(line, sizeof line, "How %s got its logit", label(g, x->top[0].token.piece, LABEL, name));
    hd_text_pen_heading(p, "", line);
    hd_text_pen_paragraph(
        p, "The bias and one weight for each context, which its hash finds; contexts can share one.");
    snprintf(line, sizeof line, "bias %s", number(g, x->bias, buf));
    hd_text_pen_put_at(p, INDENT, HD_INK_PLAIN, line);
    hd_text_pen_end(p);
    for (size_t i = 0; i < x->features; i++) {
        const hd_exhibit_feature *f = &x->feature[i];
        snprintf(line, sizeof line, "last %zu: bucket %zu, weight %s", f->context, f->bucket,
                 number(g, f->weight, buf));
        hd_text_pen_put_at(p, INDENT, HD_INK_PLAIN, line);
        hd_text_pen_end(p);
    }
}

static const char *const names[] = {"Encoder-decoder,", "Language model,", "Masked language model,",
                                    "Classifier,"},
                         *const beginnings[] = {"Source: pieces and ids", "Prompt: pieces and ids",
                                                "Text: pieces and ids", "Text: pieces and ids"};

static void put_beginning(page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char line[96];
    hd_text_pen_heading(p, "", beginnings[x->kind]);
    put_tokens(g, x->source ? x->source : x->read, x->source ? x->sources : x->reads);
    if (hd_exhibit_has_unknown(x)) {
        hd_text_pen_put_at(p, INDENT, HD_INK_DIM, HD_UNKNOWN_LEGEND);
        hd_text_pen_end(p);
    }
    if (!x->source) return;
    hd_text_pen_heading(p, "", "Translation, step by step");
    if (x->translation) {
        hd_text_pen_put_at(p, INDENT, HD_INK_BOLD, x->translation);
        hd_text_pen_end(p);
    }
    put_steps(g);
    if (!x->shown) return;
    snprintf(line, sizeof line, "What follows is the encoder, then step %zu of the decoder.", x->shown);
    hd_text_pen_end(p);
    hd_text_pen_paragraph(p, line);
}

hd_status hd_exhibit_text(hd_text *to, const hd_exhibit *x, const hd_exhibit_look *look, hd_err *err)
{
    page g = {.pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8},
              .look = look,
              .of = x};
    if (!look->only) {
        hd_text_pen_put(&g.pen, HD_INK_BOLD,
                        x->kind == HD_EXHIBIT_LABELER && x->place ? "Tagger," : names[x->kind]);
        hd_text_pen_put_at(&g.pen, g.pen.at + 1, HD_INK_BOLD, x->model);
        hd_text_pen_end(&g.pen);
        put_beginning(&g);
    }
    put_items(&g);
    if (!look->only) put_shares(&g), put_features(&g);
    return hd_text_status(to, err);
}
