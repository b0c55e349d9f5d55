/* The worked example as text for people: section by section in the lecture's order, with formulas and word
 * labels. */
#ifndef HD_VIEW_EXPLAIN_EXPLAIN_TEXT_H
#define HD_VIEW_EXPLAIN_EXPLAIN_TEXT_H

#include "base/text.h"
#include "show/lecture.h"

typedef struct hd_explain_look {
    int width;        /* columns to fill */
    bool color;       /* escape codes: bold, dim, softmax as a heat map */
    bool utf8;        /* signs beyond ASCII */
    int digits;       /* decimals of values; gradients have two more */
    const char *only; /* glob pattern of names; NULL: all, with dataset and loss around them */
    bool no_matrices; /* training alone */
} hd_explain_look;

/* Appends to `to`. Lines have no trailing spaces. */
hd_status hd_explain_text(hd_text *to, const hd_explain *x, const hd_explain_look *look, hd_err *err);

#endif
