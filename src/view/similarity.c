/* A matrix of cosines, as text and as a picture. */
#include "view/similarity.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "view/plot.h"
#include "view/draw/cells.h"
#include "view/draw/markup.h"

/* -- contexts -- */

enum { AROUND = 24 /* characters on either side of the word */ };

static bool inside(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* "... a red [apple] with ...", into buf. A line is valid UTF-8. */
static const char *context_of(char buf[HD_LABEL], const hd_place *p, const hd_label_opt *o)
{
    size_t from = p->begin, to = p->end, size = strlen(p->text);
    const char *more = o->ascii ? "..." : "…";
    char word[HD_LABEL], raw[4 * HD_LABEL];
    for (int i = 0; i < AROUND && from; i++) do
            from--;
        while (from && inside(p->text, from));
    for (int i = 0; i < AROUND && to < size; i++) do
            to++;
        while (to < size && inside(p->text, to));
    snprintf(word, sizeof word, "%.*s", (int)(p->end - p->begin), p->text + p->begin);
    word[hd_utf8_good(word, strlen(word))] = 0; /* a long one may have been cut inside a letter */
    snprintf(raw, sizeof raw, "%s%.*s[%s]%.*s%s", from ? more : "", (int)(p->begin - from), p->text + from,
             word, (int)(to - p->end), p->text + p->end, to < size ? more : "");
    return hd_label_of(buf, raw, o);
}

/* -- text -- */

enum { NUMBER = 4, CELL = 6, DIGITS = 2 };

static double columns_of(void *context, const char *text)
{
    (void)context;
    return hd_text_pen_columns(text);
}

void hd_similarity_text(hd_text_pen *p, const hd_similarity_view *v)
{
    const hd_similar *s = v->of;
    const hd_label_opt wide = {columns_of, NULL, HD_LABEL, !p->utf8};
    char buf[HD_LABEL];
    for (size_t i = 0; i < s->count; i++) {
        snprintf(buf, sizeof buf, "%zu", i + 1);
        hd_text_pen_put_to(p, NUMBER, HD_INK_BOLD, buf);
        snprintf(buf, sizeof buf, "  line %zu: ", s->at[i].line);
        hd_text_pen_put(p, HD_INK_DIM, buf);
        hd_text_pen_put(p, HD_INK_PLAIN, context_of(buf, &s->at[i], &wide));
        hd_text_pen_end(p);
    }
    hd_text_pen_end(p);
    for (size_t k = 0; k < s->count; k++) {
        snprintf(buf, sizeof buf, "%zu", k + 1);
        hd_text_pen_put_to(p, NUMBER + (int)(k + 1) * CELL, HD_INK_BOLD, buf);
    }
    hd_text_pen_end(p);
    for (size_t i = 0; i < s->count; i++) {
        snprintf(buf, sizeof buf, "%zu", i + 1);
        hd_text_pen_put_to(p, NUMBER, HD_INK_BOLD, buf);
        for (size_t k = 0; k < s->count; k++)
            hd_text_pen_put_to(p, NUMBER + (int)(k + 1) * CELL, i == k ? HD_INK_DIM : HD_INK_PLAIN,
                               hd_text_pen_number(p, hd_similar_cosine(s, i, k), DIGITS, buf, sizeof buf));
        hd_text_pen_end(p);
    }
}

/* -- JSON -- */

void hd_similarity_json(hd_text *to, const hd_similarity_view *v)
{
    const hd_similar *s = v->of;
    hd_text_put(to, "{\"word\": ");
    hd_markup_json(to, s->word, false);
    hd_text_print(to, ", \"layer\": %d, \"places\": [", v->layer);
    for (size_t i = 0; i < s->count; i++) {
        hd_text_print(to, "%s{\"line\": %zu, \"begin\": %zu, \"end\": %zu, \"text\": ", i ? ", " : "",
                      s->at[i].line, s->at[i].begin, s->at[i].end);
        hd_markup_json(to, s->at[i].text, false);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "], \"cosines\": [");
    for (size_t i = 0; i < s->count; i++) {
        hd_text_put(to, i ? ", [" : "[");
        for (size_t k = 0; k < s->count; k++) {
            if (k) hd_text_put(to, ", ");
            hd_markup_number(to, hd_similar_cosine(s, i, k), 9);
        }
        hd_text_put(to, "]");
    }
    hd_text_put(to, "]}\n");
}

/* -- a picture -- */

/* Everything the drawing needs is made before it: texts around the words are its row names. */
hd_status hd_similarity_save(const char *path, const hd_similarity_view *v, hd_err *err)
{
    const size_t n = v->of->count;
    const hd_label_opt wide = {columns_of, NULL, HD_LABEL, false};
    double *value = hd_mem_array(n * n, sizeof *value);
    char(*text)[HD_LABEL] = hd_mem_array(n, sizeof *text);
    const char **row = hd_mem_array(n, sizeof *row);
    hd_status s = value && text && row ? HD_OK : hd_err_nomem(err, n * n * sizeof *value);
    for (size_t i = 0; !s && i < n; i++) {
        row[i] = context_of(text[i], &v->of->at[i], &wide);
        for (size_t k = 0; k < n; k++) value[i * n + k] = hd_similar_cosine(v->of, i, k);
    }
    hd_cells cells = {
        .title = v->title, .value = value, .rows = n, .cols = n, .row = row, .full = 1, .digits = DIGITS};
    hd_drawing d = hd_cells_drawing(&cells);
    if (!s) s = hd_plot_save(path, &d, err);
    hd_mem_free(row);
    hd_mem_free(text);
    hd_mem_free(value);
    return s;
}
