/* Merging with a linked list of symbols and a heap of pairs. Easy to get wrong: a pair in the heap may be
   stale; it counts only if the current pair at its position has its rank. */
#include "text/published/bpe/merges.h"

#include "base/mem.h"

enum { FIRST_SLOTS = 1024, FIRST_ROOM = 64, NONE = -1 };

typedef struct hd_merge_symbol {
    int32_t id; /* NONE: it was merged into the one before it */
    int32_t before, after;
} hd_merge_symbol;

void hd_merges_release(hd_merges *m)
{
    hd_mem_free(m->slot);
    *m = (hd_merges){0};
}

static hd_merge *slot_of(const hd_merges *m, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    for (size_t i = (h ^ h >> 32) & (m->slots - 1);; i = (i + 1) & (m->slots - 1)) {
        hd_merge *s = &m->slot[i];
        if (s->rank == UINT32_MAX || (s->left == left && s->right == right)) return s;
    }
}

static hd_status grow(hd_merges *m, hd_err *err)
{
    hd_merges wider = {.slots = m->slots ? 2 * m->slots : FIRST_SLOTS, .count = m->count};
    wider.slot = hd_mem_array(wider.slots, sizeof *wider.slot);
    if (!wider.slot) return hd_err_nomem(err, wider.slots * sizeof *wider.slot);
    for (size_t i = 0; i < wider.slots; i++) wider.slot[i].rank = UINT32_MAX;
    for (size_t i = 0; i < m->slots; i++) {
        const hd_merge *old = &m->slot[i];
        if (old->rank != UINT32_MAX) *slot_of(&wider, old->left, old->right) = *old;
    }
    hd_merges_release(m);
    *m = wider;
    return HD_OK;
}

hd_status hd_merges_add(hd_merges *m, int32_t left, int32_t right, int32_t made, hd_err *err)
{
    hd_status s = 2 * m->count >= m->slots ? grow(m, err) : HD_OK;
    if (s) return s;
    hd_merge *slot = slot_of(m, left, right);
    if (slot->rank != UINT32_MAX) return HD_EARG;
    *slot = (hd_merge){left, right, made, (uint32_t)m->count++};
    return HD_OK;
}

void hd_merge_room_release(hd_merge_room *r)
{
    hd_mem_free(r->symbol);
    hd_mem_free(r->heap);
    *r = (hd_merge_room){0};
}

/* Every merge adds two pairs to the heap at most, so it never holds more than 3 n. */
static hd_status reserve(hd_merge_room *r, size_t count, hd_err *err)
{
    if (count <= r->room) return HD_OK;
    size_t room = r->room ? r->room : FIRST_ROOM;
    while (room < count) room *= 2;
    hd_merge_room_release(r);
    r->symbol = hd_mem_array(room, sizeof *r->symbol);
    r->heap = hd_mem_array(room, 3 * sizeof *r->heap);
    if (!r->symbol || !r->heap) {
        hd_merge_room_release(r);
        return hd_err_nomem(err, room * (sizeof *r->symbol + 3 * sizeof *r->heap));
    }
    r->room = room;
    return HD_OK;
}

/* -- the heap: rank above, place below, the least first -- */

static void heap_put(uint64_t *heap, size_t *size, uint64_t key)
{
    size_t i = (*size)++;
    for (; i && heap[(i - 1) / 2] > key; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = key;
}

static uint64_t heap_take(uint64_t *heap, size_t *size)
{
    uint64_t least = heap[0], key = heap[--*size];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < *size; i = child) {
        if (child + 1 < *size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= key) break;
        heap[i] = heap[child];
    }
    heap[i] = key;
    return least;
}

static const hd_merge *pair_at(const hd_merges *m, const hd_merge_symbol *symbol, int32_t at)
{
    int32_t after = at == NONE || symbol[at].id == NONE ? NONE : symbol[at].after;
    const hd_merge *found = after == NONE ? NULL : slot_of(m, symbol[at].id, symbol[after].id);
    return found && found->rank != UINT32_MAX ? found : NULL;
}

static void offer(const hd_merges *m, const hd_merge_room *r, size_t *size, int32_t at)
{
    const hd_merge *pair = pair_at(m, r->symbol, at);
    if (pair) heap_put(r->heap, size, (uint64_t)pair->rank << 32 | (uint32_t)at);
}

static void merge(const hd_merges *m, hd_merge_room *r, size_t size)
{
    hd_merge_symbol *symbol = r->symbol;
    while (size) {
        uint64_t key = heap_take(r->heap, &size);
        int32_t at = (int32_t)(uint32_t)key;
        const hd_merge *pair = pair_at(m, symbol, at);
        if (!pair || pair->rank != (uint32_t)(key >> 32)) continue;
        int32_t gone = symbol[at].after, after = symbol[gone].after;
        symbol[at].id = pair->made, symbol[at].after = after;
        symbol[gone].id = NONE;
        if (after != NONE) symbol[after].before = at;
        offer(m, r, &size, symbol[at].before);
        offer(m, r, &size, at);
    }
}

hd_status hd_merges_apply(const hd_merges *m, int32_t *id, size_t *count, hd_merge_room *r, hd_err *err)
{
    size_t n = *count, size = 0, kept = 0;
    if (n < 2 || !m->count) return HD_OK;
    hd_status s = reserve(r, n, err);
    if (s) return s;
    for (size_t i = 0; i < n; i++)
        r->symbol[i] = (hd_merge_symbol){id[i], (int32_t)i - 1, i + 1 < n ? (int32_t)i + 1 : NONE};
    for (size_t i = 0; i + 1 < n; i++) offer(m, r, &size, (int32_t)i);
    merge(m, r, size);
    for (size_t i = 0; i < n; i++)
        if (r->symbol[i].id != NONE) id[kept++] = r->symbol[i].id;
    *count = kept;
    return HD_OK;
}
