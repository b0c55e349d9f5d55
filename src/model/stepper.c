/* What the steppers share. */
#include "model/stepper_parts.h"

#include <string.h>

#include "base/mem.h"
#include "op/replay.h"

void hd_stepper_release(hd_stepper *s)
{
    if (s->free) s->free(s->context);
    *s = (hd_stepper){0};
}

static hd_status check(const hd_stepping_ask *q, size_t *rows, hd_err *err)
{
    *rows = 0;
    for (size_t i = 0; i < q->items; i++) {
        if (q->len[i] < 1) return hd_err_set(err, HD_EARG, "%s %zu is empty", q->what, i);
        if ((size_t)q->len[i] > q->longest)
            return hd_err_set(err, HD_ELIMIT, "%s %zu has %d tokens, the model takes %zu", q->what, i,
                              q->len[i], q->longest);
        for (int32_t j = 0; j < q->len[i]; j++) {
            int32_t id = q->ids[*rows + (size_t)j];
            if (id < 0 || (size_t)id >= q->vocab)
                return hd_err_set(err, HD_EARG, "%s %zu: there is no token %d in a vocabulary of %zu",
                                  q->what, i, id, q->vocab);
        }
        *rows += (size_t)q->len[i];
    }
    return HD_OK;
}

hd_status hd_stepping_new(hd_stepping **out, const void *model, const hd_stepping_ask *q, hd_err *err)
{
    size_t rows, n = q->items;
    hd_status st = check(q, &rows, err);
    if (st) return st;
    hd_stepping *s = hd_mem_zero(sizeof *s);
    if (!s) return hd_err_nomem(err, sizeof *s);
    *s = (hd_stepping){
        .model = model, .ids = hd_mem_array(rows + 3 * n, sizeof *s->ids), .items = n, .rows = rows};
    if (!s->ids) return hd_stepping_free(s), hd_err_nomem(err, (rows + 3 * n) * sizeof *s->ids);
    s->len = s->ids + rows;
    s->start = s->len + n;
    s->room = s->start + n;
    if (n) memcpy(s->ids, q->ids, rows * sizeof *s->ids), memcpy(s->len, q->len, n * sizeof *s->len);
    *out = s;
    return HD_OK;
}

void hd_stepping_free(void *stepping)
{
    hd_stepping *s = stepping;
    if (!s) return;
    hd_cache_free(s->cache);
    hd_mem_free(s->ids);
    hd_mem_free(s);
}

/* Where steps are captured, the cache is filled up with copies of the first hypothesis, so that its size
 * changes less often. */
static size_t places_for(const hd_run *r, size_t live)
{
    size_t grain = live <= 4 ? 1 : live <= 64 ? 8 : 32;
    return r->backend->capture ? (live + grain - 1) / grain * grain : live;
}

hd_status hd_stepping_pick(hd_run *r, void *stepping, const int32_t *parent, size_t n)
{
    hd_cache *c = ((hd_stepping *)stepping)->cache;
    size_t all = n ? places_for(r, n) : 0;
    if (all == n) return hd_cache_pick(r, c, parent, n);
    int32_t *filled = hd_host_take(r, all * sizeof *filled);
    if (!filled) return r->err.status;
    bool same = all == c->items;
    for (size_t i = 0; i < all; i++) filled[i] = i < n ? parent[i] : parent[0];
    for (size_t i = 0; same && i < n; i++) same = parent[i] == (int32_t)i;
    return same ? HD_OK : hd_cache_pick(r, c, filled, all);
}

hd_tensor *hd_stepping_step(hd_run *r, hd_stepping *s, const int32_t *ids, size_t live,
                            hd_stepping_forward *forward)
{
    size_t n = s->cache->items;
    if (live > n) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, the cache holds %zu", live, n);
    int32_t *all = hd_host_take(r, (n + 1) * sizeof *all);
    for (size_t i = 0; all && i < n; i++) all[i] = ids[i < live ? i : 0];
    const int32_t *sent = all ? hd_ints(r, all, n) : NULL;
    const hd_seg *seg = hd_single_rows(r, n);
    if (!sent || !hd_cache_begin(r, s->cache, seg)) return NULL;
    /* a pick or a growth before may have put what was sent elsewhere */
    uint64_t shape = hd_shape_mix(hd_cache_shape(s->cache), s->raw);
    shape = hd_shape_mix(hd_shape_mix(shape, (uintptr_t)sent), (uintptr_t)seg->begin);
    hd_tensor *y = NULL;
    if (s->sends) {
        y = forward(r, s, sent, seg);
    } else if (!hd_replay(r, s->serial, shape, &y)) {
        hd_capture(r, s->serial, shape);
        y = forward(r, s, sent, seg);
        hd_captured(r, y);
    }
    if (!y || r->err.status || live == n) return r->err.status ? NULL : y;
    hd_tensor *part = hd_host_take(r, sizeof *part);
    if (part) *part = hd_view_rows(y, 0, live);
    return part;
}

hd_stepper hd_stepping_stepper(hd_stepping *s, size_t vocab,
                               hd_tensor *(*step)(hd_run *r, void *context, const int32_t *ids, size_t live))
{
    return (hd_stepper){.vocab = vocab,
                        .items = s->items,
                        .start = s->start,
                        .source = s->len,
                        .room = s->room,
                        .step = step,
                        .pick = hd_stepping_pick,
                        .free = hd_stepping_free,
                        .context = s};
}

hd_tensor *hd_stepping_end(hd_run *r, const hd_stepping *s, hd_tensor *logits)
{
    return s->raw ? logits : hd_log_softmax(r, logits);
}

const hd_seg *hd_single_rows(hd_run *r, size_t n)
{
    int32_t *len = hd_host_take(r, (n + 1) * sizeof *len);
    for (size_t i = 0; len && i < n; i++) len[i] = 1;
    return len ? hd_seg_of(r, len, n, NULL) : NULL;
}

/* The embedding would give a position that is not there zeros, without a word. */
bool hd_stepping_room(hd_run *r, const hd_stepping *s, size_t positions)
{
    for (size_t i = 0; i < s->cache->items; i++)
        if ((size_t)s->cache->length[i] >= positions)
            return hd_fail(r, HD_ELIMIT, "step: hypothesis %zu has used all %zu positions", i, positions),
                   false;
    return true;
}
