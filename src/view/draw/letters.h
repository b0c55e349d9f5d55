/* Letters on a Cairo canvas: through Pango, which joins the letters of Arabic and others, orders those that
   go from right to left and finds a font for each; or by Cairo alone, where they stand side by side. */
#ifndef HD_VIEW_DRAW_LETTERS_H
#define HD_VIEW_DRAW_LETTERS_H

#include <cairo.h>
#include <stdbool.h>

extern const bool hd_letters_shaped; /* by Pango */

double hd_letters_width(cairo_t *c, const char *text, double size, bool bold);
/* The baseline begins at the current point. */
void hd_letters_show(cairo_t *c, const char *text, double size, bool bold);

#endif
