/* A paper: what was asked, what was measured, as words, tables and figures in the order they are read, and
   which claims held. Whoever measures adds parts without checks: a failed allocation is remembered, and the
   status is asked for once. Texts are copied, valid UTF-8. */
#ifndef HD_VIEW_PAPER_PAPER_H
#define HD_VIEW_PAPER_PAPER_H

#include "base/arena.h"
#include "base/text.h"
#include "view/paper/film.h"
#include "view/draw/series.h"
#include "view/paper/tree.h"

enum { HD_PAPER_LINES = 16 }; /* most of a plot */

typedef struct hd_paper_table {
    const char *title; /* may be NULL */
    size_t columns, left;
    hd_text cells; /* each followed by a zero byte; the first row is the head */
    size_t count;
} hd_paper_table;

typedef enum hd_paper_kind {
    HD_PAPER_WORDS,
    HD_PAPER_TABLE,
    HD_PAPER_SERIES,
    HD_PAPER_CELLS,
    HD_PAPER_TREE,
    HD_PAPER_FILM
} hd_paper_kind;

typedef struct hd_paper_part {
    hd_paper_kind kind;
    union {
        const char *words;
        hd_paper_table table;
        hd_series_plot series;
        hd_cells cells;
        hd_tree tree;
        hd_film film;
    };
} hd_paper_part;

typedef struct hd_claim {
    const char *text;  /* what is said to be true */
    bool held;         /* by what was measured */
    const char *found; /* by how much, or why not */
    const char *note;  /* where the wording is too strong; NULL: it is not */
} hd_claim;

typedef struct hd_paper {
    /* set by the owner, borrowed */
    const char *name, *title, *source; /* "vanishing", "Gradients through time", "lecture 4, row 19" */
    const char *about;                 /* the claim in a sentence */
    const char *command;               /* that makes it: "heed lab vanishing"; may be NULL */
    const char *setting;               /* "seed 1, small": how it was run; may be NULL */
    double seconds;
    /* grown */
    hd_paper_part **part;
    size_t parts, part_room;
    hd_claim *claim;
    size_t claims, claim_room;
    hd_arena memory;
    hd_err err;
} hd_paper;

void hd_paper_init(hd_paper *r); /* empties it */
void hd_paper_release(hd_paper *r);
hd_status hd_paper_status(const hd_paper *r, hd_err *err);
bool hd_paper_held(const hd_paper *r); /* all claims but those whose wording is noted as too strong */

/* A copy that lives as long as the paper; never NULL. */
const char *hd_paper_kept(hd_paper *r, const char *text);
/* A paragraph. */
void hd_paper_say(hd_paper *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A table; its cells follow, those of its head first. The first `left` columns are flush left. */
void hd_paper_table_of(hd_paper *r, const char *title, size_t columns, size_t left);
void hd_paper_cell(hd_paper *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Several cells, separated by tabs. */
void hd_paper_row(hd_paper *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A plot without lines; they follow. */
void hd_paper_plot(hd_paper *r, const hd_series_plot *plot);
/* A line of the last plot: x, y, and of a spread low and high, which may be NULL. */
void hd_paper_line(hd_paper *r, const char *name, const hd_series *line);
void hd_paper_cells(hd_paper *r, const hd_cells *cells);
void hd_paper_tree(hd_paper *r, const hd_tree *tree);
void hd_paper_film(hd_paper *r, const hd_film *film);
/* A claim, whether it held, and by how much. */
void hd_paper_claim(hd_paper *r, const char *text, bool held, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Of the last claim: its wording is too strong, and why. */
void hd_paper_note(hd_paper *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "Held:" or what else is said of it. */
const char *hd_claim_verdict(const hd_claim *c);
/* A figure of the paper as a drawing, or false: it is words or a table. */
bool hd_paper_drawing(hd_paper_part *p, hd_drawing *d);

/* -- how it is written -- */

void hd_paper_text(hd_text_pen *p, hd_paper *r);
void hd_paper_json(hd_text *to, const hd_paper *r); /* one object */
/* A page that needs nothing else; back: the address of the index, or NULL. */
hd_status hd_paper_html(hd_text *to, hd_paper *r, const char *back, hd_err *err);
/* To a file by its ending: .svg, .png, .pdf (figures alone), .html, .json. */
hd_status hd_paper_check(const char *path, hd_err *err);
hd_status hd_paper_save(const char *path, hd_paper *r, hd_err *err);

#endif
