/* A paper at the terminal. */
#include <stdio.h>
#include <string.h>

#include "view/paper/paper.h"
#include "view/draw/table.h"

enum { ROWS = 16 }; /* of a plot */

static void put_table(hd_text_pen *p, const hd_paper_table *t)
{
    hd_table copy = {.columns = t->columns, .left = t->left};
    const char *cell = t->cells.data;
    if (t->title) {
        hd_text_pen_put(p, HD_INK_BOLD, t->title);
        hd_text_pen_end(p);
    }
    for (size_t i = 0; i < t->count; i++, cell += strlen(cell) + 1) hd_table_add(&copy, cell);
    hd_table_write(p->to, &copy);
}

static void put_claim(hd_text_pen *p, const hd_claim *c)
{
    hd_text_pen_words(p, c->held ? HD_INK_GOOD : HD_INK_BOLD, hd_claim_verdict(c));
    hd_text_pen_words(p, HD_INK_PLAIN, c->text);
    hd_text_pen_end(p);
    hd_text_pen_paragraph(p, c->found);
    if (c->note) hd_text_pen_paragraph(p, c->note);
}

void hd_paper_text(hd_text_pen *p, hd_paper *r)
{
    char line[160];
    hd_text_pen_heading(p, r->name, r->title);
    hd_text_pen_paragraph(p, r->about);
    snprintf(line, sizeof line, "%s%s%s", r->source, r->setting ? "; " : "", r->setting ? r->setting : "");
    hd_text_pen_words(p, HD_INK_DIM, line);
    hd_text_pen_end(p);
    for (size_t i = 0; i < r->parts; i++) {
        hd_paper_part *part = r->part[i];
        hd_text_pen_end(p);
        switch (part->kind) {
        case HD_PAPER_WORDS:
            hd_text_pen_paragraph(p, part->words);
            break;
        case HD_PAPER_TABLE:
            put_table(p, &part->table);
            break;
        case HD_PAPER_SERIES:
            hd_series_text(p, &part->series, ROWS);
            break;
        case HD_PAPER_CELLS:
            hd_cells_text(p, &part->cells);
            break;
        case HD_PAPER_TREE:
            hd_tree_text(p, &part->tree);
            break;
        case HD_PAPER_FILM:
            hd_film_text(p, &part->film);
            break;
        }
    }
    for (size_t i = 0; i < r->claims; i++) {
        hd_text_pen_end(p);
        put_claim(p, &r->claim[i]);
    }
}
