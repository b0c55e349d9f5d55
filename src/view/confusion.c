/* The matrix of confusions, as text and as a picture. A cell's color is its share of its row: rare classes
   are seen as well as frequent ones. */
#include "view/confusion.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file/lines.h"
#include "base/mem.h"
#include "view/plot.h"
#include "view/draw/markup.h"

static size_t cell_of(const hd_confusion *c, size_t truth, size_t guess)
{
    return hd_confusion_count(c, truth, guess);
}

static size_t most_of(const hd_confusion *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->room; i++) most = c->cell[i].count > most ? c->cell[i].count : most;
    return most;
}

static bool is_matrix(const hd_confusion *c)
{
    return c->classes <= HD_CONFUSION_MATRIX;
}

/* -- text -- */

enum { NAME_MOST = 20, HEAD_MOST = 5, GAP = 1, SHARE = 8, SHOWN = 5 };

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

static const char *name_of(const hd_text_pen *p, const char *label, int most, char buf[HD_LABEL])
{
    return hd_label_of(buf, label, &(hd_label_opt){columns_of, NULL, most, !p->utf8});
}

static int digits_of(size_t n)
{
    int digits = 1;
    for (; n >= 10; n /= 10) digits++;
    return digits;
}

/* Columns of a cell, its gap included. */
static int cell_wide(const hd_text_pen *p, const hd_confusion_view *v)
{
    int wide = 1;
    char buf[HD_LABEL];
    int digits = digits_of(most_of(v->of));
    wide = digits > wide ? digits : wide;
    for (size_t i = 0; i < v->of->classes; i++) {
        int head = hd_text_pen_columns(name_of(p, v->label[i], HEAD_MOST, buf));
        wide = head > wide ? head : wide;
    }
    return wide + GAP;
}

static void put_row(hd_text_pen *p, const hd_confusion_view *v, size_t truth, int left, int wide)
{
    char buf[HD_LABEL];
    hd_class_score s = hd_confusion_class(v->of, truth);
    hd_text_pen_put_at(p, 0, HD_INK_PLAIN, name_of(p, v->label[truth], NAME_MOST, buf));
    for (size_t k = 0; k < v->of->classes; k++) {
        size_t n = cell_of(v->of, truth, k);
        snprintf(buf, sizeof buf, n ? "%zu" : ".", n);
        hd_text_pen_put_to(p, left + (int)(k + 1) * wide,
                           !n           ? HD_INK_DIM
                           : k == truth ? HD_INK_GOOD
                                        : HD_INK_PLAIN,
                           buf);
    }
    if (s.true_items)
        snprintf(buf, sizeof buf, "%.1f %%", 100 * s.recall);
    else
        snprintf(buf, sizeof buf, "-");
    hd_text_pen_put_to(p, left + (int)v->of->classes * wide + GAP + SHARE, HD_INK_PLAIN, buf);
    hd_text_pen_end(p);
}

static void put_matrix(hd_text_pen *p, const hd_confusion_view *v)
{
    char buf[HD_LABEL];
    int left = 0, wide = cell_wide(p, v);
    for (size_t i = 0; i < v->of->classes; i++) {
        int name = hd_text_pen_columns(name_of(p, v->label[i], NAME_MOST, buf));
        left = name > left ? name : left;
    }
    left += GAP;
    for (size_t k = 0; k < v->of->classes; k++)
        hd_text_pen_put_to(p, left + (int)(k + 1) * wide, HD_INK_BOLD,
                           name_of(p, v->label[k], HEAD_MOST, buf));
    hd_text_pen_put_to(p, left + (int)v->of->classes * wide + GAP + SHARE, HD_INK_BOLD, "right");
    hd_text_pen_end(p);
    for (size_t i = 0; i < v->of->classes; i++) put_row(p, v, i, left, wide);
}

/* The cells of a row, in `to`: as many as are shown, the most frequent first; returns how many there are. */
static size_t most_frequent(const hd_confusion_cell *cell, size_t n, const hd_confusion_cell *to[SHOWN])
{
    size_t shown = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = shown < SHOWN ? shown : SHOWN;
        while (at && cell[i].count > to[at - 1]->count) at--;
        if (at == SHOWN) continue;
        shown = shown < SHOWN ? shown + 1 : SHOWN;
        for (size_t k = shown - 1; k > at; k--) to[k] = to[k - 1];
        to[at] = &cell[i];
    }
    return shown;
}

/* "name 12" */
static void put_cell(hd_text_pen *p, const hd_confusion_view *v, const hd_confusion_cell *cell,
                     const char *before)
{
    char name[HD_LABEL], count[32];
    snprintf(count, sizeof count, " %zu", cell->count);
    hd_text_pen_put(p, HD_INK_PLAIN, before);
    hd_text_pen_put(p, cell->guess == cell->truth ? HD_INK_GOOD : HD_INK_PLAIN,
                    name_of(p, v->label[cell->guess], NAME_MOST, name));
    hd_text_pen_put(p, HD_INK_PLAIN, count);
}

/* A line for each label that occurs, with what it is taken for. */
static hd_status put_list(hd_text_pen *p, const hd_confusion_view *v, hd_err *err)
{
    hd_confusion_cell *cell = NULL;
    char buf[HD_LABEL];
    hd_text_pen wide = *p;
    wide.width = INT_MAX;
    hd_status s = hd_confusion_sorted(v->of, &cell, err);
    if (s) return s;
    for (size_t i = 0, n; i < v->of->cells; i += n) {
        const hd_confusion_cell *often[SHOWN];
        for (n = 1; i + n < v->of->cells && cell[i + n].truth == cell[i].truth;) n++;
        hd_class_score c = hd_confusion_class(v->of, cell[i].truth);
        size_t shown = most_frequent(cell + i, n, often);
        hd_text_pen_put_at(&wide, 0, HD_INK_PLAIN, name_of(p, v->label[cell[i].truth], NAME_MOST, buf));
        snprintf(buf, sizeof buf, "%.1f %%", 100 * c.recall);
        hd_text_pen_put_to(&wide, NAME_MOST + GAP + SHARE, HD_INK_PLAIN, buf);
        snprintf(buf, sizeof buf, " of %zu: ", c.true_items);
        for (size_t k = 0; k < shown; k++) put_cell(&wide, v, often[k], k ? ", " : buf);
        if (shown < n) hd_text_pen_put(&wide, HD_INK_PLAIN, ", ...");
        hd_text_pen_end(&wide);
    }
    hd_mem_free(cell);
    return HD_OK;
}

hd_status hd_confusion_text(hd_text_pen *p, const hd_confusion_view *v, hd_err *err)
{
    double near = hd_confusion_near(v->of);
    hd_status s = HD_OK;
    if (is_matrix(v->of))
        put_matrix(p, v);
    else
        s = put_list(p, v, err);
    hd_text_print(p->to, "accuracy %.2f %% (%zu of %zu), macro-F1 %.2f %%",
                  100 * hd_confusion_accuracy(v->of), v->of->right, v->of->count,
                  100 * hd_confusion_macro_f1(v->of));
    if (v->of->classes == 2)
        hd_text_print(p->to, ", F1 of %s %.2f %%", v->label[1], 100 * hd_confusion_class(v->of, 1).f1);
    hd_text_print(p->to, ", Matthews %.4f", hd_confusion_matthews(v->of));
    if (!isnan(near)) hd_text_print(p->to, ", top-5 accuracy %.2f %%", 100 * near);
    hd_text_put(p->to, "\n");
    return s;
}

/* -- JSON -- */

/* Cells of the row `truth`, from *at on, which goes to the next one's. */
static void put_taken_for(hd_text *to, const hd_confusion_view *v, size_t truth,
                          const hd_confusion_cell *cell, size_t *at)
{
    if (is_matrix(v->of)) {
        hd_text_put(to, "[");
        for (size_t k = 0; k < v->of->classes; k++)
            hd_text_print(to, k ? ", %zu" : "%zu", cell_of(v->of, truth, k));
        hd_text_put(to, "]");
        return;
    }
    hd_text_put(to, "{");
    for (const char *comma = ""; *at < v->of->cells && cell[*at].truth == truth; ++*at, comma = ", ") {
        hd_text_put(to, comma);
        hd_markup_json(to, v->label[cell[*at].guess], false);
        hd_text_print(to, ": %zu", cell[*at].count);
    }
    hd_text_put(to, "}");
}

hd_status hd_confusion_json(hd_text *to, const hd_confusion_view *v, hd_err *err)
{
    const hd_confusion *c = v->of;
    hd_confusion_cell *cell = NULL;
    size_t at = 0;
    hd_status status = hd_confusion_sorted(c, &cell, err);
    if (status) return status;
    hd_text_print(to, "{\"items\": %zu, \"right\": %zu, \"accuracy\": ", c->count, c->right);
    hd_markup_number(to, hd_confusion_accuracy(c), 9);
    hd_text_put(to, ", \"macro_f1\": ");
    hd_markup_number(to, hd_confusion_macro_f1(c), 9);
    if (c->classes == 2) {
        hd_text_put(to, ", \"f1\": ");
        hd_markup_number(to, hd_confusion_class(c, 1).f1, 9);
    }
    hd_text_put(to, ", \"matthews\": ");
    hd_markup_number(to, hd_confusion_matthews(c), 9);
    if (!isnan(hd_confusion_near(c))) {
        hd_text_put(to, ", \"top5_accuracy\": ");
        hd_markup_number(to, hd_confusion_near(c), 9);
    }
    hd_text_put(to, ", \"labels\": [");
    for (size_t i = 0; i < c->classes; i++) {
        hd_class_score s = hd_confusion_class(c, i);
        hd_text_put(to, i ? ", {\"label\": " : "{\"label\": ");
        hd_markup_json(to, v->label[i], false);
        hd_text_print(to, ", \"items\": %zu, \"guessed\": %zu, \"precision\": ", s.true_items, s.guessed);
        hd_markup_number(to, s.precision, 9);
        hd_text_put(to, ", \"recall\": ");
        hd_markup_number(to, s.recall, 9);
        hd_text_put(to, ", \"f1\": ");
        hd_markup_number(to, s.f1, 9);
        hd_text_put(to, ", \"taken_for\": ");
        put_taken_for(to, v, i, cell, &at);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "]}\n");
    hd_mem_free(cell);
    return HD_OK;
}

/* -- a picture -- */

static const double longest_label = 160;
static const char caption[] = "rows: what it is; columns: what it is taken for";

static void lay_out(hd_drawing *d, const hd_canvas *c)
{
    hd_confusion_view *v = d->context;
    char buf[HD_LABEL];
    double names = 0, n = (double)v->of->classes;
    for (size_t i = 0; i < v->of->classes; i++)
        names = fmax(names, hd_plot_label(c, v->label[i], HD_PLOT_LETTERS, longest_label, buf));
    snprintf(buf, sizeof buf, "%zu", most_of(v->of));
    v->cell = fmax(24, ceil(c->width(c->context, buf, HD_PLOT_SMALL, false)) + HD_PLOT_GAP);
    v->left = HD_PLOT_MARGIN + names + HD_PLOT_GAP;
    v->top = HD_PLOT_MARGIN + HD_PLOT_LARGE + 2 * HD_PLOT_GAP + names + HD_PLOT_GAP;
    d->title = v->title;
    double wide = fmax(v->left + n * v->cell,
                       HD_PLOT_MARGIN + fmax(c->width(c->context, v->title, HD_PLOT_LARGE, true),
                                             c->width(c->context, caption, HD_PLOT_SMALL, false)));
    d->width = ceil(wide + HD_PLOT_MARGIN);
    d->height = ceil(v->top + n * v->cell + 2 * HD_PLOT_GAP + HD_PLOT_SMALL + HD_PLOT_MARGIN);
}

/* From white to blue. */
static hd_color shade_of(double share)
{
    const hd_color full = hd_plot_color(0);
    return (hd_color){(uint8_t)(255 - share * (255 - full.red)), (uint8_t)(255 - share * (255 - full.green)),
                      (uint8_t)(255 - share * (255 - full.blue))};
}

static void draw_cell(const hd_confusion_view *v, const hd_canvas *c, size_t truth, size_t guess, size_t row)
{
    size_t n = cell_of(v->of, truth, guess);
    double x = v->left + (double)guess * v->cell, y = v->top + (double)truth * v->cell;
    char number[32], tip[2 * HD_LABEL + 64];
    snprintf(tip, sizeof tip, "%.*s as %.*s: %zu of %zu", HD_LABEL - 1, v->label[truth], HD_LABEL - 1,
             v->label[guess], n, row);
    tip[hd_utf8_good(tip, strlen(tip))] = 0; /* a long label may have been cut inside a letter */
    c->rect(c->context, &(hd_canvas_rect){x, y, v->cell - 1, v->cell - 1,
                                          shade_of(row ? (double)n / (double)row : 0), c->tips ? tip : NULL});
    if (!n) return;
    snprintf(number, sizeof number, "%zu", n);
    hd_plot_write(c, (hd_canvas_text){.x = x + (v->cell - 1) / 2,
                                      .y = y + v->cell / 2 + HD_PLOT_SMALL * 0.36,
                                      .size = HD_PLOT_SMALL,
                                      .anchor = HD_ANCHOR_MIDDLE,
                                      .color = hd_plot_ink,
                                      .text = number});
}

static void draw_names(const hd_confusion_view *v, const hd_canvas *c, size_t i)
{
    char buf[HD_LABEL];
    double middle = ((double)i + 0.5) * v->cell + HD_PLOT_LETTERS * 0.36;
    hd_plot_label(c, v->label[i], HD_PLOT_LETTERS, longest_label, buf);
    hd_canvas_text t = {.size = HD_PLOT_LETTERS, .color = hd_plot_ink, .text = buf};
    t.x = v->left - HD_PLOT_GAP, t.y = v->top + middle, t.anchor = HD_ANCHOR_END;
    hd_plot_write(c, t);
    t.x = v->left + middle, t.y = v->top - HD_PLOT_GAP, t.anchor = HD_ANCHOR_START, t.turned = 90;
    hd_plot_write(c, t);
}

static hd_status draw(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    const hd_confusion_view *v = d->context;
    (void)err;
    hd_plot_begin(d, c, v->title);
    for (size_t i = 0; i < v->of->classes; i++) {
        size_t row = hd_confusion_class(v->of, i).true_items;
        draw_names(v, c, i);
        for (size_t k = 0; k < v->of->classes; k++) draw_cell(v, c, i, k, row);
    }
    hd_plot_write(c, (hd_canvas_text){.x = HD_PLOT_MARGIN,
                                      .y = d->height - HD_PLOT_MARGIN,
                                      .size = HD_PLOT_SMALL,
                                      .color = hd_plot_faint,
                                      .text = caption});
    return HD_OK;
}

hd_status hd_confusion_save(const char *path, hd_confusion_view *v, hd_err *err)
{
    hd_drawing d = {.lay_out = lay_out, .draw = draw, .context = v};
    if (!is_matrix(v->of))
        return hd_err_set(err, HD_ELIMIT, "%s: a matrix of %zu labels is too large to draw: at most %d", path,
                          v->of->classes, HD_CONFUSION_MATRIX);
    return hd_plot_save(path, &d, err);
}
