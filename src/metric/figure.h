/* A score with its name, as reports and tables show it. */
#ifndef HD_METRIC_FIGURE_H
#define HD_METRIC_FIGURE_H

#include <stdbool.h>

#include "base/text.h"

typedef struct hd_figure {
    const char *name, *title; /* "macro_f1", "macro-F1"; name NULL: none; title NULL: only logs have it */
    double value;
    bool share; /* shown in percent */
    bool less;  /* the less the better */
    int places; /* shown with so many decimals, if it is no share; 0: 4 */
} hd_figure;

enum { HD_FIGURES = 8 }; /* most of one model */

/* "accuracy 95.00 %", behind what stands before it. */
void hd_figure_put(hd_text *to, const hd_figure *f, const char *before);

#endif
