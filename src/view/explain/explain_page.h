/* The page that the worked example is written on, for the files that write it. */
#ifndef HD_VIEW_EXPLAIN_EXPLAIN_PAGE_H
#define HD_VIEW_EXPLAIN_EXPLAIN_PAGE_H

#include "view/draw/text_pen.h"
#include "view/explain/explain_text.h"

typedef struct hd_explain_page {
    hd_text_pen pen;
    const hd_explain_look *look;
} hd_explain_page;

/* The name of row or column i, into buf; returns buf. */
const char *hd_explain_label(hd_lecture_axis a, size_t i, char *buf, size_t size);

void hd_explain_put_matrices(hd_explain_page *g, const hd_explain *x); /* those that are asked for */

#endif
