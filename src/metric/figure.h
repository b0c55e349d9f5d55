/* A score with its name, as reports and tables show it. */
#ifndef HD_METRIC_FIGURE_H
#define HD_METRIC_FIGURE_H

#include <stdbool.h>

typedef struct hd_figure {
    const char *name, *title; /* "macro_f1", "macro-F1"; NULL: none */
    double value;
    bool share; /* shown in percent */
} hd_figure;

enum { HD_FIGURES = 4 }; /* most of one model */

#endif
