/* A sum is computed at x with its gradient, and a little to both sides by each number of x. */
#include "lab/decoding/slope.h"

#include <math.h>
#include <string.h>

#include "lab/desk.h"

#define STEP 0.01

typedef struct weighed {
    double sum, gradient[HD_SLOPE_WORDS];
} weighed;

static hd_status weigh(weighed *to, hd_run *r, const double *x, const double *by, size_t words, double heat,
                       hd_err *err)
{
    double w[HD_SLOPE_WORDS];
    hd_run_begin(r, HD_TRAIN);
    hd_tensor *leaf = hd_desk_rows(r, 1, words, x);
    if (leaf) leaf->wants_grad = true;
    hd_tensor *soft = hd_softmax(r, hd_scale(r, leaf, (float)(1 / heat)));
    hd_sum_loss(r, hd_mul(r, soft, hd_desk_rows(r, 1, words, by)), 1);
    hd_backward(r);
    hd_status s = hd_run_status(r, err);
    if (s) return s;
    hd_desk_read(w, r, soft), hd_desk_read(to->gradient, r, leaf->grad);
    to->sum = 0;
    for (size_t i = 0; i < words; i++) to->sum += w[i] * by[i];
    return hd_run_status(r, err);
}

hd_status hd_slope_measure(hd_slope *to, hd_run *r, const double *x, const double *by, size_t words,
                           double heat, hd_err *err)
{
    weighed here, less, more;
    hd_status s = weigh(&here, r, x, by, words, heat, err);
    *to = (hd_slope){0};
    for (size_t i = 0; !s && i < words; i++) {
        double beside[HD_SLOPE_WORDS];
        memcpy(beside, x, words * sizeof *x);
        beside[i] = x[i] - STEP, s = weigh(&less, r, beside, by, words, heat, err);
        beside[i] = x[i] + STEP;
        if (!s) s = weigh(&more, r, beside, by, words, heat, err);
        if (s) break;
        to->size = fmax(to->size, fabs(here.gradient[i]));
        to->gap = fmax(to->gap, fabs(here.gradient[i] - (more.sum - less.sum) / (2 * STEP)));
    }
    return s;
}
