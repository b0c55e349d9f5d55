/* What pages of papers share. */
#ifndef HD_VIEW_PAPER_PAGE_H
#define HD_VIEW_PAPER_PAGE_H

#include "base/text.h"

/* The head of a page, with the style of all. */
void hd_page_begin(hd_text *to, const char *title);

#endif
