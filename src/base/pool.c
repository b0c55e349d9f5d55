/* Exact-size pool: one bin per size, each with a list of all its blocks and a stack of the idle ones. Easy
   to get wrong: returning a block must not allocate, so the stack grows with each new block; links inside the
   blocks would touch device memory. */
#include "base/pool.h"

#include <string.h>

#include "base/mem.h"

typedef struct hd_pool_bin {
    size_t bytes;
    void **all, **idle; /* both with room for `room`; the last idle block is handed out next */
    size_t count, idle_count, room;
    bool needed; /* used since the last reset */
} bin;

void hd_pool_init(hd_pool *p, hd_allocator source)
{
    *p = (hd_pool){.source = source};
}

void hd_pool_release(hd_pool *p)
{
    for (size_t i = 0; i < p->bin_count; i++) {
        bin *b = &p->bins[i];
        for (size_t k = 0; k < b->count; k++) p->source.put(p->source.context, b->all[k], b->bytes);
        hd_mem_free(b->all);
        hd_mem_free(b->idle);
    }
    hd_mem_free(p->bins);
    hd_pool_init(p, p->source);
}

/* Index of the first bin of at least that size, or where it would be inserted. */
static size_t place_of(const hd_pool *p, size_t bytes)
{
    size_t low = 0, high = p->bin_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->bins[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bin *find_bin(const hd_pool *p, size_t bytes)
{
    size_t i = place_of(p, bytes);
    return i < p->bin_count && p->bins[i].bytes == bytes ? &p->bins[i] : NULL;
}

static bin *add_bin(hd_pool *p, size_t bytes)
{
    if (p->bin_count == p->bin_room) {
        size_t room = p->bin_room ? 2 * p->bin_room : 16;
        bin *bins = hd_mem_grow(p->bins, room * sizeof *bins);
        if (!bins) return NULL;
        p->bins = bins;
        p->bin_room = room;
    }
    size_t i = place_of(p, bytes);
    memmove(p->bins + i + 1, p->bins + i, (p->bin_count++ - i) * sizeof *p->bins);
    p->bins[i] = (bin){.bytes = bytes};
    return &p->bins[i];
}

static bool grow_lists(bin *b)
{
    size_t room = b->room ? 2 * b->room : 8;
    void **all = hd_mem_grow(b->all, room * sizeof *all);
    if (all) b->all = all;
    void **idle = all ? hd_mem_grow(b->idle, room * sizeof *idle) : NULL;
    if (!idle) return false;
    b->idle = idle;
    b->room = room;
    return true;
}

static bool add_block(hd_pool *p, bin *b)
{
    if (b->count == b->room && !grow_lists(b)) return false;
    void *block = p->source.get(p->source.context, b->bytes);
    if (!block) return false;
    b->all[b->count++] = b->idle[b->idle_count++] = block;
    p->owned += b->bytes;
    return true;
}

void *hd_pool_take(hd_pool *p, size_t bytes)
{
    if (!bytes) bytes = 1; /* a source may answer 0 bytes with NULL */
    bin *b = find_bin(p, bytes);
    if (!b) b = add_bin(p, bytes);
    if (!b || (!b->idle_count && !add_block(p, b))) return NULL;
    b->needed = true;
    p->used += bytes;
    if (p->used > p->peak) p->peak = p->used;
    if (p->used > p->step_peak) p->step_peak = p->used;
    return b->idle[--b->idle_count];
}

void hd_pool_give(hd_pool *p, void *block, size_t bytes)
{
    if (!bytes) bytes = 1;
    bin *b = block ? find_bin(p, bytes) : NULL;
    if (!b || b->idle_count == b->count) return;
    b->idle[b->idle_count++] = block;
    p->used -= bytes;
}

static void drop_blocks(hd_pool *p, bin *b)
{
    for (size_t k = 0; k < b->count; k++) p->source.put(p->source.context, b->all[k], b->bytes);
    p->owned -= b->count * b->bytes;
    b->count = b->idle_count = 0;
}

void hd_pool_reset(hd_pool *p)
{
    /* Steps whose shapes keep changing must not pile up blocks: beyond twice what the last step needed,
       idle sizes are returned. */
    bool crowded = !p->keep && p->owned > 2 * p->step_peak;
    for (size_t i = 0; i < p->bin_count; i++) {
        bin *b = &p->bins[i];
        if (crowded && !b->needed) drop_blocks(p, b);
        b->needed = false;
        /* oldest on top: the same sequence of calls then gets the same blocks as in the step that made
           them */
        for (size_t k = 0; k < b->count; k++) b->idle[k] = b->all[b->count - 1 - k];
        b->idle_count = b->count;
    }
    p->used = p->step_peak = 0;
}
