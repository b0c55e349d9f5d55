/* Tables of text. */
#include "view/draw/table.h"

#include <limits.h>
#include <string.h>

#include "view/draw/text_pen.h"

enum { BETWEEN = 2 }; /* spaces between columns */

void hd_table_add(hd_table *t, const char *cell)
{
    hd_text_add(&t->cells, cell, strlen(cell) + 1);
    t->count++;
}

static int width_of(const hd_table *t, size_t column)
{
    const char *cell = t->cells.data;
    int most = 0;
    for (size_t i = 0; i < t->count; i++, cell += strlen(cell) + 1) {
        int width = i % t->columns == column ? hd_text_pen_columns(cell) : 0;
        if (width > most) most = width;
    }
    return most;
}

void hd_table_write(hd_text *to, hd_table *t)
{
    hd_text_pen p = {.to = to, .width = INT_MAX};
    const char *cell = t->cells.data;
    if (t->cells.missed) to->missed = t->cells.missed;
    for (size_t i = 0; !to->missed && i < t->count;) {
        int at = 0;
        for (size_t k = 0; k < t->columns && i < t->count; k++, i++, cell += strlen(cell) + 1) {
            int end = at + width_of(t, k);
            if (k < t->left)
                hd_text_pen_put_at(&p, at, HD_INK_PLAIN, cell);
            else
                hd_text_pen_put_to(&p, end, HD_INK_PLAIN, cell);
            at = end + BETWEEN;
        }
        hd_text_pen_end(&p);
    }
    hd_text_release(&t->cells);
}
