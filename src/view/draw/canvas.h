/* What a picture is drawn on. x runs right and y down, in pixels of a screen. */
#ifndef HD_VIEW_DRAW_CANVAS_H
#define HD_VIEW_DRAW_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/image/image.h"

typedef struct hd_color {
    uint8_t red, green, blue;
} hd_color;

typedef struct hd_canvas_rect {
    double x, y, width, height;
    hd_color fill;
    const char *tip; /* shown when pointed at; NULL: nothing */
} hd_canvas_rect;

typedef struct hd_canvas_line {
    double x, y, to_x, to_y, wide;
    hd_color color;
} hd_canvas_line;

typedef struct hd_canvas_image {
    double x, y, width, height;
    const hd_image *image;
    bool smooth; /* between pixels; otherwise each is a square */
} hd_canvas_image;

typedef enum hd_anchor { HD_ANCHOR_START, HD_ANCHOR_MIDDLE, HD_ANCHOR_END } hd_anchor;

typedef struct hd_canvas_text {
    double x, y, size; /* of its anchor on the base line; of the letters */
    int turned;        /* degrees, anticlockwise around the anchor */
    hd_anchor anchor;
    hd_color color;
    bool bold;
    const char *text, *tip; /* tip as above */
} hd_canvas_text;

typedef struct hd_canvas {
    double (*width)(void *context, const char *text, double size,
                    bool bold); /* may be a guess, not too small */
    void (*rect)(void *context, const hd_canvas_rect *r);
    void (*text)(void *context, const hd_canvas_text *t);
    void (*line)(void *context, const hd_canvas_line *l); /* round at its ends */
    hd_status (*image)(void *context, const hd_canvas_image *i, hd_err *err);
    void *context;
    bool tips; /* whether it shows them; they are not made otherwise */
    /* What follows is frame i of so many, which are shown one after the other; i == of: there are no more.
       NULL: nothing moves here. */
    void (*frame)(void *context, size_t i, size_t of);
} hd_canvas;

#endif
