/* Handwriting drawn: lines below each other; and the window of a model over its text, as Graves draws it. */
#ifndef HD_VIEW_STROKE_LINES_H
#define HD_VIEW_STROKE_LINES_H

#include "data/strokes/strokes.h"
#include "view/draw/drawing.h"

typedef struct hd_drawn_line {
    const hd_pen_point *point;
    size_t count;
    size_t faint;     /* so many of the first points are drawn faintly: a prime */
    const float *phi; /* [count, letters + 1] weights of the window; NULL: none */
    size_t letters;
    const char *const *letter; /* [letters] characters, for the side of the map */
} hd_drawn_line;

typedef struct hd_drawn_lines {
    const hd_drawn_line *line;
    size_t lines;
    double scale; /* pixels of a unit of the points */
    bool window;  /* above each line the weights of the window: points run to the right, characters upward */
    /* laid out */
    double side; /* of the letters of the maps */
} hd_drawn_lines;

hd_drawing hd_drawn_lines_drawing(hd_drawn_lines *v); /* v is borrowed */

/* The box around points. */
typedef struct hd_ink_box {
    double left, top, right, bottom;
} hd_ink_box;
hd_ink_box hd_ink_box_of(const hd_pen_point *point, size_t count);

#endif
