/* Cache slots. Lengths live on the host, which drives decoding, and travel to the backend once a step; rows
 * never do. */
#include "nn/cache.h"

#include <string.h>

#include "base/mem.h"
#include "op/replay.h"

enum { FIRST_ROOM = 32 }; /* rows per item of new GROW slots; doubled when full */

static bool layout_new(hd_layout *l, size_t items)
{
    l->begin = hd_mem_array(items, sizeof *l->begin);
    l->len = hd_mem_array(items, sizeof *l->len);
    return l->begin && l->len;
}

static void layout_free(hd_layout *l)
{
    hd_mem_free(l->begin);
    hd_mem_free(l->len);
    *l = (hd_layout){0};
}

hd_status hd_cache_new(hd_cache **out, const hd_slot_kind *kinds, size_t slots, size_t items, hd_err *err)
{
    hd_cache *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(err, sizeof *c);
    *c = (hd_cache){.slots = slots, .items = items};
    c->slot = hd_mem_array(slots, sizeof *c->slot);
    c->length = hd_mem_array(items, sizeof *c->length);
    if (!c->slot || !c->length || !layout_new(&c->grow, items) || !layout_new(&c->fixed, items))
        return hd_cache_free(c), hd_err_nomem(err, items * sizeof(int32_t));
    for (size_t i = 0; i < slots; i++) {
        c->slot[i] = (hd_slot){.cache = c, .kind = kinds[i], .place = c->growing};
        c->growing += kinds[i] == HD_GROW;
    }
    *out = c;
    return HD_OK;
}

void hd_cache_free(hd_cache *c)
{
    if (!c) return;
    for (size_t i = 0; c->slot && i < c->slots; i++) {
        hd_slot *s = &c->slot[i];
        if (s->t.data && s->kind != HD_GROW) c->backend->release(c->backend, s->t.data, hd_bytes_of(&s->t));
    }
    if (c->store.data) c->backend->release(c->backend, c->store.data, c->store.bytes);
    if (c->spare.data) c->backend->release(c->backend, c->spare.data, c->spare.bytes);
    layout_free(&c->grow);
    layout_free(&c->fixed);
    hd_mem_free(c->slot);
    hd_mem_free(c->length);
    hd_mem_free(c);
}

static void *take(hd_run *r, hd_cache *c, size_t bytes)
{
    if (r->err.status) return NULL;
    c->backend = r->backend;
    void *data = r->backend->alloc(r->backend, bytes);
    if (!data) hd_backend_nomem(r->backend, bytes, &r->err);
    return data;
}

/* -- GROW storage -- */

static hd_tensor part(const hd_cache *c, void *store, size_t place, size_t rows, size_t cols)
{
    hd_dtype type = c->backend->compute;
    size_t at = place * rows * cols * hd_dtype_bytes(type);
    return hd_shaped((char *)store + at, type, 2, (const size_t[]){rows, cols});
}

static size_t width_of(const hd_cache *c)
{
    for (size_t i = 0; i < c->slots; i++)
        if (c->slot[i].kind == HD_GROW && c->slot[i].t.data) return hd_cols_of(&c->slot[i].t);
    return 0;
}

/* Lays the GROW slots out anew: item i takes the rows of item parent[i] (NULL: its own), with `capacity` rows
 * for each of n items. */
static bool lay_out(hd_run *r, hd_cache *c, const int32_t *parent, size_t n, size_t capacity, size_t cols)
{
    size_t rows = n * capacity, bytes = c->growing * rows * cols * hd_dtype_bytes(r->backend->compute);
    bool had = c->store.data;
    int32_t *index = hd_host_take(r, (rows + 1) * sizeof *index);
    if (!index) return false;
    for (size_t i = 0; had && i < n; i++) {
        size_t from = parent ? (size_t)parent[i] : i;
        for (size_t j = 0; j < capacity; j++)
            index[i * capacity + j] = j < (size_t)c->grow.len[from] ? c->grow.begin[from] + (int32_t)j : -1;
    }
    const int32_t *sent = had ? hd_ints(r, index, rows) : NULL;
    if (c->spare.data && c->spare.bytes != bytes) {
        c->backend->release(c->backend, c->spare.data, c->spare.bytes);
        c->spare.data = NULL;
    }
    if (!c->spare.data) c->spare.data = take(r, c, bytes), c->spare.bytes = bytes;
    if (!c->spare.data || r->err.status) return false;
    for (size_t i = 0; i < c->slots; i++) {
        hd_slot *s = &c->slot[i];
        if (s->kind != HD_GROW) continue;
        hd_tensor to = part(c, c->spare.data, s->place, rows, cols);
        if (s->filled) HD_CALL(r, gather, .y = &to, .x = &s->t, .index = sent, .scale = 1);
        s->t = to;
    }
    void *data = c->store.data;
    size_t old = c->store.bytes;
    c->store = c->spare, c->spare.data = data, c->spare.bytes = old;
    c->capacity = capacity;
    return !r->err.status;
}

/* -- a step -- */

static bool items_fit(hd_run *r, const hd_cache *c, const hd_seg *seg)
{
    if (seg->items != c->items)
        hd_fail(r, HD_ESHAPE, "cache: %zu items in the step, %zu in the cache", seg->items, c->items);
    return seg->items == c->items;
}

/* Room for `most` rows in each item. */
static bool make_room(hd_run *r, hd_cache *c, size_t most, size_t cols)
{
    size_t n = c->items, room = c->capacity ? 2 * c->capacity : FIRST_ROOM;
    if (most <= c->capacity) return true;
    while (room < most) room *= 2;
    if (!lay_out(r, c, NULL, n, room, cols)) return false;
    for (size_t i = 0; i < n; i++) c->grow.begin[i] = (int32_t)(i * room);
    return true;
}

static hd_seg *seg_at(hd_run *r, const int32_t *begin, const int32_t *len, const int32_t *host_len, size_t n,
                      bool overlap)
{
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    if (!seg) return NULL;
    *seg = (hd_seg){.begin = begin, .len = len, .host_len = host_len, .items = n, .overlap = overlap};
    for (size_t i = 0; i < n; i++)
        if ((size_t)host_len[i] > seg->longest) seg->longest = (size_t)host_len[i];
    return seg;
}

/* One block for all that the step needs to know: positions, then GROW's begin, lengths before and after, then
 * FIXED's begin and length. */
static bool send(hd_run *r, hd_cache *c, const hd_seg *seg, const int32_t *more)
{
    size_t n = c->items, rows = seg->rows;
    int32_t *host = hd_host_take(r, (rows + 5 * n + 1) * sizeof *host);
    if (!host) return false;
    int32_t *begin = host + rows, *before = begin + n, *after = before + n, *fixed = after + n;
    for (size_t i = 0, at = 0; i < n; i++) { /* new rows always come item after item */
        for (int32_t j = 0; j < more[i]; j++) host[at++] = c->length[i]++;
        begin[i] = c->grow.begin[i], before[i] = c->grow.len[i], after[i] = c->grow.len[i] += more[i];
        fixed[i] = c->fixed.begin[i], fixed[n + i] = c->fixed.len[i];
    }
    const int32_t *sent = hd_ints(r, host, rows + 5 * n);
    if (!sent) return false;
    const int32_t *at = sent + rows;
    c->now.pos = sent, c->now.before = at + n;
    c->now.grow = seg_at(r, at, at + 2 * n, after, n, false);
    c->now.fixed = seg_at(r, at + 3 * n, at + 4 * n, fixed + n, n, true);
    c->now.seg = seg, c->now.step = r->steps;
    /* a captured step is replayed when they have grown: as long as there is room */
    if (r->backend->capture && c->now.grow && c->capacity) c->now.grow->longest = c->capacity;
    return !r->err.status;
}

bool hd_cache_begin(hd_run *r, hd_cache *c, const hd_seg *seg)
{
    size_t most = 0;
    if (!seg || r->err.status) return false;
    if (c->now.step == r->steps && c->now.seg == seg) return true;
    if (!items_fit(r, c, seg)) return false;
    const int32_t *more = hd_seg_lens(r, seg);
    if (!more) return false;
    for (size_t i = 0; i < c->items; i++)
        if ((size_t)(c->grow.len[i] + more[i]) > most) most = (size_t)(c->grow.len[i] + more[i]);
    if (c->store.data && !make_room(r, c, most, width_of(c))) return false;
    return send(r, c, seg, more);
}

uint64_t hd_cache_shape(const hd_cache *c)
{
    uint64_t h = hd_shape_mix(hd_shape_mix(c->items, c->capacity), (uintptr_t)c->now.pos);
    if (c->now.fixed) h = hd_shape_mix(h, c->now.fixed->longest);
    for (size_t i = 0; i < c->slots; i++)
        h = hd_shape_mix(hd_shape_mix(h, (uintptr_t)c->slot[i].t.data + c->slot[i].filled),
                         hd_rows_of(&c->slot[i].t));
    return h;
}

const int32_t *hd_cache_positions(hd_run *r, hd_cache *c, const hd_seg *seg)
{
    if (!seg) return NULL;
    if (!c) return seg->pos;
    return hd_cache_begin(r, c, seg) ? c->now.pos : NULL;
}

static hd_rows stored(hd_run *r, const hd_slot *s, hd_seg *seg)
{
    hd_tensor *t = hd_host_take(r, sizeof *t);
    if (!t || !seg) return (hd_rows){0};
    *t = s->t;
    seg->rows = hd_rows_of(t);
    return (hd_rows){t, seg};
}

hd_rows hd_slot_grow(hd_run *r, hd_slot *s, hd_rows x)
{
    hd_rows none = {0};
    hd_cache *c = s->cache;
    if (!x.t || !hd_cache_begin(r, c, x.seg)) return none;
    if (!c->store.data) { /* the first rows of all */
        if (!make_room(r, c, c->now.grow->longest ? c->now.grow->longest : 1, hd_cols_of(x.t))) return none;
        int32_t *begin = (int32_t *)c->now.grow->begin;
        r->backend->upload(r->backend, begin, c->grow.begin, c->items * sizeof *begin);
    }
    if (hd_cols_of(x.t) != hd_cols_of(&s->t))
        return hd_fail(r, HD_ESHAPE, "cache: rows of %zu columns, the others have %zu", hd_cols_of(x.t),
                       hd_cols_of(&s->t)),
               none;
    HD_CALL(r, append, .y = &s->t, .x = x.t, .from = x.seg, .begin = c->now.grow->begin,
            .len = (int32_t *)c->now.before);
    s->filled = true;
    return stored(r, s, c->now.grow);
}

/* The layout of FIXED slots in a step that adds no rows. */
static hd_seg *fixed_alone(hd_run *r, const hd_cache *c)
{
    size_t n = c->items;
    const int32_t *begin = hd_ints(r, c->fixed.begin, n), *len = hd_ints(r, c->fixed.len, n);
    return begin && len ? seg_at(r, begin, len, c->fixed.len, n, true) : NULL;
}

hd_rows hd_slot_fixed(hd_run *r, hd_slot *s, hd_rows x)
{
    hd_rows none = {0};
    hd_cache *c = s->cache;
    size_t n = c->items;
    if (s->filled) return stored(r, s, c->now.step == r->steps ? c->now.fixed : fixed_alone(r, c));
    if (!x.t || !items_fit(r, c, x.seg)) return none;
    if (s->t.data) c->backend->release(c->backend, s->t.data, hd_bytes_of(&s->t));
    s->t = (hd_tensor){0};
    size_t rows = hd_rows_of(x.t), cols = hd_cols_of(x.t);
    void *data = take(r, c, hd_bytes_of(x.t));
    if (!data) return none;
    s->t = hd_shaped(data, x.t->dtype, 2, (const size_t[]){rows, cols});
    HD_CALL(r, mix, .y = &s->t, .x = x.t, .a = 1);
    if (!c->laid) {
        r->backend->download(r->backend, c->fixed.begin, x.seg->begin, n * sizeof *c->fixed.begin);
        r->backend->download(r->backend, c->fixed.len, x.seg->len, n * sizeof *c->fixed.len);
        c->laid = true;
    }
    s->filled = true;
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    if (!seg) return none;
    *seg = *x.seg;
    return stored(r, s, seg);
}

hd_rows hd_slot_spread(hd_run *r, hd_slot *s)
{
    hd_rows none = {0};
    const hd_cache *c = s->cache;
    if (!s->filled || r->err.status) return none;
    size_t n = c->items, at = 0;
    hd_seg *seg = hd_seg_of(r, c->fixed.len, n, NULL);
    int32_t *index = seg ? hd_host_take(r, (seg->rows + 1) * sizeof *index) : NULL;
    if (!index) return none;
    for (size_t i = 0; i < n; i++)
        for (int32_t j = 0; j < c->fixed.len[i]; j++) index[at++] = c->fixed.begin[i] + j;
    hd_tensor *held = hd_slot_state(r, s);
    return (hd_rows){hd_gather(r, held, hd_ints(r, index, seg->rows), seg->rows, 1), seg};
}

/* -- STATE -- */

hd_tensor *hd_slot_state(hd_run *r, hd_slot *s)
{
    if (!s->filled) return NULL;
    hd_tensor *t = hd_host_take(r, sizeof *t);
    if (t) *t = s->t;
    return t;
}

/* Storage for n rows like x in place of what the slot has, which is handed to the caller. */
static bool replace(hd_run *r, hd_slot *s, size_t n, const hd_tensor *x, hd_tensor *old)
{
    hd_dtype type = x->dtype;
    size_t cols = hd_cols_of(x);
    void *data = take(r, s->cache, n * cols * hd_dtype_bytes(type));
    if (!data) return false;
    *old = s->t;
    s->t = hd_shaped(data, type, 2, (const size_t[]){n, cols});
    return true;
}

static void drop(hd_cache *c, const hd_tensor *old)
{
    if (old->data) c->backend->release(c->backend, old->data, hd_bytes_of(old));
}

void hd_slot_put(hd_run *r, hd_slot *s, hd_tensor *x)
{
    hd_tensor old;
    if (!x) return;
    if (hd_rows_of(x) != s->cache->items) {
        hd_fail(r, HD_ESHAPE, "cache: a state of %zu rows for %zu items", hd_rows_of(x), s->cache->items);
        return;
    }
    if (!s->t.data || hd_rows_of(&s->t) != hd_rows_of(x) || hd_cols_of(&s->t) != hd_cols_of(x)) {
        if (!replace(r, s, hd_rows_of(x), x, &old)) return;
        drop(s->cache, &old);
    }
    HD_CALL(r, mix, .y = &s->t, .x = x, .a = 1);
    s->filled = !r->err.status;
}

/* -- picking -- */

static bool pick_state(hd_run *r, hd_slot *s, const int32_t *parent, size_t n)
{
    hd_tensor old;
    const int32_t *index = hd_ints(r, parent, n);
    if (!index || !replace(r, s, n, &s->t, &old)) return false;
    HD_CALL(r, gather, .y = &s->t, .x = &old, .index = index, .scale = 1);
    drop(s->cache, &old);
    return !r->err.status;
}

/* New numbers of n items in place of the old ones. */
static bool pick_numbers(hd_run *r, hd_cache *c, const int32_t *parent, size_t n)
{
    hd_layout grow = {0}, fixed = {0};
    int32_t *length = hd_mem_array(n, sizeof *length);
    bool ok = layout_new(&grow, n) && layout_new(&fixed, n) && length;
    for (size_t i = 0; ok && i < n; i++) {
        size_t p = (size_t)parent[i];
        grow.begin[i] = (int32_t)(i * c->capacity), grow.len[i] = c->grow.len[p];
        fixed.begin[i] = c->fixed.begin[p], fixed.len[i] = c->fixed.len[p];
        length[i] = c->length[p];
    }
    if (!ok) {
        layout_free(&grow), layout_free(&fixed), hd_mem_free(length);
        return hd_err_nomem(&r->err, n * sizeof *length), false;
    }
    layout_free(&c->grow), layout_free(&c->fixed), hd_mem_free(c->length);
    c->grow = grow, c->fixed = fixed, c->length = length;
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
    bool ok = true;
    for (size_t i = 0; ok && i < c->slots; i++)
        if (c->slot[i].filled && c->slot[i].kind == HD_STATE) ok = pick_state(r, &c->slot[i], parent, n);
    if (ok && c->store.data) ok = lay_out(r, c, parent, n, c->capacity, width_of(c));
    if (ok) ok = pick_numbers(r, c, parent, n);
    c->now.step = UINT64_MAX; /* what was sent is of the items before */
    c->items = ok ? n : 0;    /* half picked is good for nothing: any further step is refused */
    return ok ? HD_OK : r->err.status;
}
