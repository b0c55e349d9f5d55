/* What a model did with a text, as text for people: tokens, steps, then every item with its name, its shape
   and its formula, rows labeled by tokens. */
#ifndef HD_VIEW_EXPLAIN_EXHIBIT_TEXT_H
#define HD_VIEW_EXPLAIN_EXHIBIT_TEXT_H

#include "base/text.h"
#include "show/exhibit.h"

enum { HD_EXHIBIT_MEAN = 0, HD_EXHIBIT_ALL = -1 }; /* the mean of all heads; each, one after the other */

typedef struct hd_exhibit_look {
    int width;        /* columns to fill */
    bool color;       /* escape codes */
    bool utf8;        /* signs beyond ASCII */
    int digits;       /* decimals */
    int columns;      /* numbers of a row that are shown; 0: what fits */
    int head;         /* of attention: 1, 2, ..., or one of these */
    const char *only; /* glob pattern of names; NULL: all, with tokens and steps before them */
} hd_exhibit_look;

/* Appends to `to`. Lines have no trailing spaces. */
hd_status hd_exhibit_text(hd_text *to, const hd_exhibit *x, const hd_exhibit_look *look, hd_err *err);

#endif
