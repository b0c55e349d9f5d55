/* Series: numbers over numbers, a line for each, with a legend; as a drawing and as text. */
#ifndef HD_VIEW_DRAW_SERIES_H
#define HD_VIEW_DRAW_SERIES_H

#include "view/draw/drawing.h"
#include "view/draw/text_pen.h"

typedef struct hd_series {
    const char *name; /* valid UTF-8, as all texts here */
    const double *x, *y;
    const double *low, *high; /* how far y spreads, drawn as whiskers; NULL: nothing is known of it */
    size_t count;             /* where a number is not finite the line is broken */
    size_t color;             /* number of the color (view/plot.h); as text the number of the letter */
    bool strong;              /* a wide line with marks, as text a capital */
} hd_series;

typedef struct hd_series_plot {
    const char *title, *across, *upward; /* what is drawn, and what the axes are */
    const hd_series *series;
    size_t count;
    /* Axes by powers (of two, four or ten); numbers that have no logarithm are not drawn. */
    bool log_x, log_y;
    /* laid out */
    double left;                  /* of the axes, in pixels */
    double x_low, x_high, x_step; /* of the axis to the right and its lines; of a log axis logarithms */
    double y_low, y_high, y_step; /* of the axis upward */
} hd_series_plot;

hd_drawing hd_series_drawing(hd_series_plot *v); /* v is borrowed */

/* In the pen's width and so many rows: a letter for each series, capitals over the others. */
void hd_series_text(hd_text_pen *pen, hd_series_plot *v, int rows);

#endif
