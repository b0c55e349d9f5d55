/* What a paper holds. */
#include "view/paper/paper.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { CHUNK = 1 << 16 };

void hd_paper_init(hd_paper *r)
{
    *r = (hd_paper){0};
    hd_arena_init(&r->memory, hd_allocator_host, CHUNK);
}

void hd_paper_release(hd_paper *r)
{
    for (size_t i = 0; i < r->parts; i++)
        if (r->part[i]->kind == HD_PAPER_TABLE) hd_text_release(&r->part[i]->table.cells);
    hd_mem_free(r->part);
    hd_mem_free(r->claim);
    hd_arena_release(&r->memory);
    hd_paper_init(r);
}

hd_status hd_paper_status(const hd_paper *r, hd_err *err)
{
    hd_status s = r->err.status;
    if (s) *err = r->err;
    for (size_t i = 0; !s && i < r->parts; i++)
        if (r->part[i]->kind == HD_PAPER_TABLE) s = hd_text_status(&r->part[i]->table.cells, err);
    return s;
}

bool hd_paper_held(const hd_paper *r)
{
    bool held = r->claims;
    for (size_t i = 0; i < r->claims; i++) held = held && (r->claim[i].held || r->claim[i].note);
    return held;
}

/* -- parts -- */

static void *kept(hd_paper *r, const void *bytes, size_t size)
{
    return r->err.status ? NULL : hd_arena_copy(&r->memory, bytes, size, &r->err);
}

static const char *kept_text(hd_paper *r, const char *text)
{
    const char *copy = text ? kept(r, text, strlen(text)) : NULL;
    return copy || !text ? copy : "";
}

const char *hd_paper_kept(hd_paper *r, const char *text)
{
    return kept_text(r, text);
}

static const char *printed(hd_paper *r, const char *format, va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, args);
    return kept_text(r, text);
}

static hd_paper_part *add(hd_paper *r, hd_paper_kind kind)
{
    hd_paper_part *p = r->err.status ? NULL : hd_arena_array(&r->memory, 1, sizeof *p, &r->err);
    if (!p || hd_mem_reserve(&r->part, &r->part_room, r->parts + 1, sizeof *r->part, &r->err)) return NULL;
    p->kind = kind;
    return r->part[r->parts++] = p;
}

static hd_paper_part *last(hd_paper *r, hd_paper_kind kind)
{
    return !r->err.status && r->parts && r->part[r->parts - 1]->kind == kind ? r->part[r->parts - 1] : NULL;
}

void hd_paper_say(hd_paper *r, const char *format, ...)
{
    hd_paper_part *p = add(r, HD_PAPER_WORDS);
    va_list args;
    va_start(args, format);
    if (p) p->words = printed(r, format, args);
    va_end(args);
}

void hd_paper_table_of(hd_paper *r, const char *title, size_t columns, size_t left)
{
    hd_paper_part *p = add(r, HD_PAPER_TABLE);
    if (p) p->table = (hd_paper_table){.title = kept_text(r, title), .columns = columns, .left = left};
}

void hd_paper_cell(hd_paper *r, const char *format, ...)
{
    hd_paper_part *p = last(r, HD_PAPER_TABLE);
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p) hd_text_add(&p->table.cells, text, strlen(text) + 1), p->table.count++;
}

void hd_paper_row(hd_paper *r, const char *format, ...)
{
    char text[512], *at = text, *end;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (; (end = strchr(at, '\t')); at = end + 1) *end = 0, hd_paper_cell(r, "%s", at);
    hd_paper_cell(r, "%s", at);
}

void hd_paper_plot(hd_paper *r, const hd_series_plot *plot)
{
    hd_paper_part *p = add(r, HD_PAPER_SERIES);
    if (!p) return;
    p->series = *plot;
    p->series.title = kept_text(r, plot->title), p->series.across = kept_text(r, plot->across);
    p->series.upward = kept_text(r, plot->upward);
    p->series.count = 0;
    p->series.series = hd_arena_array(&r->memory, HD_PAPER_LINES, sizeof(hd_series), &r->err);
}

static const double *numbers(hd_paper *r, const double *n, size_t count)
{
    return n ? kept(r, n, count * sizeof *n) : NULL;
}

void hd_paper_line(hd_paper *r, const char *name, const hd_series *line)
{
    hd_paper_part *p = last(r, HD_PAPER_SERIES);
    if (!p || p->series.count == HD_PAPER_LINES) return;
    hd_series *s = (hd_series *)p->series.series + p->series.count;
    *s = (hd_series){.name = kept_text(r, name),
                     .x = numbers(r, line->x, line->count),
                     .y = numbers(r, line->y, line->count),
                     .low = numbers(r, line->low, line->count),
                     .high = numbers(r, line->high, line->count),
                     .count = line->count,
                     .color = p->series.count,
                     .strong = line->count <= 24};
    if (!r->err.status) p->series.count++;
}

static const char *const *names(hd_paper *r, const char *const *name, size_t count)
{
    const char **copy = name ? hd_arena_array(&r->memory, count, sizeof *copy, &r->err) : NULL;
    for (size_t i = 0; copy && i < count; i++) copy[i] = kept_text(r, name[i]);
    return copy;
}

static hd_cells kept_cells(hd_paper *r, const hd_cells *cells)
{
    hd_cells c = *cells;
    c.title = kept_text(r, cells->title), c.across = kept_text(r, cells->across);
    c.downward = kept_text(r, cells->downward);
    c.row = names(r, cells->row, cells->rows), c.col = names(r, cells->col, cells->cols);
    return c;
}

void hd_paper_cells(hd_paper *r, const hd_cells *cells)
{
    hd_paper_part *p = add(r, HD_PAPER_CELLS);
    if (!p) return;
    p->cells = kept_cells(r, cells);
    p->cells.value = numbers(r, cells->value, cells->rows * cells->cols);
}

void hd_paper_film(hd_paper *r, const hd_film *film)
{
    hd_paper_part *p = add(r, HD_PAPER_FILM);
    if (!p) return;
    p->film = *film;
    p->film.cells = kept_cells(r, &film->cells);
    p->film.value = numbers(r, film->value, film->count * film->cells.rows * film->cells.cols);
    p->film.caption = names(r, film->caption, film->count);
}

void hd_paper_tree(hd_paper *r, const hd_tree *tree)
{
    hd_paper_part *p = add(r, HD_PAPER_TREE);
    if (!p) return;
    p->tree = *tree;
    p->tree.title = kept_text(r, tree->title), p->tree.about = kept_text(r, tree->about);
    p->tree.twig = kept(r, tree->twig, tree->count * sizeof *tree->twig);
    if (!p->tree.twig) p->tree.count = 0;
    for (size_t i = 0; i < p->tree.count; i++) p->tree.twig[i].name = kept_text(r, tree->twig[i].name);
}

void hd_paper_claim(hd_paper *r, const char *text, bool held, const char *format, ...)
{
    va_list args;
    if (r->err.status || hd_mem_reserve(&r->claim, &r->claim_room, r->claims + 1, sizeof *r->claim, &r->err))
        return;
    va_start(args, format);
    r->claim[r->claims++] = (hd_claim){kept_text(r, text), held, printed(r, format, args), NULL};
    va_end(args);
}

void hd_paper_note(hd_paper *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!r->err.status && r->claims) r->claim[r->claims - 1].note = printed(r, format, args);
    va_end(args);
}

const char *hd_claim_verdict(const hd_claim *c)
{
    return c->held ? "Held:" : c->note ? "Did not hold as worded:" : "Did not hold:";
}

bool hd_paper_drawing(hd_paper_part *p, hd_drawing *d)
{
    if (p->kind == HD_PAPER_SERIES)
        *d = hd_series_drawing(&p->series);
    else if (p->kind == HD_PAPER_CELLS)
        *d = hd_cells_drawing(&p->cells);
    else if (p->kind == HD_PAPER_TREE)
        *d = hd_tree_drawing(&p->tree);
    else if (p->kind == HD_PAPER_FILM)
        *d = hd_film_drawing(&p->film);
    else
        return false;
    return true;
}
