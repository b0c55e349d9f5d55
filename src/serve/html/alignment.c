/* Words aligned by cross-attention, all heads of all layers alike, sentence by sentence. Words that are
   written alike are the same. Easy to get wrong: row i of cross-attention predicts token i, and the end of
   the source, where attention rests that looks at nothing, is no word. */
#include "serve/html/alignment.h"

#include <string.h>

#include "base/mem.h"
#include "show/attention.h"
#include "text/character.h"

typedef struct words { /* from .. to-1 of a list */
    size_t from, to;
} words;

typedef struct aligning {
    const hd_html_aligned *of;
    hd_html_links *to;
} aligning;

/* Words that have some of these bytes. */
static words words_in(const hd_html_words *w, hd_span bytes)
{
    words found = {0, w->count};
    while (found.from < found.to) {
        size_t middle = found.from + (found.to - found.from) / 2;
        if (w->at[middle].end <= bytes.begin)
            found.from = middle + 1;
        else
            found.to = middle;
    }
    while (found.to < w->count && w->at[found.to].begin < bytes.end) found.to++;
    return found;
}

static words both(words a, words b)
{
    words c = {a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
    if (c.to < c.from) c.to = c.from;
    return c;
}

/* -- a sentence -- */

typedef struct grid { /* weights of its words: [target words, source words] */
    words source, target;
    double *weight;
} grid;

static double *at(const grid *g, size_t target, size_t source)
{
    return &g->weight[(target - g->target.from) * (g->source.to - g->source.from) + source - g->source.from];
}

static void add(const grid *g, words target, words source, double weight)
{
    if (source.from == source.to) return;
    weight /= (double)(source.to - source.from);
    for (size_t t = target.from; t < target.to; t++)
        for (size_t s = source.from; s < source.to; s++) *at(g, t, s) += weight;
}

/* So that each word of the translation weighs 1. */
static void even_out(const grid *g)
{
    for (size_t t = g->target.from; t < g->target.to; t++) {
        double sum = 0;
        for (size_t s = g->source.from; s < g->source.to; s++) sum += *at(g, t, s);
        for (size_t s = g->source.from; sum > 0 && s < g->source.to; s++) *at(g, t, s) /= sum;
    }
}

/* Names, numbers and marks stay what they are; short words may be others in another language. */
static bool is_same(const hd_html_aligned *of, size_t target, size_t source)
{
    const hd_span t = of->target->at[target], s = of->source->at[source];
    const char *a = of->found->hypothesis[0].text + t.begin, *b = of->line.text + s.begin;
    int32_t point;
    size_t size = t.end - t.begin;
    if (size != s.end - s.begin || memcmp(a, b, size)) return false;
    hd_character(a, size, &point);
    return size > 3 || !hd_is_letter(point);
}

static void add_same(const grid *g, const hd_html_aligned *of)
{
    for (size_t t = g->target.from; t < g->target.to; t++)
        for (size_t s = g->source.from; s < g->source.to; s++)
            if (is_same(of, t, s)) *at(g, t, s) += 1;
}

static void link_words(const grid *g, hd_html_links *to)
{
    for (size_t t = g->target.from; t < g->target.to; t++) {
        size_t best = g->source.from;
        for (size_t s = best; s < g->source.to; s++)
            if (*at(g, t, s) > *at(g, t, best)) best = s;
        to->source[t] = best;
    }
    for (size_t s = g->source.from; s < g->source.to; s++) {
        size_t best = g->target.from;
        for (size_t t = best; t < g->target.to; t++)
            if (*at(g, t, s) > *at(g, best, s)) best = t;
        to->target[s] = best;
    }
}

static grid grid_of(const hd_html_aligned *of, size_t part)
{
    return (grid){.source = words_in(of->source, of->found->part[part]),
                  .target = words_in(of->target, of->found->hypothesis[0].part[part])};
}

/* end: where in the part's text each token ends */
static void add_attention(const grid *g, const hd_html_aligned *of, size_t part, const hd_attention_part *p,
                          const size_t *end)
{
    const hd_translation *f = of->found;
    const size_t first = part ? f->source_end[part - 1] : 0, base = f->hypothesis[0].part[part].begin;
    for (size_t i = 0; i < p->rows; i++) {
        words t =
            both(g->target, words_in(of->target, (hd_span){base + (i ? end[i - 1] : 0), base + end[i]}));
        for (size_t k = 0; t.from < t.to && k < p->cols; k++) {
            const hd_piece *piece = &f->piece[first + k];
            double weight = 0;
            for (size_t h = 0; h < p->layers * p->heads; h++)
                weight += (double)p->weight[(h * p->rows + i) * p->cols + k];
            if (piece->end > piece->begin)
                add(g, t, both(g->source, words_in(of->source, (hd_span){piece->begin, piece->end})), weight);
        }
    }
}

static hd_status align_part(void *context, size_t part, const hd_attention_maps *maps, hd_err *err)
{
    const aligning *a = context;
    const hd_html_aligned *of = a->of;
    const hd_attention_part *p = &maps->part[HD_ATTENTION_CROSS];
    const hd_hypothesis *h = &of->found->hypothesis[0];
    hd_text text = {0};
    grid g = grid_of(of, part);
    if (g.source.from == g.source.to || g.target.from == g.target.to) return HD_OK;
    const size_t cells = (g.source.to - g.source.from) * (g.target.to - g.target.from);
    size_t *end = hd_mem_array(p->rows + 1, sizeof *end);
    g.weight = hd_mem_array(cells, sizeof *g.weight);
    hd_status s = end && g.weight ? HD_OK : hd_err_nomem(err, cells * sizeof *g.weight);
    if (!s)
        s = hd_shown_ends(end, &text, of->by->tokenizer[1], h->ids + (part ? h->end[part - 1] : 0), p->rows,
                          err);
    if (!s) {
        add_attention(&g, of, part, p, end);
        even_out(&g);
        add_same(&g, of);
        link_words(&g, a->to);
    }
    hd_text_release(&text);
    hd_mem_free(end);
    hd_mem_free(g.weight);
    return s;
}

/* -- without attention -- */

static void align_evenly(const aligning *a, size_t part)
{
    const grid g = grid_of(a->of, part);
    const size_t sources = g.source.to - g.source.from, targets = g.target.to - g.target.from;
    for (size_t t = 0; sources && t < targets; t++)
        a->to->source[g.target.from + t] = g.source.from + t * sources / targets;
    for (size_t s = 0; targets && s < sources; s++)
        a->to->target[g.source.from + s] = g.target.from + s * targets / sources;
}

/* -- all of it -- */

hd_status hd_html_align(hd_html_links *out, hd_run *r, const hd_html_aligned *of, hd_err *err)
{
    const hd_model *m = &of->by->model;
    aligning a = {of, out};
    out->source = hd_mem_array(of->target->count + 1, sizeof *out->source);
    out->target = hd_mem_array(of->source->count + 1, sizeof *out->target);
    if (!out->source || !out->target)
        return hd_err_nomem(err, (of->target->count + of->source->count) * sizeof *out->source);
    for (size_t i = 0; i < of->target->count; i++) out->source[i] = HD_HTML_NONE;
    for (size_t i = 0; i < of->source->count; i++) out->target[i] = HD_HTML_NONE;
    if (m->type->attention && m->type->attention(m->self, HD_ATTENTION_CROSS).layers)
        return hd_attention_parts(
            r, &(hd_attention_of){.by = of->by, .found = of->found, .kinds = 1u << HD_ATTENTION_CROSS},
            align_part, &a, err);
    for (size_t part = 0; part < of->found->parts; part++) align_evenly(&a, part);
    return HD_OK;
}
