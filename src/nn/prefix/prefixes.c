/* What a cache has read before. */
#include "nn/prefix/prefixes.h"

#include <string.h>

#include "base/mem.h"

static void remove_at(hd_prefixes *p, hd_cache *c, size_t i)
{
    hd_cache_let_go(c, p->at[i].block, p->at[i].blocks);
    p->blocks -= p->at[i].blocks;
    hd_mem_free(p->at[i].ids);
    p->at[i] = p->at[--p->count];
}

void hd_prefixes_release(hd_prefixes *p, hd_cache *c)
{
    while (p->count) remove_at(p, c, p->count - 1);
    hd_mem_free(p->at);
    p->at = NULL, p->room = 0;
}

/* Whole blocks in which two texts are the same. */
static size_t common(const hd_prefix *a, const int32_t *ids, size_t blocks)
{
    size_t most = a->blocks < blocks ? a->blocks : blocks, n = 0;
    while (n < most && !memcmp(a->ids + n * HD_PAGE_ROWS, ids + n * HD_PAGE_ROWS, HD_PAGE_ROWS * sizeof *ids))
        n++;
    return n;
}

static void remove_oldest(hd_prefixes *p, hd_cache *c)
{
    size_t oldest = 0;
    for (size_t i = 1; i < p->count; i++)
        if (p->at[i].used < p->at[oldest].used) oldest = i;
    remove_at(p, c, oldest);
}

void hd_prefixes_add(hd_prefixes *p, hd_cache *c, size_t item, const int32_t *ids, size_t count)
{
    size_t blocks = count / HD_PAGE_ROWS, rows = blocks * HD_PAGE_ROWS;
    if (!blocks || blocks > p->most) return;
    for (size_t i = p->count; i--;) {
        size_t same = common(&p->at[i], ids, blocks);
        if (same == blocks) { /* it is there, or more of it */
            p->at[i].used = ++p->clock;
            return;
        }
        if (same == p->at[i].blocks) remove_at(p, c, i);
    }
    while (p->blocks + blocks > p->most) remove_oldest(p, c);
    int32_t *memory = hd_mem_array(rows + blocks, sizeof *memory);
    hd_err none = {0};
    if (!memory || hd_mem_reserve(&p->at, &p->room, p->count + 1, sizeof *p->at, &none)) {
        hd_mem_free(memory);
        return;
    }
    memcpy(memory, ids, rows * sizeof *ids);
    hd_cache_keep(c, item, memory + rows, blocks);
    p->at[p->count++] = (hd_prefix){memory, memory + rows, blocks, ++p->clock};
    p->blocks += blocks;
}

hd_begun hd_prefixes_find(hd_prefixes *p, const int32_t *ids, size_t count)
{
    hd_begun best = {0};
    for (size_t i = 0; count && i < p->count; i++) {
        size_t same = common(&p->at[i], ids, (count - 1) / HD_PAGE_ROWS);
        if (same <= best.blocks) continue;
        best = (hd_begun){p->at[i].block, same};
        p->at[i].used = ++p->clock;
    }
    return best;
}
