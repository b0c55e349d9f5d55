/* Tables of text, and names with values. */
#include "cli/frame/table.h"

#include <limits.h>
#include <string.h>

#include "view/draw/markup.h"
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

/* -- names with values -- */

void hd_fields_name(hd_fields *s, const char *name)
{
    if (s->json) {
        hd_text_put(&s->out, s->begun ? ", " : "{");
        hd_markup_json(&s->out, name, false);
        hd_text_put(&s->out, ": ");
    } else {
        hd_text_print(&s->out, "%-22s", name);
    }
    s->begun = true;
}

void hd_fields_text(hd_fields *s, const char *name, const char *value)
{
    hd_fields_name(s, name);
    if (s->json)
        hd_markup_json(&s->out, value, false);
    else
        hd_text_print(&s->out, "%s\n", value);
}

void hd_fields_whole(hd_fields *s, const char *name, uint64_t value)
{
    char grouped[32];
    hd_fields_name(s, name);
    if (s->json)
        hd_text_print(&s->out, "%llu", (unsigned long long)value);
    else
        hd_text_print(&s->out, "%s\n", hd_grouped(value, grouped));
}

void hd_fields_real(hd_fields *s, const char *name, double value, const char *unit)
{
    hd_fields_name(s, name);
    hd_markup_number(&s->out, value, s->json ? 17 : 6);
    if (!s->json) hd_text_print(&s->out, "%s\n", unit);
}

void hd_fields_switch(hd_fields *s, const char *name, bool value)
{
    hd_fields_name(s, name);
    hd_text_put(&s->out, s->json ? value ? "true" : "false" : value ? "yes\n" : "no\n");
}
