/* What decoding remembers. A slot is GROW (rows appended, item by item), FIXED (rows filled in once, then
   read: cross-attention) or STATE (one row per item that is replaced: a recurrent state). Rows of GROW and
   FIXED slots lie in blocks (pages.h), one table of each kind for all slots, which may be of different
   widths: an item takes no more room than it has rows, and items that begin alike share what they have in
   common. Items join while others go on; hd_cache_pick reorders, repeats or drops items in all slots, and
   copies no rows but states. */
#ifndef HD_NN_CACHE_H
#define HD_NN_CACHE_H

#include "nn/cache/pages.h"
#include "op/op.h"

typedef enum hd_slot_kind { HD_GROW, HD_FIXED, HD_STATE } hd_slot_kind;

typedef struct hd_slot {
    struct hd_cache *cache;
    hd_slot_kind kind;
    bool filled; /* for the items of this step */
    bool held;   /* while items join: for those that were there before */
    hd_tensor t; /* in model memory: STATE [items, C], others [blocks * HD_PAGE_ROWS, C] */
} hd_slot;

typedef struct hd_cache {
    hd_backend *backend; /* of the run that filled it; must outlive it */
    hd_slot *slot;
    size_t slots, items;
    bool grows;      /* some slot does */
    size_t first;    /* steps are of the items from here on: 0, or those that join */
    int32_t *length; /* host, [items]: rows each item has been through, for positions */
    hd_pages grow, fixed;
    bool laid; /* FIXED rows of the items from `first` on have their blocks */
    struct {   /* of the step that began last: the new rows and, in backend memory, where all is */
        uint64_t step;
        const hd_seg *seg;
        const int32_t *pos, *zeros, *before, *ids;
        bool fresh; /* no item had rows before */
        hd_seg *grow, *fixed;
    } now;
} hd_cache;

/* kinds: one per slot. The items have no rows yet. */
hd_status hd_cache_new(hd_cache **out, const hd_slot_kind *kinds, size_t slots, size_t items, hd_err *err);
void hd_cache_free(hd_cache *c);
static inline hd_slot *hd_cache_slot(hd_cache *c, size_t i)
{
    return c ? &c->slot[i] : NULL;
}

/* n items without rows join. The next step is of them alone, and slots are not filled for them;
   hd_cache_joined ends it, and steps are of all items again. After a failure the cache is good for
   hd_cache_free only. */
hd_status hd_cache_join(hd_run *r, hd_cache *c, size_t n);
hd_status hd_cache_joined(hd_run *r, hd_cache *c);

/* Rows of GROW slots that items may begin with: the first blocks of an item, full ones, are held apart from
   it until they are let go; block: their numbers. An item that joins has them before the step; false: no
   memory, which stays in the run. */
static inline void hd_cache_keep(hd_cache *c, size_t item, int32_t *block, size_t blocks)
{
    hd_pages_keep(&c->grow, item, block, blocks);
}
static inline void hd_cache_let_go(hd_cache *c, const int32_t *block, size_t blocks)
{
    hd_pages_let_go(&c->grow, block, blocks);
}
static inline bool hd_cache_start(hd_run *r, hd_cache *c, size_t item, const int32_t *block, size_t blocks)
{
    bool begun = hd_pages_begin(&c->grow, item, block, blocks);
    if (begun) return c->length[item] = c->grow.len[item], true;
    return c->items = c->first = 0, hd_err_nomem(&r->err, blocks * sizeof *block), false;
}

/* Begins a step that adds the rows of seg: makes room, counts them and sends all lengths to the backend, so
   that nothing else has to be. Called by whatever asks first; a step that is captured calls it before. False
   on failure, after which the cache is good for hd_cache_free only. */
bool hd_cache_begin(hd_run *r, hd_cache *c, const hd_seg *seg);
/* The same for a step of one row for each item, which is all that travels: the tokens, the segments that are
   returned, and where rows lie. NULL on failure. */
const hd_seg *hd_cache_single(hd_run *r, hd_cache *c, const int32_t *ids, const int32_t **sent);
/* Where everything lies: equal numbers mean that a captured step can be replayed. */
uint64_t hd_cache_shape(const hd_cache *c);

/* GROW: appends the rows of x to their items; returns all rows held. */
hd_rows hd_slot_grow(hd_run *r, hd_slot *s, hd_rows x);
/* FIXED: takes x in the first time; returns what it holds (x.t is not read then). */
hd_rows hd_slot_fixed(hd_run *r, hd_slot *s, hd_rows x);
/* GROW, FIXED: what it holds, copied out so that every item has rows of its own, one after the other. Sent:
   not in a captured step. */
hd_rows hd_slot_spread(hd_run *r, hd_slot *s);
/* STATE: what it holds ({NULL} before the first put), and putting the next. */
hd_tensor *hd_slot_state(hd_run *r, hd_slot *s);
void hd_slot_put(hd_run *r, hd_slot *s, hd_tensor *x);

/* Positions of new rows: those of seg, shifted by how far each item has come. Backend memory. */
static inline const int32_t *hd_cache_positions(hd_run *r, hd_cache *c, const hd_seg *seg)
{
    if (!seg) return NULL;
    if (!c) return seg->pos;
    return hd_cache_begin(r, c, seg) ? c->now.pos : NULL;
}

/* Item i becomes what item parent[i] was, for n items. A parent that does not exist changes nothing; after
 * any other failure the cache is good for hd_cache_free only. */
hd_status hd_cache_pick(hd_run *r, hd_cache *c, const int32_t *parent, size_t n);

#endif
