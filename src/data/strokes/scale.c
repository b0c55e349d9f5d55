/* Means and deviations of the offsets of a pen. */
#include "data/strokes/scale.h"

#include <math.h>

hd_status hd_pen_scale_measure(hd_pen_scale *to, const hd_strokes *s, hd_err *err)
{
    for (int axis = 0; axis < 2; axis++) {
        double sum = 0, squares = 0, n = 0;
        for (size_t i = 0; i < s->count; i++)
            for (size_t k = 1; k < hd_strokes_points(s, i); k++, n++)
                sum += hd_pen_offset(hd_strokes_line(s, i) + k - 1, axis);
        for (size_t i = 0; n > 0 && i < s->count; i++)
            for (size_t k = 1; k < hd_strokes_points(s, i); k++) {
                double d = hd_pen_offset(hd_strokes_line(s, i) + k - 1, axis) - sum / n;
                squares += d * d;
            }
        to->mean[axis] = n > 0 ? (float)(sum / n) : 0,
        to->deviation[axis] = n > 0 ? (float)sqrt(squares / n) : 0;
        if (!(to->deviation[axis] > 0))
            return hd_err_set(err, HD_EFORMAT,
                              "the handwriting has no strokes to learn from: all its points "
                              "lie in one place or line");
    }
    return HD_OK;
}

hd_status hd_pen_scale_check(const hd_pen_scale *s, const char *model, hd_err *err)
{
    for (int i = 0; i < 2; i++)
        if (!isfinite(s->mean[i]) || !(s->deviation[i] > 0) || !isfinite(s->deviation[i]))
            return hd_err_set(err, HD_EARG, "%s: points of mean %g and deviation %g", model,
                              (double)s->mean[i], (double)s->deviation[i]);
    return HD_OK;
}

double hd_pen_baseline(const hd_pen_scale *scale, const hd_strokes *s)
{
    double n = 0, lifted = 0, product = 0;
    hd_real x[3];
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 1; k < hd_strokes_points(s, i); k++, n++) {
            hd_pen_scaled(x, scale, hd_strokes_line(s, i) + k - 1);
            lifted += (double)x[2], product += (double)x[0] * (double)x[1];
        }
    /* of numbers whose deviations are 1: the entropy of a Gaussian with this correlation */
    double rho = product / n, e = lifted / n, pen = 0;
    if (e > 0 && e < 1) pen = -e * log(e) - (1 - e) * log(1 - e);
    return 1 + log(2 * 3.14159265358979323846) + 0.5 * log(1 - rho * rho) + pen;
}
