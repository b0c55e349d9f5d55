/* Cache slots. Lengths live on the host, which drives decoding, and travel to the backend with each step;
 * rows never do. */
#include "nn/cache.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_ROOM = 32 }; /* rows per item of a new GROW slot; doubled when full */

hd_status hd_cache_new(hd_cache **out, hd_backend *backend, const hd_slot_kind *kinds, size_t slots,
                       size_t items, hd_err *err)
{
    hd_cache *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(err, sizeof *c);
    *c = (hd_cache){.backend = backend, .slots = slots, .items = items};
    c->slot = hd_mem_array(slots, sizeof *c->slot);
    c->length = hd_mem_array(items, sizeof *c->length);
    bool ok = c->slot && c->length;
    for (size_t i = 0; ok && i < slots; i++) {
        c->slot[i] = (hd_slot){.cache = c,
                               .kind = kinds[i],
                               .begin = hd_mem_array(items, sizeof(int32_t)),
                               .len = hd_mem_array(items, sizeof(int32_t))};
        ok = c->slot[i].begin && c->slot[i].len;
    }
    if (!ok) return hd_cache_free(c), hd_err_nomem(err, items * sizeof(int32_t));
    *out = c;
    return HD_OK;
}

void hd_cache_free(hd_cache *c)
{
    if (!c) return;
    for (size_t i = 0; c->slot && i < c->slots; i++) {
        hd_slot *s = &c->slot[i];
        if (s->t.data) c->backend->release(c->backend, s->t.data, s->bytes);
        hd_mem_free(s->begin);
        hd_mem_free(s->len);
    }
    hd_mem_free(c->slot);
    hd_mem_free(c->length);
    hd_mem_free(c);
}

/* New storage of rows x cols for s; the old one is handed to the caller, who releases it. */
static bool new_storage(hd_run *r, hd_slot *s, size_t rows, size_t cols, hd_tensor *old, size_t *old_bytes)
{
    size_t bytes = rows * cols * sizeof(hd_real);
    void *data = r->err.status ? NULL : r->backend->alloc(r->backend, bytes);
    if (!data) return hd_err_nomem(&r->err, bytes), false;
    *old = s->t, *old_bytes = s->bytes;
    s->t = hd_matrix(data, rows, cols);
    s->bytes = bytes;
    return true;
}

static void drop_storage(hd_run *r, hd_tensor *old, size_t bytes)
{
    if (old->data) r->backend->release(r->backend, old->data, bytes);
}

/* Lays a GROW slot out anew: item i takes the rows of item parent[i] (NULL: its own), with `capacity` rows
 * for each of n items. */
static bool lay_out(hd_run *r, hd_slot *s, const int32_t *parent, size_t n, size_t capacity, size_t cols)
{
    hd_tensor old;
    size_t old_bytes, rows = n * capacity;
    int32_t *index = hd_host_take(r, (rows + 1) * sizeof *index);
    if (!index) return false;
    for (size_t i = 0; i < n; i++) {
        size_t from = parent ? (size_t)parent[i] : i;
        for (size_t j = 0; j < capacity; j++)
            index[i * capacity + j] = j < (size_t)s->len[from] ? s->begin[from] + (int32_t)j : -1;
    }
    const int32_t *sent = hd_ints(r, index, rows);
    if (!sent || !new_storage(r, s, rows, cols, &old, &old_bytes)) return false;
    if (old.data) HD_CALL(r, gather, .y = &s->t, .x = &old, .index = sent, .scale = 1);
    drop_storage(r, &old, old_bytes);
    s->capacity = capacity;
    return !r->err.status;
}

static hd_rows stored(hd_run *r, const hd_slot *s, bool overlap)
{
    size_t n = s->cache->items;
    hd_tensor *t = hd_host_take(r, sizeof *t);
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *kept = hd_host_take(r, (n + 1) * sizeof *kept);
    const int32_t *begin = hd_ints(r, s->begin, n), *len = hd_ints(r, s->len, n);
    if (r->err.status) return (hd_rows){0};
    *t = s->t;
    *seg = (hd_seg){.begin = begin,
                    .len = len,
                    .host_len = memcpy(kept, s->len, n * sizeof *kept),
                    .items = n,
                    .rows = hd_rows_of(t),
                    .overlap = overlap};
    for (size_t i = 0; i < n; i++)
        if ((size_t)s->len[i] > seg->longest) seg->longest = (size_t)s->len[i];
    return (hd_rows){t, seg};
}

static bool items_fit(hd_run *r, const hd_slot *s, const hd_seg *seg)
{
    if (seg->items != s->cache->items)
        hd_fail(r, HD_ESHAPE, "cache: %zu items in the step, %zu in the cache", seg->items, s->cache->items);
    return seg->items == s->cache->items;
}

hd_rows hd_slot_grow(hd_run *r, hd_slot *s, hd_rows x)
{
    hd_rows none = {0};
    if (!x.t || !items_fit(r, s, x.seg)) return none;
    size_t n = s->cache->items, most = 0;
    const int32_t *more = hd_seg_lens(r, x.seg);
    if (!more) return none;
    for (size_t i = 0; i < n; i++)
        if ((size_t)(s->len[i] + more[i]) > most) most = (size_t)(s->len[i] + more[i]);
    if (most > s->capacity) {
        size_t room = s->capacity ? 2 * s->capacity : FIRST_ROOM;
        while (room < most) room *= 2;
        if (!lay_out(r, s, NULL, n, room, hd_cols_of(x.t))) return none;
        for (size_t i = 0; i < n; i++) s->begin[i] = (int32_t)(i * room);
    }
    const int32_t *begin = hd_ints(r, s->begin, n);
    int32_t *len = hd_ints(r, s->len, n);
    HD_CALL(r, append, .y = &s->t, .x = x.t, .from = x.seg, .begin = begin, .len = len);
    for (size_t i = 0; i < n; i++) s->len[i] += more[i];
    s->filled = true;
    return stored(r, s, false);
}

hd_rows hd_slot_fixed(hd_run *r, hd_slot *s, hd_rows x)
{
    hd_rows none = {0};
    if (s->filled) return stored(r, s, true);
    if (!x.t || !items_fit(r, s, x.seg)) return none;
    hd_tensor old;
    size_t old_bytes, n = s->cache->items;
    if (!new_storage(r, s, hd_rows_of(x.t), hd_cols_of(x.t), &old, &old_bytes)) return none;
    drop_storage(r, &old, old_bytes);
    HD_CALL(r, mix, .y = &s->t, .x = x.t, .a = 1);
    r->backend->download(r->backend, s->begin, x.seg->begin, n * sizeof *s->begin);
    r->backend->download(r->backend, s->len, x.seg->len, n * sizeof *s->len);
    s->filled = true;
    return stored(r, s, x.seg->overlap);
}

hd_tensor *hd_slot_state(hd_run *r, hd_slot *s)
{
    if (!s->filled) return NULL;
    hd_tensor *t = hd_host_take(r, sizeof *t);
    if (t) *t = s->t;
    return t;
}

void hd_slot_put(hd_run *r, hd_slot *s, hd_tensor *x)
{
    if (!x) return;
    if (hd_rows_of(x) != s->cache->items) {
        hd_fail(r, HD_ESHAPE, "cache: a state of %zu rows for %zu items", hd_rows_of(x), s->cache->items);
        return;
    }
    hd_tensor old;
    size_t old_bytes;
    if (!s->t.data || hd_rows_of(&s->t) != hd_rows_of(x) || hd_cols_of(&s->t) != hd_cols_of(x)) {
        if (!new_storage(r, s, hd_rows_of(x), hd_cols_of(x), &old, &old_bytes)) return;
        drop_storage(r, &old, old_bytes);
    }
    HD_CALL(r, mix, .y = &s->t, .x = x, .a = 1);
    s->filled = !r->err.status;
}

const int32_t *hd_cache_positions(hd_run *r, hd_cache *c, const hd_seg *seg)
{
    if (!seg) return NULL;
    if (!c) return seg->pos;
    if (seg->items != c->items)
        return hd_fail(r, HD_ESHAPE, "cache: %zu items in the step, %zu in the cache", seg->items, c->items);
    const int32_t *len = hd_seg_lens(r, seg);
    int32_t *pos = hd_host_take(r, (seg->rows + 1) * sizeof *pos);
    if (!pos || !len) return NULL;
    for (size_t i = 0, at = 0; i < seg->items; i++) /* new rows always come item after item */
        for (int32_t j = 0; j < len[i]; j++) pos[at++] = c->length[i]++;
    return hd_ints(r, pos, seg->rows);
}

static bool pick_rows(hd_run *r, hd_slot *s, const int32_t *parent, size_t n)
{
    hd_tensor old;
    size_t old_bytes;
    const int32_t *index = hd_ints(r, parent, n);
    if (!index || !new_storage(r, s, n, hd_cols_of(&s->t), &old, &old_bytes)) return false;
    HD_CALL(r, gather, .y = &s->t, .x = &old, .index = index, .scale = 1);
    drop_storage(r, &old, old_bytes);
    return !r->err.status;
}

/* New begin and len of n items in place of the old ones. */
static bool pick_segments(hd_run *r, hd_slot *s, const int32_t *parent, size_t n)
{
    int32_t *begin = hd_mem_array(n, sizeof *begin), *len = hd_mem_array(n, sizeof *len);
    if (!begin || !len)
        return hd_mem_free(begin), hd_mem_free(len), hd_err_nomem(&r->err, n * sizeof *len), false;
    for (size_t i = 0; i < n; i++) {
        begin[i] = s->kind == HD_GROW ? (int32_t)(i * s->capacity) : s->begin[parent[i]];
        len[i] = s->len[parent[i]];
    }
    hd_mem_free(s->begin), hd_mem_free(s->len);
    s->begin = begin, s->len = len;
    return true;
}

hd_status hd_cache_pick(hd_run *r, hd_cache *c, const int32_t *parent, size_t n)
{
    bool same = n == c->items;
    for (size_t i = 0; i < n; i++) {
        if (parent[i] < 0 || (size_t)parent[i] >= c->items)
            return hd_fail(r, HD_EARG, "cache: parent %d of %zu items", parent[i], c->items), HD_EARG;
        same = same && parent[i] == (int32_t)i;
    }
    if (same) return HD_OK;
    int32_t *length = hd_mem_array(n, sizeof *length);
    if (!length) return hd_err_nomem(&r->err, n * sizeof *length);
    for (size_t i = 0; i < n; i++) length[i] = c->length[parent[i]];
    bool ok = true;
    for (size_t i = 0; ok && i < c->slots; i++) {
        hd_slot *s = &c->slot[i];
        if (s->filled && s->kind == HD_STATE) ok = pick_rows(r, s, parent, n);
        if (s->filled && s->kind == HD_GROW) ok = lay_out(r, s, parent, n, s->capacity, hd_cols_of(&s->t));
        if (ok) ok = pick_segments(r, s, parent, n);
    }
    hd_mem_free(c->length);
    c->length = length;
    c->items = ok ? n : 0; /* half picked is good for nothing: any further step is refused */
    return ok ? HD_OK : r->err.status;
}
