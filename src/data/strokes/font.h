/* Stroke fonts in the .jhf format of James Hurt, as Debian's hershey-fonts-data has them: a line for each
   character from 32 to 127, whose lines are those of a pen and not outlines. The fonts were made by Dr. A. V.
   Hershey at the U. S. National Bureau of Standards. */
#ifndef HD_DATA_STROKES_FONT_H
#define HD_DATA_STROKES_FONT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { HD_FONT_FIRST = 32, HD_FONT_GLYPHS = 96, HD_FONT_POINTS = 16384 };

typedef struct hd_font_point {
    int8_t x, y; /* y runs down; capitals reach from -12 to 9 */
    bool up;     /* the pen is lifted before it */
} hd_font_point;

typedef struct hd_glyph {
    int8_t left, right; /* where it begins and ends: neighbors lie edge to edge */
    uint16_t first, count;
} hd_glyph;

typedef struct hd_font {
    hd_glyph glyph[HD_FONT_GLYPHS];
    hd_font_point point[HD_FONT_POINTS];
} hd_font;

/* HD_EFORMAT names the file and the line. */
hd_status hd_font_read(hd_font *out, const char *path, hd_err *err);

/* The glyph of a character; NULL: the font has none. */
const hd_glyph *hd_font_glyph(const hd_font *f, int character);

#endif
