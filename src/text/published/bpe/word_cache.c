/* One slot for each hash: a newer word replaces the older. A thread that finds a slot in use by another
   skips it, so no thread waits. */
#include "text/published/bpe/word_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

enum { PLACES = 1 << 14 };

typedef struct entry {
    atomic_bool busy;
    uint8_t size, count; /* count 0: empty */
    char word[HD_CACHED_BYTES];
    int32_t id[HD_CACHED_IDS];
} entry;

struct hd_word_cache {
    entry at[PLACES];
};

hd_status hd_word_cache_new(hd_word_cache **out, hd_err *err)
{
    *out = hd_mem_zero(sizeof **out);
    return *out ? HD_OK : hd_err_nomem(err, sizeof **out);
}

void hd_word_cache_free(hd_word_cache *c)
{
    hd_mem_free(c);
}

static entry *enter(hd_word_cache *c, const char *word, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)word[i]) * 0x100000001b3u;
    entry *e = &c->at[(h ^ h >> 32) % PLACES];
    return atomic_exchange_explicit(&e->busy, true, memory_order_acquire) ? NULL : e;
}

static void leave(entry *e)
{
    atomic_store_explicit(&e->busy, false, memory_order_release);
}

size_t hd_word_cache_get(hd_word_cache *c, const char *word, size_t size, int32_t id[HD_CACHED_IDS])
{
    entry *e = size <= HD_CACHED_BYTES ? enter(c, word, size) : NULL;
    if (!e) return 0;
    size_t count = e->size == size && !memcmp(e->word, word, size) ? e->count : 0;
    memcpy(id, e->id, count * sizeof *id);
    leave(e);
    return count;
}

void hd_word_cache_put(hd_word_cache *c, const char *word, size_t size, const int32_t *id, size_t count)
{
    entry *e = size <= HD_CACHED_BYTES && count <= HD_CACHED_IDS ? enter(c, word, size) : NULL;
    if (!e) return;
    e->size = (uint8_t)size, e->count = (uint8_t)count;
    memcpy(e->word, word, size);
    memcpy(e->id, id, count * sizeof *id);
    leave(e);
}
