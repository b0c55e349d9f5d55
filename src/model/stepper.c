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
        .model = model, .ids = hd_mem_array(rows + 2 * n, sizeof *s->ids), .items = n, .rows = rows};
    if (!s->ids) return hd_stepping_free(s), hd_err_nomem(err, (rows + 2 * n) * sizeof *s->ids);
    s->len = s->ids + rows;
    s->room = s->len + n;
    if (n) memcpy(s->ids, q->ids, rows * sizeof *s->ids), memcpy(s->len, q->len, n * sizeof *s->len);
    *out = s;
    return HD_OK;
}

hd_status hd_stepping_wait(hd_stepper *of, hd_stepping *s, const hd_stepping_ask *q, hd_err *err)
{
    size_t rows, old = s->items - s->joined, old_rows = s->rows - s->read_rows, n = old + q->items;
    hd_status st = check(q, &rows, err);
    if (st) return st;
    int32_t *ids = hd_mem_array(old_rows + rows + 2 * n, sizeof *ids), *len = ids + old_rows + rows;
    if (!ids) return hd_err_nomem(err, (old_rows + rows + 2 * n) * sizeof *ids);
    memcpy(ids, s->ids + s->read_rows, old_rows * sizeof *ids);
    memcpy(len, s->len + s->joined, old * sizeof *len);
    memcpy(len + n, s->room + s->joined, old * sizeof *len);
    if (rows) memcpy(ids + old_rows, q->ids, rows * sizeof *ids);
    if (q->items) memcpy(len + old, q->len, q->items * sizeof *len);
    hd_mem_free(s->ids);
    s->ids = ids, s->len = len, s->room = len + n;
    s->items = n, s->rows = old_rows + rows, s->joined = s->read_rows = 0;
    of->items = n, of->source = s->len;
    if (of->room) of->room = s->room;
    return HD_OK;
}

void hd_stepping_free(void *stepping)
{
    hd_stepping *s = stepping;
    if (!s) return;
    hd_cache_free(s->cache);
    hd_mem_free(s->recall);
    hd_mem_free(s->ids);
    hd_mem_free(s);
}

hd_arrivals hd_stepping_next(hd_run *r, hd_stepping *s, size_t n)
{
    hd_arrivals a = {.ids = s->ids + s->read_rows, .len = s->len + s->joined, .items = n};
    if (n > s->items - s->joined)
        return hd_fail(r, HD_EARG, "join: %zu items, %zu are left", n, s->items - s->joined),
               (hd_arrivals){0};
    for (size_t i = 0; i < n; i++) a.rows += (size_t)a.len[i];
    s->joined += n, s->read_rows += a.rows;
    return a;
}

/* Takes copies that fill up a captured step out of the cache. */
static bool drop_copies(hd_run *r, const hd_stepping *s)
{
    if (r->err.status || s->cache->items <= s->live) return !r->err.status;
    int32_t *stay = hd_host_take(r, s->live * sizeof *stay + 1);
    for (size_t i = 0; stay && i < s->live; i++) stay[i] = (int32_t)i;
    return stay && !hd_cache_pick(r, s->cache, stay, s->live);
}

hd_tensor *hd_stepping_read(hd_run *r, hd_stepping *s, const hd_arrivals *a)
{
    return drop_copies(r, s) ? s->read(r, s, a) : NULL;
}

hd_tensor *hd_stepping_join(hd_run *r, hd_stepping *s, const hd_arrivals *a)
{
    hd_cache *c = s->cache;
    if (!drop_copies(r, s)) return NULL;
    if (hd_cache_join(r, c, a->items)) return NULL;
    for (size_t i = 0; a->begun && i < a->items; i++)
        if (!hd_cache_start(r, c, c->first + i, a->begun[i].block, a->begun[i].blocks)) return NULL;
    hd_tensor *y = s->read(r, s, a);
    if (hd_cache_joined(r, c)) return NULL;
    s->live += a->items;
    return y;
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    hd_arrivals a = hd_stepping_next(r, context, n);
    return hd_stepping_join(r, context, &a);
}

static bool enter(hd_run *r, void *context, size_t n)
{
    hd_stepping *s = context;
    hd_arrivals a = hd_stepping_next(r, s, n);
    if (!drop_copies(r, s) || hd_cache_join(r, s->cache, n)) return false;
    const bool kept = s->keep(r, s, &a);
    if (hd_cache_joined(r, s->cache) || !kept) return false;
    s->live += n;
    return true;
}

/* Where steps are captured, the cache is filled up with copies of the first seat, so that its size changes
 * less often. */
static size_t places_for(const hd_run *r, size_t live)
{
    size_t grain = live <= 4 ? 1 : live <= 64 ? 8 : 32;
    return hd_can_capture(r) ? (live + grain - 1) / grain * grain : live;
}

hd_status hd_stepping_pick(hd_run *r, void *stepping, const int32_t *parent, size_t n)
{
    hd_stepping *s = stepping;
    hd_cache *c = s->cache;
    size_t all = n ? places_for(r, n) : 0;
    int32_t *filled = hd_host_take(r, all * sizeof *filled + 1);
    if (!filled) return r->err.status;
    bool same = all == c->items && n == s->live; /* then what fills it up goes on like the first seat */
    for (size_t i = 0; i < all; i++) filled[i] = i < n ? parent[i] : parent[0];
    for (size_t i = 0; same && i < n; i++) same = parent[i] == (int32_t)i;
    hd_status st = same ? HD_OK : hd_cache_pick(r, c, filled, all);
    if (!st) s->live = n;
    return st;
}

/* The embedding would give a position that is not there zeros, without a word. */
static bool have_room(hd_run *r, const hd_stepping *s)
{
    for (size_t i = 0; s->positions && i < s->cache->items; i++)
        if ((size_t)s->cache->length[i] >= s->positions)
            return hd_fail(r, HD_ELIMIT, "step: hypothesis %zu has used all %zu positions", i, s->positions),
                   false;
    return true;
}

hd_tensor *hd_stepping_step(hd_run *r, void *stepping, const int32_t *ids, size_t seats)
{
    hd_stepping *s = stepping;
    size_t n = s->cache->items;
    if (seats > n) return hd_fail(r, HD_ESHAPE, "step: %zu hypotheses, the cache holds %zu", seats, n);
    if (!have_room(r, s)) return NULL;
    int32_t *all = hd_host_take(r, (n + 1) * sizeof *all);
    for (size_t i = 0; all && i < n; i++) all[i] = ids[i < seats ? i : 0];
    const int32_t *sent = NULL;
    const hd_seg *seg = all ? hd_cache_single(r, s->cache, all, &sent) : NULL;
    if (!seg) return NULL;
    uint64_t shape = hd_shape_mix(hd_cache_shape(s->cache), s->raw);
    hd_tensor *y = NULL;
    if (s->sends) {
        y = s->forward(r, s, sent, seg);
    } else if (!hd_replay(r, s->serial, shape, &y)) {
        hd_capture(r, s->serial, shape);
        y = s->forward(r, s, sent, seg);
        hd_captured(r, y);
    }
    if (!y || r->err.status || seats == n) return r->err.status ? NULL : y;
    hd_tensor *part = hd_host_take(r, sizeof *part);
    if (part) *part = hd_view_rows(y, 0, seats);
    return part;
}

hd_stepper hd_stepping_stepper(hd_stepping *s, size_t vocab)
{
    return (hd_stepper){.vocab = vocab,
                        .items = s->items,
                        .source = s->len,
                        .room = s->positions ? s->room : NULL,
                        .join = join,
                        .enter = s->keep ? enter : NULL,
                        .start = s->start,
                        .step = hd_stepping_step,
                        .raw = &s->raw,
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
