/* Boxes as center and size (cx, cy, w, h; sizes are not negative) and the error that detection learns from,
   the same on every backend and for matching on the host. */
#ifndef HD_BACKEND_BOX_H
#define HD_BACKEND_BOX_H

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

/* One axis of two intervals: what they share, what they span, and how each changes with the ends. */
typedef struct hd_box_axis {
    double shared, span;
    double shared_low, shared_high; /* share of x in the larger low end and the smaller high end: 0 or 1 */
    double span_low, span_high;     /* likewise of the smaller low end and the larger high end */
} hd_box_axis;

HD_BOTH static inline hd_box_axis hd_box_axis_of(double x, double w, double t, double v)
{
    double x0 = x - w / 2, x1 = x + w / 2, t0 = t - v / 2, t1 = t + v / 2;
    hd_box_axis a;
    a.shared_low = x0 > t0, a.shared_high = x1 < t1;
    a.span_low = x0<t0, a.span_high = x1> t1;
    a.shared = (x1 < t1 ? x1 : t1) - (x0 > t0 ? x0 : t0);
    a.span = (x1 > t1 ? x1 : t1) - (x0 < t0 ? x0 : t0);
    if (a.shared <= 0) a.shared = 0, a.shared_low = a.shared_high = -1; /* no slope */
    return a;
}

/* 1 - GIoU of boxes x and t: 2 - shared/union - union/hull. dx, dt [4] (or NULL) get its slopes. Boxes
   without area have an IoU of 0; where the hull has none either, the result is 1. */
HD_BOTH static inline double hd_box_error_of(const double x[4], const double t[4], double *dx, double *dt)
{
    hd_box_axis a[2] = {hd_box_axis_of(x[0], x[2], t[0], t[2]), hd_box_axis_of(x[1], x[3], t[1], t[3])};
    double shared = a[0].shared * a[1].shared, all = x[2] * x[3] + t[2] * t[3] - shared,
           hull = a[0].span * a[1].span;
    double iou = all > 0 ? shared / all : 0, filled = hull > 0 ? all / hull : 1;
    /* slopes of the error by shared area, union and hull; the union falls as the shared area grows */
    double by_all = (all > 0 ? iou / all : 0) - (hull > 0 ? 1 / hull : 0),
           by_shared = (all > 0 ? -1 / all : 0) - by_all, by_hull = hull > 0 ? filled / hull : 0;
    for (int k = 0; k < 2; k++) {
        const hd_box_axis *m = &a[k], *n = &a[1 - k];
        double s = by_shared * n->shared, h = by_hull * n->span;
        if (m->shared_low < 0) s = 0;
        /* the high end of x pushes by `high`, the low one by `low` */
        double high = s * m->shared_high + h * m->span_high, low = -s * m->shared_low - h * m->span_low;
        double t_high = s * (1 - m->shared_high) + h * (1 - m->span_high),
               t_low = -s * (1 - m->shared_low) - h * (1 - m->span_low);
        if (dx) dx[k] = high + low, dx[2 + k] = (high - low) / 2 + by_all * x[3 - k];
        if (dt) dt[k] = t_high + t_low, dt[2 + k] = (t_high - t_low) / 2 + by_all * t[3 - k];
    }
    return 2 - iou - filled;
}

#endif
