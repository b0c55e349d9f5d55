/* What a verb lists: a table of text, or names with values. */
#ifndef HD_CLI_FRAME_TABLE_H
#define HD_CLI_FRAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Cells are added row by row, and every column is as wide as its widest cell. */
typedef struct hd_table {
    size_t columns, left; /* columns, and how many of them, from the first, are flush left */
    hd_text cells;        /* each followed by a zero byte */
    size_t count;
} hd_table;

/* The next cell, in UTF-8; after the last column a new row begins. */
void hd_table_add(hd_table *t, const char *cell);

/* Appends the table and releases its cells. A failure stays in the text. */
void hd_table_write(hd_text *to, hd_table *t);

/* Names with values, shown as aligned lines or as the members of one JSON object. */
typedef struct hd_fields {
    hd_text out; /* without the brace that ends an object */
    bool json;
    bool begun;
} hd_fields;

void hd_fields_name(hd_fields *s, const char *name); /* the caller writes the value */
void hd_fields_text(hd_fields *s, const char *name, const char *value);
void hd_fields_whole(hd_fields *s, const char *name, uint64_t value);
void hd_fields_real(hd_fields *s, const char *name, double value, const char *unit); /* unit: only in lines */
void hd_fields_switch(hd_fields *s, const char *name, bool value);

#endif
