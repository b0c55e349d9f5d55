/* Makes lines of handwriting from stroke fonts: a hand is a font with a slant, a size, a drift of the base
   line, a tremor and a habit of joining letters, and every line is of another hand. Points lie about as far
   apart as a pen of constant speed leaves them. All follows from the seed and the number of a line. */
#ifndef HD_DATA_STROKES_SCRIBE_H
#define HD_DATA_STROKES_SCRIBE_H

#include "base/rng.h"
#include "data/strokes/font.h"
#include "data/strokes/strokes.h"

/* Where Debian's hershey-fonts-data has its fonts. */
#define HD_FONTS_FOLDER "/usr/share/hershey-fonts"

/* X(file): fonts whose letters are single strokes. */
#define HD_SCRIBE_FONT_LIST(X) X(scripts) X(cursive) X(futural) X(rowmans)

typedef enum hd_scribe_font {
#define X(file) HD_SCRIBE_##file,
    HD_SCRIBE_FONT_LIST(X)
#undef X
        HD_SCRIBE_FONTS
} hd_scribe_font;

enum { HD_SCRIBE_UNIT = 100 }; /* of points, in a unit of the fonts: capitals are 2100 high */

typedef struct hd_scribe {
    hd_font font[HD_SCRIBE_FONTS];
} hd_scribe;

typedef struct hd_hand {
    hd_scribe_font font;
    double slant, scale;                  /* how far it leans right; size */
    double drift, wave, length, phase;    /* of the base line: a slope, and a wave of this height */
    double bend, bend_length, bend_phase; /* letters are bent by waves of this size */
    double space;                         /* between letters, beside what the font has */
    double joins;                         /* share of letters that touch which are joined */
    double step, uneven, tremor;          /* between points; how much that varies; of every point */
} hd_hand;

/* Reads the fonts. A folder without them: HD_EFILE says what to install. */
hd_status hd_scribe_open(hd_scribe **out, const char *folder, hd_err *err);
void hd_scribe_free(hd_scribe *s); /* accepts NULL */

hd_hand hd_hand_draw(hd_rng *rng);
/* Appends the points of a text, whose characters are ASCII; the first lies at 0, 0. */
hd_status hd_scribe_write(hd_pen_points *to, const hd_scribe *s, const hd_hand *hand, const char *text,
                          hd_rng *rng, hd_err *err);

/* Line number `number` of a seed: what it says, and its points. Both replace what was there. */
hd_status hd_scribe_line(hd_text *text, hd_pen_points *points, const hd_scribe *s, uint64_t seed,
                         uint64_t number, hd_err *err);

#endif
