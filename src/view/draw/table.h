/* A table of text: cells are added row by row, and every column is as wide as its widest cell. */
#ifndef HD_VIEW_DRAW_TABLE_H
#define HD_VIEW_DRAW_TABLE_H

#include "base/text.h"

typedef struct hd_table {
    size_t columns, left; /* columns, and how many of them, from the first, are flush left */
    hd_text cells;        /* each followed by a zero byte */
    size_t count;
} hd_table;

/* The next cell, in UTF-8; after the last column a new row begins. */
void hd_table_add(hd_table *t, const char *cell);

/* Appends the table and releases its cells. A failure stays in the text. */
void hd_table_write(hd_text *to, hd_table *t);

#endif
