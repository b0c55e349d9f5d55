/* A sweep: several kinds measured at several points with all seeds, as a plot with whiskers and a table. */
#ifndef HD_LAB_SWEEP_H
#define HD_LAB_SWEEP_H

#include "lab/experiment.h"

enum { HD_SWEEP_KINDS = HD_PAPER_LINES, HD_SWEEP_POINTS = HD_SPREAD_POINTS }; /* most */

typedef struct hd_sweep {
    const char *title, *across, *upward; /* of the plot */
    const char *caption, *corner;        /* of the table, and of its first column; caption NULL: no table */
    const char *format;                  /* of a number in the table: "%.0f" */
    bool log_x, log_y;
    size_t every; /* the table has each such point, and the last; 0: all */
    double scale; /* of the numbers that are shown: 100 for percent; 0: 1 */
    /* set by hd_sweep_new */
    const char *kind[HD_SWEEP_KINDS]; /* names */
    size_t kinds;
    double x[HD_SWEEP_POINTS];
    size_t points;
    /* measured */
    double value[HD_SWEEP_KINDS][HD_LAB_SEEDS][HD_SWEEP_POINTS];
    hd_spread spread[HD_SWEEP_KINDS][HD_SWEEP_POINTS]; /* of all seeds, scaled; set by hd_sweep_put */
} hd_sweep;

/* Kinds are rows of a table, of that size, that begin with their name; points are whole numbers, by default
   1, 2, 3 and so on. What is shown is set by the caller, who frees it. */
hd_status hd_sweep_new(hd_sweep **out, const void *rows, size_t size, size_t kinds, const int32_t *at,
                       size_t points, hd_err *err);
void hd_sweep_free(hd_sweep *w); /* accepts NULL */
/* Its numbers are shares of words said right, its points the lengths of the source. */
void hd_sweep_words(hd_sweep *w);
/* Its points are updates, of which a full laboratory has more. */
void hd_sweep_stretch(hd_sweep *w, const hd_lab *lab);

/* Measures every kind with every seed: one(values of its points, lab, kind, seed, context). */
typedef hd_status hd_sweep_one(double *value, const hd_lab *lab, size_t kind, uint64_t seed, void *context,
                               hd_err *err);
hd_status hd_sweep_measure(hd_sweep *w, const hd_lab *lab, hd_sweep_one *one, void *context, hd_err *err);
/* Plot and table. */
void hd_sweep_put(hd_paper *to, hd_sweep *w, const hd_lab *lab);

#endif
