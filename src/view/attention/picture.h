/* The heat map of one attention map: where everything stands, whatever it is drawn on. Rows attend to
 * columns.
 */
#ifndef HD_VIEW_ATTENTION_PICTURE_H
#define HD_VIEW_ATTENTION_PICTURE_H

#include "base/text.h"
#include "show/attention.h"
#include "view/draw/drawing.h"

/* The smallest round number (1, 0.8, 0.6, ...) that no weight exceeds: what the darkest color stands for. */
double hd_attention_scale(const hd_attention_map *m);
/* The color of a weight that is this share of the scale. */
hd_color hd_attention_color(double share);

typedef struct hd_attention_picture {
    const hd_attention_map *map;
    double width, height;
    double left, top; /* of the cells */
    double cell;      /* side of one */
    double overhang;  /* how far slanted labels reach up and to the side */
    double scale;     /* the weight of the darkest color */
    bool values;      /* numbers in the cells */
    bool below;       /* column labels below the cells too, and */
    bool right;       /* row labels right of them: in a large map the others are far away */
    char title[128];
} hd_attention_picture;

/* It is laid out and drawn when it is written. Both are borrowed. */
hd_drawing hd_attention_drawing(hd_attention_picture *p, const hd_attention_map *map);

#endif
