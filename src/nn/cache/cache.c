/* Items and steps of a cache. Lengths and tables of blocks live on the host, which drives decoding, and
   travel to the backend once a step; rows never do (slot.c). */
#include "nn/cache/slot.h"

#include <string.h>

#include "base/mem.h"
#include "op/replay.h"

hd_status hd_cache_new(hd_cache **out, const hd_slot_kind *kinds, size_t slots, size_t items, hd_err *err)
{
    hd_cache *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(err, sizeof *c);
    *c = (hd_cache){.slots = slots, .items = items};
    c->slot = hd_mem_array(slots, sizeof *c->slot);
    c->length = hd_mem_array(items, sizeof *c->length);
    if (!c->slot || !c->length || !hd_pages_join(&c->grow, items) || !hd_pages_join(&c->fixed, items))
        return hd_cache_free(c), hd_err_nomem(err, items * sizeof(int32_t));
    for (size_t i = 0; i < slots; i++) {
        c->slot[i] = (hd_slot){.cache = c, .kind = kinds[i]};
        c->grows = c->grows || kinds[i] == HD_GROW;
    }
    *out = c;
    return HD_OK;
}

void hd_cache_free(hd_cache *c)
{
    if (!c) return;
    for (size_t i = 0; c->slot && i < c->slots; i++) hd_slot_drop(c, &c->slot[i].t);
    hd_pages_release(&c->grow);
    hd_pages_release(&c->fixed);
    hd_mem_free(c->slot);
    hd_mem_free(c->length);
    hd_mem_free(c);
}

/* Room for more[i] rows in the items from `first` on; then they have them. copy [items - first]: blocks that
   are shared no longer. */
static bool add_rows(hd_run *r, hd_cache *c, hd_slot_kind kind, const int32_t *more, hd_page_copy *copy)
{
    hd_pages *p = kind == HD_GROW ? &c->grow : &c->fixed;
    size_t want = hd_pages_wanted(p, c->first, more),
           all = p->blocks + (want > p->blocks / 2 ? want : p->blocks / 2);
    if (all > INT32_MAX / HD_PAGE_ROWS)
        return hd_fail(r, HD_ELIMIT, "cache: %zu blocks of rows are too many", all), false;
    if (!hd_pages_widen(p, c->first, more) || (want && !hd_pages_grow(p, all)))
        return hd_err_nomem(&r->err, all * sizeof(int32_t)), false;
    for (size_t i = 0; want && i < c->slots; i++) {
        hd_slot *s = &c->slot[i];
        hd_tensor old;
        if (s->kind != kind || !s->t.data) continue;
        if (!hd_slot_replace(r, s, p->blocks * HD_PAGE_ROWS, hd_cols_of(&s->t), s->t.dtype, &old))
            return false;
        hd_slot_take_over(r, s, &old, hd_rows_of(&old));
    }
    for (size_t i = c->first; i < c->items; i++) hd_pages_add(p, i, more[i - c->first], &copy[i - c->first]);
    return true;
}

/* -- a step -- */

static bool items_fit(hd_run *r, const hd_cache *c, const hd_seg *seg)
{
    size_t n = c->items - c->first;
    if (seg->items != n)
        hd_fail(r, HD_ESHAPE, "cache: %zu items in the step, %zu in the cache", seg->items, n);
    return seg->items == n;
}

/* Segments in blocks: `sent` holds the lengths and the table of the items from `first` on, `zeros` their
   begins. */
static hd_seg *seg_at(hd_run *r, const hd_cache *c, const hd_pages *p, const int32_t *zeros,
                      const int32_t *sent)
{
    size_t n = c->items - c->first;
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *len = hd_host_take(r, (n + 1) * sizeof *len);
    if (!seg || !len) return NULL;
    *seg = (hd_seg){.begin = zeros,
                    .len = sent,
                    .host_len = len,
                    .page = sent + n,
                    .pages = p->wide,
                    .items = n,
                    .rows = p->blocks * HD_PAGE_ROWS,
                    .overlap = true};
    for (size_t i = 0; i < n; i++) {
        len[i] = p->len[c->first + i];
        if ((size_t)len[i] > seg->longest) seg->longest = (size_t)len[i];
    }
    /* a captured step is replayed when they have grown: as long as there is room */
    if (r->backend->capture) seg->longest = p->wide * HD_PAGE_ROWS;
    return seg;
}

/* Lengths, then tables; returns what comes behind. */
static int32_t *put_pages(const hd_cache *c, const hd_pages *p, int32_t *to)
{
    size_t n = c->items - c->first;
    if (!n) return to;
    memcpy(to, p->len + c->first, n * sizeof *to);
    memcpy(to + n, p->table + c->first * p->wide, n * p->wide * sizeof *to);
    return to + n + n * p->wide;
}

/* Copies what is shared no longer. from: the first rows, to: where, rows: how many; [items] each. */
static void copy_blocks(hd_run *r, hd_cache *c, const int32_t *from, const int32_t *to, const int32_t *rows)
{
    hd_seg seg = {.begin = from, .len = rows, .items = c->items - c->first, .longest = HD_PAGE_ROWS};
    for (size_t i = 0; i < c->slots; i++)
        if (c->slot[i].kind == HD_GROW && c->slot[i].t.data)
            HD_CALL(r, append, .y = &c->slot[i].t, .x = &c->slot[i].t, .from = &seg, .begin = to);
}

/* One block for all that the step needs to know, of the same size whatever is in it: positions, zeros,
 * lengths before, what to copy, lengths and tables of GROW and FIXED; tokens and segments of single rows. */
static bool send(hd_run *r, hd_cache *c, const hd_seg *seg, const int32_t *more, const hd_page_copy *copy,
                 const int32_t *ids)
{
    size_t n = c->items - c->first, rows = seg->rows, at = 0,
           each = 7 + c->grow.wide + c->fixed.wide + (ids ? 3 : 0), count = rows + n * each;
    bool parting = false, fresh = true;
    int32_t *host = hd_host_take(r, (count + 1) * sizeof *host);
    if (!host) return false;
    int32_t *before = host + rows + n, *from = before + n, *to = from + n, *len = to + n;
    for (size_t i = 0; i < n; i++) { /* new rows always come item after item */
        for (int32_t j = 0; j < more[i]; j++) host[at++] = c->length[c->first + i]++;
        before[i] = c->grows ? c->grow.len[c->first + i] - more[i] : 0;
        from[i] = copy[i].from, to[i] = copy[i].to, len[i] = copy[i].rows;
        parting = parting || copy[i].rows, fresh = fresh && !before[i];
    }
    int32_t *own = put_pages(c, &c->fixed, put_pages(c, &c->grow, len + n));
    for (size_t i = 0; ids && i < n; i++) own[i] = ids[i], own[n + i] = (int32_t)i, own[2 * n + i] = 1;
    const int32_t *sent = hd_ints(r, host, count);
    if (!sent) return false;
    c->now.ids = sent + (own - host);
    const int32_t *zeros = sent + rows, *grow = zeros + 5 * n;
    c->now.pos = sent, c->now.zeros = zeros, c->now.before = zeros + n, c->now.fresh = fresh;
    if (parting) copy_blocks(r, c, zeros + 2 * n, zeros + 3 * n, zeros + 4 * n);
    c->now.grow = seg_at(r, c, &c->grow, zeros, grow);
    c->now.fixed = seg_at(r, c, &c->fixed, zeros, grow + n * (1 + c->grow.wide));
    c->now.seg = seg, c->now.step = r->steps;
    return !r->err.status;
}

static bool begin(hd_run *r, hd_cache *c, const hd_seg *seg, const int32_t *ids)
{
    if (!items_fit(r, c, seg)) return false;
    const int32_t *more = hd_seg_lens(r, seg);
    hd_page_copy *copy = hd_host_take(r, (seg->items + 1) * sizeof *copy);
    if (!more || !copy) return false;
    bool ok = (!c->grows || add_rows(r, c, HD_GROW, more, copy)) && send(r, c, seg, more, copy, ids);
    if (!ok) c->items = c->first = 0; /* any further step is refused */
    return ok;
}

bool hd_cache_begin(hd_run *r, hd_cache *c, const hd_seg *seg)
{
    if (!seg || r->err.status) return false;
    return (c->now.step == r->steps && c->now.seg == seg) || begin(r, c, seg, NULL);
}

const hd_seg *hd_cache_single(hd_run *r, hd_cache *c, const int32_t *ids, const int32_t **sent)
{
    size_t n = c->items - c->first;
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *ones = hd_host_take(r, (n + 1) * sizeof *ones);
    if (!seg || !ones) return NULL;
    for (size_t i = 0; i < n; i++) ones[i] = 1;
    *seg = (hd_seg){.host_len = ones, .items = n, .rows = n, .longest = n ? 1 : 0, .full = true};
    if (!begin(r, c, seg, ids)) return NULL;
    *sent = c->now.ids;
    seg->begin = seg->item = c->now.ids + n, seg->len = c->now.ids + 2 * n, seg->pos = c->now.zeros;
    return seg;
}

uint64_t hd_cache_shape(const hd_cache *c)
{
    uint64_t h = hd_shape_mix(hd_shape_mix(c->items, c->grow.wide), (uintptr_t)c->now.pos);
    h = hd_shape_mix(h, c->fixed.wide);
    for (size_t i = 0; i < c->slots; i++)
        h = hd_shape_mix(hd_shape_mix(h, (uintptr_t)c->slot[i].t.data + c->slot[i].filled),
                         hd_rows_of(&c->slot[i].t));
    return h;
}

/* The layout of FIXED slots in a step that adds no rows. */
static hd_seg *fixed_alone(hd_run *r, const hd_cache *c)
{
    size_t n = c->items - c->first, count = n * (2 + c->fixed.wide);
    int32_t *host = hd_host_take(r, (count + 1) * sizeof *host);
    if (!host) return NULL;
    put_pages(c, &c->fixed, host + n);
    const int32_t *sent = hd_ints(r, host, count);
    return sent ? seg_at(r, c, &c->fixed, sent, sent + n) : NULL;
}

hd_seg *hd_cache_fixed_rows(hd_run *r, const hd_cache *c, bool *single)
{
    bool begun = c->now.step == r->steps;
    *single = !begun || c->now.seg->longest <= 1;
    return begun ? c->now.fixed : fixed_alone(r, c);
}

bool hd_cache_lay(hd_run *r, hd_cache *c, const hd_seg *seg)
{
    if (!items_fit(r, c, seg)) return false;
    if (c->laid) return true;
    const int32_t *more = hd_seg_lens(r, seg);
    hd_page_copy *copy = hd_host_take(r, (c->items + 1) * sizeof *copy);
    if (!more || !copy) return false;
    if (!add_rows(r, c, HD_FIXED, more, copy)) return c->items = c->first = 0, false;
    c->now.fixed = fixed_alone(r, c);
    return c->laid = c->now.fixed;
}

/* -- items come and go -- */

hd_status hd_cache_join(hd_run *r, hd_cache *c, size_t n)
{
    int32_t *length = hd_mem_grow(c->length, (c->items + n + 1) * sizeof *length);
    if (length) c->length = length;
    if (!length || !hd_pages_join(&c->grow, n) || !hd_pages_join(&c->fixed, n))
        return c->items = c->first = 0, hd_err_nomem(&r->err, n * sizeof *length);
    memset(length + c->items, 0, n * sizeof *length);
    c->first = c->items, c->items += n;
    c->laid = false;
    for (size_t i = 0; i < c->slots; i++) c->slot[i].held = c->slot[i].filled, c->slot[i].filled = false;
    c->now.step = UINT64_MAX;
    return HD_OK;
}

hd_status hd_cache_joined(hd_run *r, hd_cache *c)
{
    for (size_t i = 0; i < c->slots; i++) {
        hd_slot *s = &c->slot[i];
        if (s->kind == HD_GROW) s->filled = s->filled || s->held; /* items without rows yet */
        if (s->held && !s->filled && !r->err.status)
            hd_fail(r, HD_ESHAPE, "cache: slot %zu was not filled for the items that join", i);
        s->held = false;
    }
    c->first = 0;
    c->now.step = UINT64_MAX; /* what was sent is of those that joined */
    if (r->err.status) c->items = 0;
    return r->err.status;
}

static bool pick_state(hd_run *r, hd_slot *s, const int32_t *parent, size_t n)
{
    hd_tensor old;
    const int32_t *index = hd_ints(r, parent, n);
    if (!index || !hd_slot_replace(r, s, n, hd_cols_of(&s->t), s->t.dtype, &old)) return false;
    HD_CALL(r, gather, .y = &s->t, .x = &old, .index = index, .scale = 1);
    hd_slot_drop(s->cache, &old);
    return !r->err.status;
}

/* New numbers of n items in place of the old ones. */
static bool pick_numbers(hd_run *r, hd_cache *c, const int32_t *parent, size_t n)
{
    int32_t *length = hd_mem_array(n, sizeof *length);
    if (!length || !hd_pages_pick(&c->grow, parent, n) || !hd_pages_pick(&c->fixed, parent, n))
        return hd_mem_free(length), hd_err_nomem(&r->err, n * sizeof *length), false;
    for (size_t i = 0; i < n; i++) length[i] = c->length[parent[i]];
    hd_mem_free(c->length);
    c->length = length;
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
    if (ok) ok = pick_numbers(r, c, parent, n);
    c->now.step = UINT64_MAX; /* what was sent is of the items before */
    c->items = ok ? n : 0;    /* half picked is good for nothing: any further step is refused */
    return ok ? HD_OK : r->err.status;
}
