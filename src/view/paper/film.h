/* A film: cells that change, such as what is learned. An SVG shows them one after the other, without end;
   where nothing moves there is the last one, as there is for whoever asked for less motion. */
#ifndef HD_VIEW_PAPER_FILM_H
#define HD_VIEW_PAPER_FILM_H

#include "view/draw/cells.h"

typedef struct hd_film {
    hd_cells cells;             /* all but the values */
    const double *value;        /* [count, rows, cols] */
    const char *const *caption; /* of each frame, valid UTF-8 */
    size_t count;
} hd_film;

hd_drawing hd_film_drawing(hd_film *v); /* v is borrowed */

/* The first, one between, and the last. */
void hd_film_text(hd_text_pen *p, const hd_film *v);

/* The cells of one frame. */
hd_cells hd_film_at(const hd_film *v, size_t i);

#endif
