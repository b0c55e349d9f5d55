/* Curves: numbers of several systems over the same points of an axis, a line with marks for each. */
#ifndef HD_VIEW_CURVES_H
#define HD_VIEW_CURVES_H

#include "view/draw/drawing.h"

typedef struct hd_curve {
    const char *name;    /* valid UTF-8, as all texts here */
    const double *value; /* [points]; where one is not a number there is no mark, and the line is broken */
} hd_curve;

typedef struct hd_curve_point {
    const char *name;   /* below the axis */
    const char *detail; /* below the name; may be NULL */
} hd_curve_point;

typedef struct hd_curves {
    const char *title, *across, *upward; /* what is drawn, and what the axes are */
    const hd_curve_point *point;
    size_t points;
    const hd_curve *curve;
    size_t curves;
    /* laid out */
    double left, apart;     /* of the first point; from point to point */
    double low, high, step; /* of the axis upward and its lines */
} hd_curves;

hd_drawing hd_curves_drawing(hd_curves *v); /* v is borrowed */

#endif
