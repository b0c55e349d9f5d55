/* A paper as one JSON object. */
#include <string.h>

#include "view/paper/paper.h"
#include "view/draw/json_members.h"

enum { DIGITS = 9 };

static void put_numbers(hd_text *to, const char *key, const double *n, size_t count)
{
    if (!n) return;
    hd_member_begin(to, key, '[');
    for (size_t i = 0; i < count; i++) hd_member_number(to, NULL, n[i], DIGITS);
    hd_member_end(to, ']');
}

static void put_names(hd_text *to, const char *key, const char *const *name, size_t count)
{
    if (!name) return;
    hd_member_begin(to, key, '[');
    for (size_t i = 0; i < count; i++) hd_member_text(to, NULL, name[i]);
    hd_member_end(to, ']');
}

static void put_table(hd_text *to, const hd_paper_table *t)
{
    const char *cell = t->cells.data;
    hd_member_text(to, "title", t->title);
    hd_member_begin(to, "rows", '[');
    for (size_t i = 0; i < t->count; i++, cell += strlen(cell) + 1) {
        if (i % t->columns == 0) hd_member_begin(to, NULL, '[');
        hd_member_text(to, NULL, cell);
        if ((i + 1) % t->columns == 0 || i + 1 == t->count) hd_member_end(to, ']');
    }
    hd_member_end(to, ']');
}

static void put_series(hd_text *to, const hd_series_plot *v)
{
    hd_member_text(to, "title", v->title);
    hd_member_text(to, "across", v->across);
    hd_member_text(to, "upward", v->upward);
    hd_member_begin(to, "lines", '[');
    for (size_t i = 0; i < v->count; i++) {
        const hd_series *s = &v->series[i];
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "name", s->name);
        put_numbers(to, "x", s->x, s->count);
        put_numbers(to, "y", s->y, s->count);
        put_numbers(to, "low", s->low, s->count);
        put_numbers(to, "high", s->high, s->count);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_rows(hd_text *to, const char *key, const hd_cells *v)
{
    hd_member_begin(to, key, '[');
    for (size_t i = 0; i < v->rows; i++) put_numbers(to, NULL, v->value + i * v->cols, v->cols);
    hd_member_end(to, ']');
}

static void put_names_of(hd_text *to, const hd_cells *v)
{
    hd_member_text(to, "title", v->title);
    hd_member_text(to, "across", v->across);
    hd_member_text(to, "downward", v->downward);
    put_names(to, "row_names", v->row, v->rows);
    put_names(to, "column_names", v->col, v->cols);
}

static void put_frames(hd_text *to, const hd_film *v)
{
    put_names_of(to, &v->cells);
    put_names(to, "captions", v->caption, v->count);
    hd_member_begin(to, "frames", '[');
    for (size_t i = 0; i < v->count; i++) {
        hd_cells c = hd_film_at(v, i);
        put_rows(to, NULL, &c);
    }
    hd_member_end(to, ']');
}

static void put_tree(hd_text *to, const hd_tree *v)
{
    hd_member_text(to, "title", v->title);
    hd_member_text(to, "about", v->about);
    hd_member_begin(to, "twigs", '[');
    for (size_t i = 0; i < v->count; i++) {
        hd_member_begin(to, NULL, '{');
        hd_member_number(to, "parent", v->twig[i].parent, DIGITS);
        hd_member_text(to, "name", v->twig[i].name);
        hd_member_number(to, "value", v->twig[i].value, DIGITS);
        hd_member_text(to, "state", hd_twig_names[v->twig[i].state]);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_part(hd_text *to, const hd_paper_part *p)
{
    static const char *const kinds[] = {"words", "table", "plot", "cells", "tree", "film"};
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "kind", kinds[p->kind]);
    switch (p->kind) {
    case HD_PAPER_WORDS:
        hd_member_text(to, "text", p->words);
        break;
    case HD_PAPER_TABLE:
        put_table(to, &p->table);
        break;
    case HD_PAPER_SERIES:
        put_series(to, &p->series);
        break;
    case HD_PAPER_CELLS:
        put_names_of(to, &p->cells);
        put_rows(to, "rows", &p->cells);
        break;
    case HD_PAPER_FILM:
        put_frames(to, &p->film);
        break;
    case HD_PAPER_TREE:
        put_tree(to, &p->tree);
        break;
    }
    hd_member_end(to, '}');
}

void hd_paper_json(hd_text *to, const hd_paper *r)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "name", r->name);
    hd_member_text(to, "title", r->title);
    hd_member_text(to, "source", r->source);
    hd_member_text(to, "about", r->about);
    hd_member_text(to, "setting", r->setting);
    hd_member_number(to, "seconds", r->seconds, 4);
    hd_member_flag(to, "held", hd_paper_held(r));
    hd_member_begin(to, "claims", '[');
    for (size_t i = 0; i < r->claims; i++) {
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "claim", r->claim[i].text);
        hd_member_flag(to, "held", r->claim[i].held);
        hd_member_text(to, "found", r->claim[i].found);
        hd_member_text(to, "note", r->claim[i].note);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
    hd_member_begin(to, "parts", '[');
    for (size_t i = 0; i < r->parts; i++) put_part(to, r->part[i]);
    hd_member_end(to, ']');
    hd_member_end(to, '}');
    hd_text_put(to, "\n");
}
