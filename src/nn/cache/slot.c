/* Slots of a cache: where their rows lie, and how they get there. */
#include "nn/cache/slot.h"

/* -- storage -- */

void hd_slot_drop(hd_cache *c, const hd_tensor *old)
{
    if (old->data) c->backend->release(c->backend, old->data, hd_bytes_of(old));
}

bool hd_slot_replace(hd_run *r, hd_slot *s, size_t n, size_t cols, hd_dtype type, hd_tensor *old)
{
    size_t bytes = n * cols * hd_dtype_bytes(type);
    if (r->err.status) return false;
    s->cache->backend = r->backend;
    void *data = r->backend->alloc(r->backend, bytes);
    if (!data) return hd_backend_nomem(r->backend, bytes, &r->err), false;
    *old = s->t;
    s->t = hd_shaped(data, type, 2, (const size_t[]){n, cols});
    return true;
}

void hd_slot_take_over(hd_run *r, hd_slot *s, const hd_tensor *from, size_t rows)
{
    size_t bytes = rows * hd_cols_of(&s->t) * hd_dtype_bytes(s->t.dtype);
    if (from->data && bytes) r->backend->copy(r->backend, s->t.data, from->data, bytes);
    hd_slot_drop(s->cache, from);
}

static hd_pages *pages_of(hd_slot *s)
{
    return s->kind == HD_GROW ? &s->cache->grow : &s->cache->fixed;
}

/* -- GROW and FIXED -- */

/* What a slot holds: in its blocks, for single queries, or copied out for more of them and for a probe. */
static hd_rows stored(hd_run *r, hd_slot *s, const hd_seg *seg, bool single)
{
    if (r->probe || !single) return hd_slot_spread(r, s);
    hd_tensor *t = hd_host_take(r, sizeof *t);
    if (!t || !seg) return (hd_rows){0};
    *t = s->t;
    return (hd_rows){t, seg};
}

/* Puts the rows of x into their blocks; before: rows that the items had, NULL: none. */
static bool put_rows(hd_run *r, hd_slot *s, hd_rows x, const hd_seg *to, const int32_t *before)
{
    size_t cols = hd_cols_of(x.t);
    hd_tensor old;
    if (!s->t.data) {
        hd_dtype type = s->kind == HD_GROW ? r->backend->compute : x.t->dtype;
        if (!hd_slot_replace(r, s, pages_of(s)->blocks * HD_PAGE_ROWS, cols, type, &old)) return false;
    }
    if (cols != hd_cols_of(&s->t))
        return hd_fail(r, HD_ESHAPE, "cache: rows of %zu columns, those before have %zu", cols,
                       hd_cols_of(&s->t)) != NULL;
    HD_CALL(r, append, .y = &s->t, .x = x.t, .from = x.seg, .page = to->page, .pages = to->pages,
            .len = (int32_t *)before);
    s->filled = !r->err.status;
    return s->filled;
}

hd_rows hd_slot_grow(hd_run *r, hd_slot *s, hd_rows x)
{
    hd_cache *c = s->cache;
    if (!x.t || !hd_cache_begin(r, c, x.seg) || !put_rows(r, s, x, c->now.grow, c->now.before))
        return (hd_rows){0};
    return c->now.fresh && x.seg->longest > 1 ? x : stored(r, s, c->now.grow, x.seg->longest <= 1);
}

hd_rows hd_slot_fixed(hd_run *r, hd_slot *s, hd_rows x)
{
    hd_cache *c = s->cache;
    if (s->filled) {
        bool single;
        const hd_seg *seg = hd_cache_fixed_rows(r, c, &single);
        return stored(r, s, seg, single);
    }
    bool taken = x.t && hd_cache_lay(r, c, x.seg) && put_rows(r, s, x, c->now.fixed, NULL);
    return taken ? x : (hd_rows){0};
}

hd_rows hd_slot_spread(hd_run *r, hd_slot *s)
{
    hd_rows none = {0};
    const hd_cache *c = s->cache;
    const hd_pages *p = pages_of(s);
    if (!s->filled || r->err.status) return none;
    size_t n = c->items - c->first, at = 0;
    hd_seg *seg = hd_seg_of(r, p->len + c->first, n, NULL);
    int32_t *index = seg ? hd_host_take(r, (seg->rows + 1) * sizeof *index) : NULL;
    if (!index) return none;
    for (size_t i = c->first; i < c->items; i++)
        for (int32_t j = 0; j < p->len[i]; j++) index[at++] = hd_pages_row(p, i, j);
    return (hd_rows){hd_gather(r, &s->t, hd_ints(r, index, seg->rows), seg->rows, 1), seg};
}

/* -- STATE -- */

hd_tensor *hd_slot_state(hd_run *r, hd_slot *s)
{
    if (!s->filled) return NULL;
    hd_tensor *t = hd_host_take(r, sizeof *t);
    if (t) *t = s->t;
    return t;
}

void hd_slot_put(hd_run *r, hd_slot *s, hd_tensor *x)
{
    const hd_cache *c = s->cache;
    size_t first = c->first, cols;
    hd_tensor old;
    if (!x) return;
    cols = hd_cols_of(x);
    if (hd_rows_of(x) != c->items - first) {
        hd_fail(r, HD_ESHAPE, "cache: a state of %zu rows for %zu items", hd_rows_of(x), c->items - first);
        return;
    }
    if (!s->t.data || hd_rows_of(&s->t) != c->items || hd_cols_of(&s->t) != cols) {
        if (!hd_slot_replace(r, s, c->items, cols, x->dtype, &old)) return;
        hd_slot_take_over(r, s, &old, s->held ? first : 0);
    }
    hd_tensor to = hd_view_rows(&s->t, first, c->items - first);
    HD_CALL(r, mix, .y = &to, .x = x, .a = 1);
    s->filled = !r->err.status;
}
