/* A point of a pen as a mixture of Gaussians and the lifting of the pen, and the window over characters, both
   of Graves (2013, "Generating sequences with recurrent neural networks"); the same on every backend and for
   who samples on the host. A row of outputs has 1 + 6 M columns: that of the lifting, then M each of weights,
   means across, means down, logs of deviations across, the same down, and correlations. */
#ifndef HD_BACKEND_MIXTURE_H
#define HD_BACKEND_MIXTURE_H

#include <math.h>

#include "backend/segment.h"
#include "tensor/tensor.h"

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

enum { HD_MIXTURE_EACH = 6, HD_MIXTURE_MOST = 128, HD_WINDOW_MOST = 64 };

/* Correlations stay below 1 by this: 1 - rho^2 is divided by. */
#define HD_MIXTURE_LOOSE 1e-6

typedef struct hd_gaussian {
    double across, down;     /* (x - mean) / deviation */
    double by_x, by_y;       /* 1 / deviation */
    double rho, free, apart; /* free: 1 - rho^2; apart: Z */
    double log;              /* of the density */
} hd_gaussian;

/* is: the columns of one component, from its mean across on. */
HD_BOTH static inline hd_gaussian hd_gaussian_of(double x, double y, const double is[5])
{
    const double most = 1 - HD_MIXTURE_LOOSE, log_2_pi = 1.8378770664093453;
    hd_gaussian g;
    g.by_x = exp(-is[2]), g.by_y = exp(-is[3]);
    g.across = (x - is[0]) * g.by_x, g.down = (y - is[1]) * g.by_y;
    g.rho = tanh(is[4]);
    g.rho = g.rho > most ? most : g.rho < -most ? -most : g.rho;
    g.free = 1 - g.rho * g.rho;
    g.apart = g.across * g.across + g.down * g.down - 2 * g.rho * g.across * g.down;
    g.log = -g.apart / (2 * g.free) - log_2_pi - is[2] - is[3] - 0.5 * log(g.free);
    return g;
}

/* Slopes of the loss by these columns, where the component answers for this share of the point. */
HD_BOTH static inline void hd_gaussian_slopes(const hd_gaussian *g, double share, double by[5])
{
    double c = 1 / g->free, pull = c * (g->across - g->rho * g->down),
           lift = c * (g->down - g->rho * g->across);
    by[0] = -share * pull * g->by_x;
    by[1] = -share * lift * g->by_y;
    by[2] = -share * (g->across * pull - 1);
    by[3] = -share * (g->down * lift - 1);
    by[4] = -share * (g->across * g->down + g->rho * (1 - c * g->apart));
}

/* The lifting: e = 1 / (1 + exp(z)), note the sign. Loss of a pen that is lifted (1) or not (0), its slope.
 */
HD_BOTH static inline double hd_lift_loss(double z, double lifted, double *slope)
{
    *slope = lifted - 1 / (1 + exp(z));
    return (z > 0 ? z : 0) + log1p(exp(-fabs(z))) - (1 - lifted) * z;
}

/* What one Gaussian of a window gives to the character at place u, from 1 on: exp(-beta (kappa - u)^2). Far
   away it is 0. */
HD_BOTH static inline double hd_window_reach(double beta, double kappa, double u)
{
    double far = beta * (kappa - u) * (kappa - u);
    return far < 80 ? exp(-far) : 0;
}

/* loss[r] = weight * -ln of the density of target[r] (x, y, whether the pen is lifted: 0 or 1; hd_real) under
   the mixture of M Gaussians that x[r] describes, 1 + 6 M columns; dx += coef * gradient.
   loss or dx may be NULL. A row whose lifting is below 0 weighs nothing and is not read. */
typedef struct hd_mixture_args {
    const hd_tensor *loss, *dx, *x, *target, *weight;
    float coef;
} hd_mixture_args;

/* The window over characters, walked over the rows of each segment of seg: p [R, 3K] gives alpha, beta and
   the step of kappa as exp; kappa of a row is that of the row before, at first that of start, and the step.
   y[r] = sum over the rows u of text of the same item, counted from 1, of text[u] times the sum over K of
   alpha exp(-beta (kappa - u)^2). Rows of no item are neither read nor written. */
typedef struct hd_gaussian_window {
    const hd_tensor *p, *text;
    const hd_tensor *start; /* [items, K] hd_real; NULL: zeros */
    const hd_seg *seg, *of; /* of p; of text, with as many items */
} hd_gaussian_window;

/* kappa [R, K], last [items, K] = the last kappa of an item or its start; hd_real. last may be NULL. */
typedef struct hd_window_args {
    const hd_tensor *y, *kappa, *last;
    hd_gaussian_window w;
} hd_window_args;

/* dp, dtext and dstart += ; any may be NULL, as may dy and dlast. No row of text belongs to two items. */
typedef struct hd_window_back_args {
    const hd_tensor *dp, *dtext, *dstart, *dy, *dlast, *kappa;
    hd_gaussian_window w;
} hd_window_back_args;

#endif
