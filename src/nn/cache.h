/* What decoding remembers. A slot is GROW (rows appended, item by item, with room to spare), FIXED (rows
   filled in once, then read: cross-attention) or STATE (one row per item that is replaced: a recurrent
   state). All GROW slots are equally wide and hold the same rows of the same items, as do all FIXED ones: one
   layout of each kind serves all layers. hd_cache_pick reorders, repeats or drops items in all slots; it is
   the only thing beam search, sampling and compaction use. */
#ifndef HD_NN_CACHE_H
#define HD_NN_CACHE_H

#include "op/op.h"

typedef enum hd_slot_kind { HD_GROW, HD_FIXED, HD_STATE } hd_slot_kind;

typedef struct hd_slot {
    struct hd_cache *cache;
    hd_slot_kind kind;
    bool filled;
    hd_tensor t;  /* rows in model memory: GROW [items*capacity, C], FIXED [rows, C], STATE [items, C] */
    size_t place; /* GROW: which of them it is */
} hd_slot;

typedef struct hd_layout { /* host, [items] */
    int32_t *begin, *len;
} hd_layout;

typedef struct hd_cache {
    hd_backend *backend; /* of the run that filled it; must outlive it */
    hd_slot *slot;
    size_t slots, items;
    int32_t *length; /* host, [items]: rows each item has been through, for positions */
    hd_layout grow, fixed;
    bool laid; /* the layout of FIXED slots is known */
    size_t growing, capacity;
    struct {
        void *data;
        size_t bytes;
    } store, spare; /* of all GROW slots; picks go to and fro between the two */
    struct {        /* of the step that began last: the new rows and, in backend memory, where all is */
        uint64_t step;
        const hd_seg *seg;
        const int32_t *pos, *before;
        hd_seg *grow, *fixed;
    } now;
} hd_cache;

/* kinds: one per slot. */
hd_status hd_cache_new(hd_cache **out, const hd_slot_kind *kinds, size_t slots, size_t items, hd_err *err);
void hd_cache_free(hd_cache *c);
static inline hd_slot *hd_cache_slot(hd_cache *c, size_t i)
{
    return c ? &c->slot[i] : NULL;
}

/* Begins a step that adds the rows of seg: makes room, counts them and sends all lengths to the backend, so
   that nothing else has to be. Called by whatever asks first; a step that is captured calls it before. False
   on failure, after which the cache is good for hd_cache_free only. */
bool hd_cache_begin(hd_run *r, hd_cache *c, const hd_seg *seg);
/* Where everything lies: equal numbers mean that a captured step can be replayed. */
uint64_t hd_cache_shape(const hd_cache *c);

/* GROW: appends the rows of x to their items; returns all rows held. */
hd_rows hd_slot_grow(hd_run *r, hd_slot *s, hd_rows x);
/* FIXED: takes x in the first time; returns what it holds (x.t is not read then). */
hd_rows hd_slot_fixed(hd_run *r, hd_slot *s, hd_rows x);
/* FIXED: what it holds, copied out so that every item has rows of its own. Sent: not in a captured step. */
hd_rows hd_slot_spread(hd_run *r, hd_slot *s);
/* STATE: what it holds ({NULL} before the first put), and putting the next. */
hd_tensor *hd_slot_state(hd_run *r, hd_slot *s);
void hd_slot_put(hd_run *r, hd_slot *s, hd_tensor *x);

/* Positions of new rows: those of seg, shifted by how far each item has come. Backend memory. */
const int32_t *hd_cache_positions(hd_run *r, hd_cache *c, const hd_seg *seg);

/* Item i becomes what item parent[i] was, for n items. A parent that does not exist changes nothing; after
 * any other failure the cache is good for hd_cache_free only. */
hd_status hd_cache_pick(hd_run *r, hd_cache *c, const int32_t *parent, size_t n);

#endif
