/* Bump arena over chunks that grow. Easy to get wrong: a request that fails must leave the arena as it was,
   and a request that skips the rest of a chunk must not count that rest as handed out (the peak sizes the
   joined chunk). */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

enum { SMALL = 1 << 20, LARGE = 1 << 26 };

static void *host_get(void *context, size_t bytes)
{
    (void)context;
    return hd_mem_new(bytes);
}

static void host_put(void *context, void *block, size_t bytes)
{
    (void)context, (void)bytes;
    hd_mem_free(block);
}

const hd_allocator hd_allocator_host = {.get = host_get, .put = host_put, .context = NULL};

void hd_arena_init(hd_arena *a, hd_allocator source, size_t chunk_min)
{
    *a = (hd_arena){.source = source, .chunk_min = chunk_min};
}

struct hd_arena_end {
    void (*end)(void *what);
    void *what;
    struct hd_arena_end *next;
};

bool hd_arena_at_end(hd_arena *a, void (*end)(void *what), void *what)
{
    struct hd_arena_end *e = hd_mem_new(sizeof *e); /* not from the arena, which may be a device's memory */
    if (!e) return false;
    *e = (struct hd_arena_end){.end = end, .what = what, .next = a->ends};
    a->ends = e;
    return true;
}

static void call_ends(hd_arena *a)
{
    while (a->ends) {
        struct hd_arena_end *e = a->ends;
        a->ends = e->next;
        e->end(e->what);
        hd_mem_free(e);
    }
}

static void put_chunks(hd_arena *a)
{
    for (int i = 0; i < a->chunks; i++) a->source.put(a->source.context, a->chunk[i].base, a->chunk[i].size);
    a->puts += (size_t)a->chunks;
    a->chunks = a->current = 0;
    a->used = 0;
}

void hd_arena_release(hd_arena *a)
{
    call_ends(a);
    put_chunks(a);
    a->peak = 0;
}

/* As large as all chunks so far together, or a quarter of that once it is a lot: otherwise the first step
   of a large model would hold twice what it needs. If the source does not have that much, exactly what is
   needed. But a source that refuses less than a megabyte is empty, and a test that fails the n-th allocation
   must see it fail. */
static bool add_chunk(hd_arena *a, size_t need)
{
    if (a->chunks == HD_ARENA_CHUNKS) return false;
    size_t size = 0;
    for (int i = 0; i < a->chunks; i++) size += a->chunk[i].size;
    if (size > LARGE) size /= 4;
    if (size < a->chunk_min) size = a->chunk_min;
    if (size < need) size = need;
    void *base = a->source.get(a->source.context, size);
    if (!base && size > need && size > SMALL) base = a->source.get(a->source.context, size = need);
    if (!base) return false;
    a->chunk[a->chunks++] = (hd_arena_chunk){.base = base, .size = size};
    return true;
}

void *hd_arena_take(hd_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - HD_ALIGN) return NULL;
    size_t need = bytes ? (bytes + HD_ALIGN - 1) / HD_ALIGN * HD_ALIGN : HD_ALIGN;
    size_t sum = a->chunks ? a->chunk[a->current].before + a->used : 0;
    int k = a->current;
    size_t used = a->used;
    while (k < a->chunks && a->chunk[k].size - used < need) k++, used = 0;
    if (k == a->chunks && !add_chunk(a, need)) return NULL;
    a->chunk[k].before = sum - used;
    a->current = k;
    a->used = used + need;
    if (sum + need > a->peak) a->peak = sum + need;
    return a->chunk[k].base + used;
}

void *hd_arena_array(hd_arena *a, size_t count, size_t size, hd_err *err)
{
    size_t bytes = 0;
    void *block = hd_size_mul(count, size, &bytes) ? hd_arena_take(a, bytes) : NULL;
    if (!block) return hd_err_nomem(err, count * size), NULL;
    return memset(block, 0, bytes);
}

char *hd_arena_copy(hd_arena *a, const char *bytes, size_t size, hd_err *err)
{
    char *copy = hd_arena_array(a, size + 1, 1, err);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

hd_arena_mark hd_arena_here(const hd_arena *a)
{
    return (hd_arena_mark){.chunk = a->current, .used = a->used};
}

void hd_arena_rewind(hd_arena *a, hd_arena_mark m)
{
    a->current = m.chunk;
    a->used = m.used;
}

void hd_arena_reset(hd_arena *a)
{
    call_ends(a);
    hd_arena_rewind(a, (hd_arena_mark){0});
    if (a->chunks < 2) return;
    /* freed first, so that both are never held at once; at most the peak: chunks hold up to twice that */
    put_chunks(a);
    size_t size = a->peak > a->chunk_min ? a->peak : a->chunk_min;
    void *base = a->source.get(a->source.context, size);
    if (!base) return;
    a->chunk[0] = (hd_arena_chunk){.base = base, .size = size};
    a->chunks = 1;
}
