/* Rows before the cells of each item: places of tokens that belong to no cell. */
#include "op/op.h"

/* The segments with these rows, and for each row its row in x, -1 for those. Computed by the backend: a
   captured step may send nothing. */
static const hd_seg *lead_seg(hd_run *r, const hd_seg *from, size_t lead, const int32_t **index)
{
    const int32_t *host = hd_seg_lens(r, from);
    size_t n = from->items, rows = from->rows;
    int32_t *len = host ? hd_host_take(r, (n + 1) * sizeof *len) : NULL;
    for (size_t i = 0; len && i < n; i++) {
        len[i] = host[i] ? host[i] + (int32_t)lead : 0;
        rows += host[i] ? lead : 0;
    }
    if (rows > INT32_MAX) return hd_fail(r, HD_ELIMIT, "a batch of %zu rows is too large", rows);
    hd_seg *s = len ? hd_host_take(r, sizeof *s) : NULL;
    int32_t *at = s ? hd_step_take(r, (2 * n + 3 * rows + 1) * sizeof *at) : NULL;
    if (!at) return NULL;
    int32_t *begin = at, *lens = at + n, *item = lens + n, *pos = item + rows, *source = pos + rows;
    HD_CALL(r, lead, .begin = begin, .len = lens, .item = item, .pos = pos, .index = source, .from = from,
            .rows = rows, .lead = (int32_t)lead);
    *s = *from;
    s->begin = begin, s->len = lens, s->item = item, s->pos = pos, s->host_len = len;
    s->rows = rows, s->longest = from->longest ? from->longest + lead : 0, s->lead = lead;
    *index = source;
    return s;
}

hd_rows hd_lead_rows(hd_run *r, hd_rows x, int lead)
{
    const int32_t *index = NULL;
    if (!x.t || lead < 1) return x;
    if (x.seg->lead || x.seg->overlap || x.seg->page)
        return hd_fail(r, HD_EARG, "lead_rows: the items do not lie one behind the other"), (hd_rows){0};
    const hd_seg *seg = lead_seg(r, x.seg, (size_t)lead, &index);
    return seg ? (hd_rows){hd_gather(r, x.t, index, seg->rows, 1), seg} : (hd_rows){0};
}
