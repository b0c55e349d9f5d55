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

hd_status hd_labeled_add(hd_labeled *x, hd_line unit, hd_err *err)
{
    hd_status s = hd_mem_reserve(&x->end, &x->unit_places, x->units + 1, sizeof *x->end, err);
    if (!s) s = hd_mem_reserve(&x->bytes, &x->room, x->used + unit.size, 1, err);
    if (s) return s;
    if (unit.size) memcpy(x->bytes + x->used, unit.text, unit.size);
    x->end[x->units++] = x->used += unit.size;
    return HD_OK;
}

hd_status hd_labeled_mark(hd_labeled *x, int32_t label, double value, hd_err *err)
{
    size_t places = x->label_places; /* of both */
    hd_status s = hd_mem_reserve(&x->label, &places, x->labels + 1, sizeof *x->label, err);
    if (!s) s = hd_mem_reserve(&x->value, &x->label_places, x->labels + 1, sizeof *x->value, err);
    if (s) return s;
    x->value[x->labels] = value;
    x->label[x->labels++] = label;
    return HD_OK;
}

hd_status hd_labeled_end(hd_labeled *x, hd_err *err)
{
    size_t places = x->places; /* of both */
    hd_status s = hd_mem_reserve(&x->begin, &places, x->count + 2, sizeof *x->begin, err);
    if (!s) s = hd_mem_reserve(&x->first, &x->places, x->count + 2, sizeof *x->first, err);
    if (s) return s;
    if (!x->count) x->begin[0] = x->first[0] = 0;
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
