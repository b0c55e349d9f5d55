/* Items with labels in memory. */
#include "data/labels/labeled.h"

#include <string.h>

#include "base/mem.h"

void hd_labeled_release(hd_labeled *x)
{
    hd_mem_free(x->begin);
    hd_mem_free(x->first);
    hd_mem_free(x->end);
    hd_mem_free(x->label);
    hd_mem_free(x->value);
    hd_mem_free(x->bytes);
    *x = (hd_labeled){0};
}

/* NULL after a failure; the old block stays. */
static void *more(void *block, size_t places, size_t each, hd_err *err)
{
    void *b = hd_mem_grow(block, places * each);
    if (!b) hd_err_nomem(err, places * each);
    return b;
}

static size_t twice(size_t room, size_t need, size_t least)
{
    room = room ? room : least;
    while (room < need) room *= 2;
    return room;
}

hd_status hd_labeled_add(hd_labeled *x, hd_line unit, hd_err *err)
{
    if (x->units == x->unit_places) {
        size_t places = twice(x->unit_places, x->units + 1, 1024);
        size_t *end = more(x->end, places, sizeof *end, err);
        if (!end) return HD_ENOMEM;
        x->end = end;
        x->unit_places = places;
    }
    if (unit.size > x->room - x->used) {
        size_t room = twice(x->room, x->used + unit.size, 1 << 14);
        char *bytes = more(x->bytes, room, 1, err);
        if (!bytes) return HD_ENOMEM;
        x->bytes = bytes;
        x->room = room;
    }
    if (unit.size) memcpy(x->bytes + x->used, unit.text, unit.size);
    x->end[x->units++] = x->used += unit.size;
    return HD_OK;
}

hd_status hd_labeled_mark(hd_labeled *x, int32_t label, double value, hd_err *err)
{
    if (x->labels == x->label_places) {
        size_t places = twice(x->label_places, x->labels + 1, 1024);
        int32_t *labels = more(x->label, places, sizeof *labels, err);
        if (!labels) return HD_ENOMEM;
        x->label = labels;
        double *values = more(x->value, places, sizeof *values, err);
        if (!values) return HD_ENOMEM;
        x->value = values;
        x->label_places = places;
    }
    x->value[x->labels] = value;
    x->label[x->labels++] = label;
    return HD_OK;
}

hd_status hd_labeled_end(hd_labeled *x, hd_err *err)
{
    if (x->count + 2 > x->places) {
        size_t places = twice(x->places, x->count + 2, 1024);
        size_t *begin = more(x->begin, places, sizeof *begin, err);
        if (!begin) return HD_ENOMEM;
        x->begin = begin;
        size_t *first = more(x->first, places, sizeof *first, err);
        if (!first) return HD_ENOMEM;
        x->first = first;
        if (!x->places) x->begin[0] = x->first[0] = 0;
        x->places = places;
    }
    x->begin[++x->count] = x->units;
    x->first[x->count] = x->labels;
    return HD_OK;
}

static bool next_unit(void *context, hd_line *line)
{
    hd_labeled_walk *w = context;
    if (w->next >= w->of->units) return false;
    *line = hd_labeled_unit(w->of, w->next++);
    return true;
}

hd_feed hd_labeled_feed(hd_labeled_walk *walk)
{
    return (hd_feed){next_unit, walk};
}
