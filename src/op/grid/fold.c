/* Neighboring rows of an item side by side: time is reduced, and frames become rows. */
#include "op/op.h"

/* A captured step serves all batches of one shape: there the number of rows is the most that there can be. */
static size_t rows_of(const hd_run *r, const hd_seg *from, const int32_t *len, size_t k, bool *full)
{
    size_t rows = 0;
    for (size_t i = 0; i < from->items; i++) rows += (size_t)len[i];
    *full = !hd_fills_now(r);
    return *full ? rows : (from->rows + from->items * (k - 1)) / k;
}

hd_seg *hd_seg_folded(hd_run *r, const hd_seg *from, int k)
{
    size_t n = from->items, by = (size_t)k;
    const int32_t *host = hd_seg_lens(r, from);
    int32_t *len = host ? hd_host_take(r, (n + 1) * sizeof *len) : NULL;
    bool full;
    if (!len) return NULL;
    for (size_t i = 0; i < n; i++) len[i] = (int32_t)(((size_t)host[i] + by - 1) / by);
    size_t rows = rows_of(r, from, len, by, &full);
    hd_seg *s = hd_host_take(r, sizeof *s);
    int32_t *at = s ? hd_step_take(r, (2 * n + 2 * rows + 1) * sizeof *at) : NULL;
    if (!at) return NULL;
    HD_CALL(r, refold, .begin = at, .len = at + n, .item = at + 2 * n, .pos = at + 2 * n + rows, .from = from,
            .rows = rows, .k = k);
    *s = (hd_seg){.begin = at,
                  .len = at + n,
                  .item = at + 2 * n,
                  .pos = at + 2 * n + rows,
                  .host_len = len,
                  .key = from->key,
                  .items = n,
                  .rows = rows,
                  .longest = (from->longest + by - 1) / by,
                  .full = full};
    return s;
}

typedef struct fold_opt {
    const hd_seg *to, *from;
    int k;
} fold_opt;

static void fold_back(hd_run *r, const hd_node *n)
{
    const fold_opt *o = n->opt;
    hd_tensor *dx = hd_grad(r, n->in[0], NULL);
    if (dx) HD_CALL(r, fold, .y = n->y->grad, .x = dx, .to = o->to, .from = o->from, .k = o->k, .back = true);
}

/* Rows of no item stay zeros. */
static void fold(hd_run *r, hd_tensor *y, const hd_seg *to, const hd_tensor *x, const hd_seg *from, int k)
{
    if (!y) return;
    if (!to->full) hd_clear(r, y);
    HD_CALL(r, fold, .y = y, .x = x, .to = to, .from = from, .k = k);
}

hd_rows hd_fold(hd_run *r, hd_rows x, int k)
{
    hd_rows none = {0};
    if (!x.t || !x.seg || !hd_seg_fits(r, "fold", x.t, x.seg, false)) return none;
    if (k < 1) return hd_fail(r, HD_EARG, "fold: k is %d", k), none;
    const hd_seg *to = hd_seg_folded(r, x.seg, k);
    if (!to) return none;
    hd_tensor *y = hd_new_of(r, hd_type_like(r, x.t), to->rows, hd_cols_of(x.t) * (size_t)k);
    fold(r, y, to, x.t, x.seg, k);
    fold_opt o = {to, x.seg, k};
    return (hd_rows){hd_record_opt(r, y, NULL, fold_back, o, x.t), to};
}

hd_rows hd_frame_rows(hd_run *r, const hd_frames *in, int k)
{
    hd_rows none = {0};
    if (!in || !in->seg) return none;
    if (k < 1 || !in->bins)
        return hd_fail(r, HD_EARG, "frame_rows: %d frames of %zu bins", k, in->bins), none;
    const hd_seg *to = k > 1 ? hd_seg_folded(r, in->seg, k) : in->seg;
    hd_tensor *y = to ? hd_new(r, to->rows, in->bins * (size_t)k) : NULL;
    hd_tensor x = hd_shaped((void *)in->value, HD_REAL, 2, (const size_t[]){in->seg->rows, in->bins});
    fold(r, y, to, &x, in->seg, k);
    return r->err.status ? none : (hd_rows){y, to};
}
