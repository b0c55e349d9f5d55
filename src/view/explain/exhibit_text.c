/* Text of what a model did: what stands around the items. */
#include "view/explain/exhibit_text.h"

#include <math.h>
#include <stdio.h>

#include "view/explain/exhibit_page.h"

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

const char *hd_exhibit_label(const hd_exhibit_page *g, const char *token, int most, char buf[HD_LABEL])
{
    return hd_label_of(buf, token, &(hd_label_opt){columns_of, NULL, most, !g->pen.utf8});
}

const char *hd_exhibit_number(const hd_exhibit_page *g, double v, char buf[HD_EXHIBIT_NUMBER])
{
    return isnan(v) ? "nan" : hd_text_pen_number(&g->pen, v, g->look->digits, buf, HD_EXHIBIT_NUMBER);
}

static void put_tokens(hd_exhibit_page *g, const hd_shown_token *t, size_t count)
{
    hd_text_pen *p = &g->pen;
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    for (size_t i = 0; i < count; i++) {
        snprintf(buf, sizeof buf, "%d", t[i].id);
        hd_exhibit_label(g, t[i].piece, HD_EXHIBIT_LABEL, name);
        int wide = hd_text_pen_columns(name) + 1 + hd_text_pen_columns(buf);
        if (p->at && p->at + HD_EXHIBIT_BEHIND_LABEL + wide > p->width) hd_text_pen_end(p);
        hd_text_pen_put_at(p, p->at ? p->at + HD_EXHIBIT_BEHIND_LABEL : HD_EXHIBIT_INDENT, HD_INK_PLAIN,
                           name);
        hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM, buf);
    }
    hd_text_pen_end(p);
}

static void put_step(hd_exhibit_page *g, size_t i, const int at[5])
{
    const hd_exhibit_step *s = &g->of->step[i];
    hd_text_pen *p = &g->pen;
    char buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    snprintf(buf, sizeof buf, "%zu", i + 1);
    hd_text_pen_put_to(p, at[0], i + 1 == g->of->shown ? HD_INK_BOLD : HD_INK_DIM, buf);
    hd_text_pen_put_at(p, at[1], HD_INK_DIM, hd_exhibit_label(g, s->reads.piece, HD_EXHIBIT_LABEL, name));
    hd_text_pen_put_at(p, at[2], HD_INK_PLAIN, hd_exhibit_label(g, s->says.piece, HD_EXHIBIT_LABEL, name));
    hd_text_pen_put_to(p, at[3], HD_INK_PLAIN, hd_exhibit_number(g, s->p, buf));
    if (s->looks) {
        hd_text_pen_put_at(p, at[4], HD_INK_PLAIN,
                           hd_exhibit_label(g, g->of->source[s->where].piece, HD_EXHIBIT_LABEL, name));
        hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM, hd_exhibit_number(g, s->share, buf));
    }
    hd_text_pen_end(p);
}

static void put_steps(hd_exhibit_page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char name[HD_LABEL];
    int reads = 5, says = 4;
    bool looks = false;
    for (size_t i = 0; i < x->steps; i++) {
        hd_text_pen_widen(&reads, hd_exhibit_label(g, x->step[i].reads.piece, HD_EXHIBIT_LABEL, name));
        hd_text_pen_widen(&says, hd_exhibit_label(g, x->step[i].says.piece, HD_EXHIBIT_LABEL, name));
        looks = looks || x->step[i].looks;
    }
    int at[5] = {HD_EXHIBIT_INDENT + 4, HD_EXHIBIT_INDENT + 6};
    at[2] = at[1] + reads + HD_EXHIBIT_BEHIND_LABEL, at[3] = at[2] + says + 4 + g->look->digits;
    at[4] = at[3] + HD_EXHIBIT_BEHIND_LABEL;
    hd_text_pen_put_to(p, at[0], HD_INK_DIM, "step");
    hd_text_pen_put_at(p, at[1], HD_INK_DIM, "reads");
    hd_text_pen_put_at(p, at[2], HD_INK_DIM, "says");
    hd_text_pen_put_to(p, at[3], HD_INK_DIM, "p");
    if (looks) hd_text_pen_put_at(p, at[4], HD_INK_DIM, "looks most at");
    hd_text_pen_end(p);
    for (size_t i = 0; i < x->steps; i++) put_step(g, i, at);
}

static void put_shares(hd_exhibit_page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char line[160], buf[3][HD_EXHIBIT_NUMBER], name[HD_LABEL];
    if (!x->shares) return;
    snprintf(line, sizeof line, "How %s got its probability",
             hd_exhibit_label(g, x->top[0].token.piece, HD_EXHIBIT_LABEL, name));
    hd_text_pen_heading(p, "", line);
    if (x->discounts)
        hd_text_pen_paragraph(p, "From the shortest context to the longest: p = (seen - discount) / total + "
                                 "passed * p of the line above. Above the first stands 1 / vocabulary.");
    else
        snprintf(line, sizeof line, "p = (seen + k) / (total + k V), with k = %g.", x->k),
            hd_text_pen_paragraph(p, line);
    for (size_t i = 0; i < x->shares; i++) {
        const hd_ngram_share *s = &x->share[i];
        hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_DIM, "after");
        for (size_t j = x->reads - (size_t)s->context; j < x->reads; j++)
            hd_text_pen_put_at(p, p->at + 1, HD_INK_PLAIN,
                               hd_exhibit_label(g, x->read[j].piece, HD_EXHIBIT_LABEL, name));
        if (!s->context) hd_text_pen_put_at(p, p->at + 1, HD_INK_PLAIN, "anything");
        snprintf(line, sizeof line, "seen %u of %u, %u kinds", s->seen, s->total, s->kinds);
        hd_text_pen_put_at(p, p->at + HD_EXHIBIT_BEHIND_LABEL, HD_INK_PLAIN, line);
        if (x->discounts) {
            snprintf(line, sizeof line, "discount %s, passed %s", hd_exhibit_number(g, s->discount, buf[0]),
                     hd_exhibit_number(g, s->passed, buf[1]));
            hd_text_pen_put_at(p, p->at + HD_EXHIBIT_BEHIND_LABEL, HD_INK_PLAIN, line);
        }
        hd_text_pen_put_at(p, p->at + HD_EXHIBIT_BEHIND_LABEL, HD_INK_DIM, "p");
        hd_text_pen_put_at(p, p->at + 1, HD_INK_BOLD, hd_exhibit_number(g, s->p, buf[2]));
        hd_text_pen_end(p);
    }
}

static void put_features(hd_exhibit_page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char line[160], buf[HD_EXHIBIT_NUMBER], name[HD_LABEL];
    if (!x->features) return;
    snprintf(line, sizeof line, "How %s got its logit",
             hd_exhibit_label(g, x->top[0].token.piece, HD_EXHIBIT_LABEL, name));
    hd_text_pen_heading(p, "", line);
    hd_text_pen_paragraph(
        p, "The bias and one weight for each context, which its hash finds; contexts can share one.");
    snprintf(line, sizeof line, "bias %s", hd_exhibit_number(g, x->bias, buf));
    hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_PLAIN, line);
    hd_text_pen_end(p);
    for (size_t i = 0; i < x->features; i++) {
        const hd_exhibit_feature *f = &x->feature[i];
        snprintf(line, sizeof line, "last %zu: bucket %zu, weight %s", f->context, f->bucket,
                 hd_exhibit_number(g, f->weight, buf));
        hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_PLAIN, line);
        hd_text_pen_end(p);
    }
}

static const char *const names[] = {"Encoder-decoder,", "Language model,", "Masked language model,",
                                    "Classifier,"},
                         *const beginnings[] = {"Source: pieces and ids", "Prompt: pieces and ids",
                                                "Text: pieces and ids", "Text: pieces and ids"};

static void put_beginning(hd_exhibit_page *g)
{
    const hd_exhibit *x = g->of;
    hd_text_pen *p = &g->pen;
    char line[96];
    if (x->cells[0]) {
        size_t before = x->reads - x->cells[0] * x->cells[1];
        snprintf(line, sizeof line, "%zu x %zu cells, named by row and column%s", x->cells[0], x->cells[1],
                 before > 1 ? ", and two tokens before them."
                 : before   ? ", and a token before them."
                            : ".");
        hd_text_pen_heading(p, "", "Picture");
        hd_text_pen_paragraph(p, line);
        return;
    }
    hd_text_pen_heading(p, "", beginnings[x->kind]);
    put_tokens(g, x->source ? x->source : x->read, x->source ? x->sources : x->reads);
    if (hd_exhibit_has_unknown(x)) {
        hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_DIM, HD_UNKNOWN_LEGEND);
        hd_text_pen_end(p);
    }
    if (!x->source) return;
    hd_text_pen_heading(p, "", "Translation, step by step");
    if (x->translation) {
        hd_text_pen_put_at(p, HD_EXHIBIT_INDENT, HD_INK_BOLD, x->translation);
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
    hd_exhibit_page g = {.pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8},
                         .look = look,
                         .of = x};
    if (!look->only) {
        hd_text_pen_put(&g.pen, HD_INK_BOLD,
                        x->kind == HD_EXHIBIT_LABELER && x->place ? "Tagger," : names[x->kind]);
        hd_text_pen_put_at(&g.pen, g.pen.at + 1, HD_INK_BOLD, x->model);
        hd_text_pen_end(&g.pen);
        put_beginning(&g);
    }
    hd_exhibit_put_items(&g);
    if (!look->only) put_shares(&g), put_features(&g);
    return hd_text_status(to, err);
}
