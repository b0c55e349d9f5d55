/* A pen that writes lines of text and knows its column, so that blanks are only written in front of
   something. Inks become escape codes where color is allowed; signs beyond ASCII replace ASCII ones where
   the locale has them. */
#ifndef HD_VIEW_DRAW_TEXT_PEN_H
#define HD_VIEW_DRAW_TEXT_PEN_H

#include <stdbool.h>

#include "base/text.h"

enum { HD_INK_SHADES = 6 };

typedef enum hd_ink {
    HD_INK_PLAIN,
    HD_INK_BOLD,
    HD_INK_DIM,
    HD_INK_GOOD,
    HD_INK_SHADE /* + 0 .. HD_INK_SHADES - 1: backgrounds from dark to light */
} hd_ink;

typedef struct hd_text_pen {
    hd_text *to;
    int width;        /* columns to fill */
    bool color, utf8; /* may escape codes be written, and signs beyond ASCII? */
    int at;           /* columns written in this line */
    int next;         /* where the next text goes; callers may move it to the right */
    hd_ink now;
} hd_text_pen;

int hd_text_pen_columns(
    const char *s); /* of UTF-8 text without escape codes; Chinese takes two a character */
void hd_text_pen_widen(int *width, const char *s); /* to what s takes, if that is more */

void hd_text_pen_put(hd_text_pen *p, hd_ink ink, const char *s);
void hd_text_pen_put_at(hd_text_pen *p, int column, hd_ink ink, const char *s);
void hd_text_pen_put_to(hd_text_pen *p, int end, hd_ink ink,
                        const char *s); /* flush right, before column `end` */
void hd_text_pen_end(hd_text_pen *p);   /* of the line */

/* s as the locale can show it, into buf: a middle dot for " . ", a root for "sqrt(6)", ... Returns buf. */
const char *hd_text_pen_signs(const hd_text_pen *p, const char *s, char *buf, size_t size);

/* "-0.25" into buf; a rounded zero has no sign. Returns where it begins. */
const char *hd_text_pen_number(const hd_text_pen *p, double v, int digits, char *buf, size_t size);

void hd_text_pen_words(hd_text_pen *p, hd_ink ink,
                       const char *s);                     /* with signs; broken where the width ends */
void hd_text_pen_paragraph(hd_text_pen *p, const char *s); /* plain words and the end of the line */
void hd_text_pen_heading(hd_text_pen *p, const char *part, const char *title); /* "-- part title ------" */
void hd_text_pen_bar(hd_text_pen *p, double share, int most);                  /* share of `most` columns */

#endif
