/* The layout of steps. */
#include "nn/unroll.h"

static const hd_seg *singles(hd_run *r, const hd_seg *seg)
{
    int32_t *one = hd_host_take(r, (seg->items + 1) * sizeof *one);
    for (size_t i = 0; one && i < seg->items; i++) one[i] = 1;
    hd_seg *s = one ? hd_seg_of(r, one, seg->items, NULL) : NULL;
    if (s) s->key = seg->key;
    return s;
}

const hd_unrolled *hd_unroll(hd_run *r, const hd_seg *seg)
{
    if (!seg || seg->steps) return seg ? seg->steps : NULL;
    const int32_t *len = hd_seg_lens(r, seg);
    hd_unrolled *u = hd_host_take(r, sizeof *u);
    if (!len || !u) return NULL;
    size_t n = seg->items, steps = seg->longest, rows = seg->rows, at = 0;
    *u = (hd_unrolled){.steps = steps, .items = n};
    if (steps == 1 && rows == n && seg->full) {
        u->single = seg;
        return u;
    }
    int32_t *row = hd_host_take(r, (steps * n + 1) * sizeof *row),
            *place = hd_host_take(r, (rows + 1) * sizeof *place);
    if (!row || !place) return NULL;
    for (size_t i = 0; i < rows; i++) place[i] = -1; /* of no item: zeros */
    for (size_t i = 0; i < n; at += (size_t)len[i++])
        for (size_t t = 0; t < steps; t++) {
            bool live = t < (size_t)len[i];
            row[t * n + i] = live ? (int32_t)(at + t) : -1;
            if (live) place[at + t] = (int32_t)(t * n + i);
        }
    u->single = singles(r, seg);
    u->row = hd_ints(r, row, steps * n), u->place = hd_ints(r, place, rows);
    return u->single && !r->err.status ? u : NULL;
}
