/* What decoding remembers. A slot is GROW (rows appended, item by item, with room to spare), FIXED (rows
   filled in once, then read: cross-attention) or STATE (one row per item that is replaced: a recurrent
   state). hd_cache_pick reorders, repeats or drops items in all slots; it is the only thing beam search,
   sampling and compaction use. */
#ifndef HD_NN_CACHE_H
#define HD_NN_CACHE_H

#include "op/op.h"

typedef enum hd_slot_kind { HD_GROW, HD_FIXED, HD_STATE } hd_slot_kind;

typedef struct hd_slot {
    struct hd_cache *cache;
    hd_slot_kind kind;
    bool filled;
    hd_tensor t;     /* rows in model memory: GROW [items*capacity, C], FIXED [rows, C], STATE [items, C] */
    size_t capacity; /* GROW: rows per item */
    int32_t *begin, *len; /* host, [items]; STATE uses none */
    size_t bytes;         /* of t.data */
} hd_slot;

typedef struct hd_cache {
    hd_backend *backend;
    hd_slot *slot;
    size_t slots, items;
    int32_t *length; /* host, [items]: rows each item has been through, for positions */
} hd_cache;

/* kinds: one per slot. */
hd_status hd_cache_new(hd_cache **out, hd_backend *backend, const hd_slot_kind *kinds, size_t slots,
                       size_t items, hd_err *err);
void hd_cache_free(hd_cache *c);
static inline hd_slot *hd_cache_slot(hd_cache *c, size_t i)
{
    return c ? &c->slot[i] : NULL;
}

/* Appends x (as many items as the cache) to a GROW slot; returns all rows so far with their segments. */
hd_rows hd_slot_grow(hd_run *r, hd_slot *s, hd_rows x);
/* Fills a FIXED slot with x, or returns what it holds when it is filled (x is not read then). */
hd_rows hd_slot_fixed(hd_run *r, hd_slot *s, hd_rows x);
/* STATE: what it holds ({NULL} before the first put), and putting the next. */
hd_tensor *hd_slot_state(hd_run *r, hd_slot *s);
void hd_slot_put(hd_run *r, hd_slot *s, hd_tensor *x);

/* Positions of new rows: those of seg, shifted by how far each item has come; then counts them. Backend
 * memory. */
const int32_t *hd_cache_positions(hd_run *r, hd_cache *c, const hd_seg *seg);

/* Item i becomes what item parent[i] was, for n items. A parent that does not exist changes nothing; after
 * any other failure the cache is good for hd_cache_free only. */
hd_status hd_cache_pick(hd_run *r, hd_cache *c, const int32_t *parent, size_t n);

#endif
