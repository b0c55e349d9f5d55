/* Text of the worked example: what stands around its matrices, and its training. */
#include "view/explain/explain_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/explain/explain_page.h"

enum { LINES = 25 }; /* of the training, about */

const char *hd_explain_label(hd_lecture_axis a, size_t i, char *buf, size_t size)
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

static void put_dataset(hd_explain_page *g)
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

static void put_loss(hd_explain_page *g, const hd_explain *x)
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
        hd_text_pen_put(p, HD_INK_PLAIN, hd_explain_label(HD_LECTURE_TARGET, i, buf, sizeof buf));
        hd_text_pen_put_at(p, target, HD_INK_BOLD, hd_lecture_words[t->target]);
        hd_text_pen_put_to(p, share, HD_INK_PLAIN,
                           hd_text_pen_number(&g->pen, (double)row[t->target], digits, buf, sizeof buf));
        hd_text_pen_put_to(p, cost, HD_INK_PLAIN,
                           hd_text_pen_number(&g->pen, t->loss, digits, buf, sizeof buf));
        hd_text_pen_put_at(p, says, HD_INK_PLAIN, hd_lecture_words[t->predicted]);
        hd_text_pen_put_at(p, p->at + 1, HD_INK_DIM,
                           hd_text_pen_number(&g->pen, (double)row[t->predicted], digits, buf, sizeof buf));
        hd_text_pen_end(p);
    }
    hd_text_pen_put_at(p, target, HD_INK_PLAIN, "mean");
    hd_text_pen_put_to(p, cost, HD_INK_BOLD, hd_text_pen_number(&g->pen, x->loss, digits, buf, sizeof buf));
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

static void put_training(hd_explain_page *g, const hd_explain *x)
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
    hd_explain_page g = {.pen = {.to = to, .width = look->width, .color = look->color, .utf8 = look->utf8},
                         .look = look};
    bool whole = !look->only && !look->no_matrices;
    if (whole) put_dataset(&g);
    if (!look->no_matrices) hd_explain_put_matrices(&g, x);
    if (whole) put_loss(&g, x);
    if (x->steps) put_training(&g, x);
    return hd_text_status(to, err);
}
