/* The ladder: bits per character of several language models as bars, one below the other. */
#ifndef HD_VIEW_LADDER_H
#define HD_VIEW_LADDER_H

#include "view/draw/drawing.h"

typedef struct hd_rung {
    const char *name;   /* valid UTF-8, as all texts here */
    const char *detail; /* "lstm, char": stands behind the number; may be NULL */
    double bits;        /* per character; where it is not a number there is no bar */
} hd_rung;

typedef struct hd_ladder {
    const hd_rung *rung;
    size_t count;
    const char *title;
    double left, unit; /* laid out: where bars begin, and how long a bit is */
} hd_ladder;

/* To a file that hd_plot_check allows. */
hd_status hd_ladder_save(const char *path, hd_ladder *l, hd_err *err);

#endif
