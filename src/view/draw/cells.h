/* Cells: a matrix whose numbers are shades, with the names of rows and columns; as a drawing and as text. */
#ifndef HD_VIEW_DRAW_CELLS_H
#define HD_VIEW_DRAW_CELLS_H

#include "view/draw/drawing.h"
#include "view/draw/text_pen.h"

typedef struct hd_cells {
    const char *title;
    const char *across, *downward; /* what columns and rows are; may be NULL */
    const double *value;           /* [rows, cols]; what is not finite stays empty */
    size_t rows, cols;
    const char *const *row, *const *col; /* names, valid UTF-8; NULL: none */
    double full;                         /* what has the full shade; below 0 another color has it */
    int digits;                          /* behind the point, in the cells; below 0: no numbers there */
    /* laid out */
    double left, top, cell, height;
} hd_cells;

hd_drawing hd_cells_drawing(hd_cells *v); /* v is borrowed */

/* Numbers where they fit into the pen's width, shades otherwise. */
void hd_cells_text(hd_text_pen *p, const hd_cells *v);

#endif
