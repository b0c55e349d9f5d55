/* Offsets of a pen as models have them: less the mean and over the deviation of the training data. */
#ifndef HD_DATA_STROKES_SCALE_H
#define HD_DATA_STROKES_SCALE_H

#include "data/strokes/strokes.h"
#include "tensor/tensor.h"

typedef struct hd_pen_scale {
    float mean[2], deviation[2]; /* of offsets across and down */
} hd_pen_scale;

/* That of all lines. HD_EFORMAT: there are no offsets, or all are alike. */
hd_status hd_pen_scale_measure(hd_pen_scale *to, const hd_strokes *s, hd_err *err);
/* HD_EARG where it is none; `model` has it. */
hd_status hd_pen_scale_check(const hd_pen_scale *s, const char *model, hd_err *err);

/* Across or down from a point to the next. */
static inline double hd_pen_offset(const hd_pen_point *p, int axis)
{
    return axis ? (double)(p[1].y - p[0].y) : (double)(p[1].x - p[0].x);
}

/* The offset to p[1], which lies behind p[0], and whether the pen is lifted there. */
static inline void hd_pen_scaled(hd_real to[3], const hd_pen_scale *s, const hd_pen_point *p)
{
    for (int axis = 0; axis < 2; axis++)
        to[axis] = (hd_real)((hd_pen_offset(p, axis) - (double)s->mean[axis]) / (double)s->deviation[axis]);
    to[2] = p[1].lift;
}

/* Nats a point of the best single Gaussian and lifting that know nothing of what came before, fitted to the
   lines: what a model has to beat. */
double hd_pen_baseline(const hd_pen_scale *s, const hd_strokes *lines);

#endif
