/* Handwriting as the points of a pen, and its files. A file is plain text, a line of handwriting each:

       attention is<tab>0,0 120,-45 260,-80;410,15 430,22 ...

   what is written, a tab, then its strokes with semicolons between, each of points x,y with spaces between,
   in the order in which the pen met them. x runs right and y down, in any unit; fractions are allowed. Files
   may be compressed (base/file/packed.h). */
#ifndef HD_DATA_STROKES_STROKES_H
#define HD_DATA_STROKES_STROKES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file/folder.h"
#include "base/file/lines.h"
#include "base/text.h"

/* Of a line of handwriting. */
enum { HD_STROKES_POINTS = 20000, HD_STROKES_LETTERS = 1000, HD_STROKES_FARTHEST = 10000000 };

typedef struct hd_pen_point {
    float x, y;
    bool lift; /* the pen is lifted behind it */
} hd_pen_point;

typedef struct hd_pen_points {
    hd_pen_point *at;
    size_t count, room;
} hd_pen_points;

typedef struct hd_strokes {
    hd_pen_points points; /* of all lines */
    hd_text texts;        /* what they say, each with a zero byte behind it */
    size_t *first;        /* [count + 1] points */
    size_t *text;         /* [count] where its text begins */
    size_t count, room[2];
    uint64_t hash; /* of all of it */
} hd_strokes;

/* The file that a path stands for: itself, or of a folder its file `name`, of which *there says whether it is
   there; of a file NULL is fine. */
hd_status hd_strokes_place(char to[HD_PATH], const char *path, const char *name, bool *there, hd_err *err);

/* Why these bytes cannot be the text of a line, whose file would be read as another; NULL: they can. */
const char *hd_strokes_text_fault(hd_line text);

/* Adds the lines of a file. HD_EFORMAT names the file and the line. */
hd_status hd_strokes_read(hd_strokes *to, const char *path, hd_err *err);
/* Adds one. */
hd_status hd_strokes_add(hd_strokes *to, hd_line text, const hd_pen_point *point, size_t count, hd_err *err);
void hd_strokes_release(hd_strokes *s); /* accepts {0} */

/* Moves about a fraction of the lines, drawn by the seed, to `held`, which is empty; at least one stays. */
hd_status hd_strokes_split(hd_strokes *s, double fraction, uint64_t seed, hd_strokes *held, hd_err *err);

static inline size_t hd_strokes_points(const hd_strokes *s, size_t i)
{
    return s->first[i + 1] - s->first[i];
}
static inline const hd_pen_point *hd_strokes_line(const hd_strokes *s, size_t i)
{
    return s->points.at + s->first[i];
}
static inline const char *hd_strokes_text(const hd_strokes *s, size_t i)
{
    return s->texts.data + s->text[i];
}

/* A line of such a file, with the newline. */
void hd_strokes_put(hd_text *to, const char *text, const hd_pen_point *point, size_t count);

hd_status hd_pen_points_add(hd_pen_points *p, hd_pen_point point, hd_err *err);
void hd_pen_points_release(hd_pen_points *p); /* accepts {0} */

#endif
