/* The page that an exhibit is written on, for the files that write it. */
#ifndef HD_VIEW_EXPLAIN_EXHIBIT_PAGE_H
#define HD_VIEW_EXPLAIN_EXHIBIT_PAGE_H

#include "view/draw/label.h"
#include "view/draw/text_pen.h"
#include "view/explain/exhibit_text.h"

/* Columns before a line, behind a label and of one; bytes of a number. */
enum { HD_EXHIBIT_INDENT = 2, HD_EXHIBIT_BEHIND_LABEL = 2, HD_EXHIBIT_LABEL = 16, HD_EXHIBIT_NUMBER = 64 };

typedef struct hd_exhibit_page {
    hd_text_pen pen;
    const hd_exhibit_look *look;
    const hd_exhibit *of;
} hd_exhibit_page;

/* A token as a label of so many columns; a number with the digits that are asked for. Into buf, or constant.
 */
const char *hd_exhibit_label(const hd_exhibit_page *g, const char *token, int most, char buf[HD_LABEL]);
const char *hd_exhibit_number(const hd_exhibit_page *g, double v, char buf[HD_EXHIBIT_NUMBER]);

void hd_exhibit_put_items(hd_exhibit_page *g); /* those that are asked for */

#endif
