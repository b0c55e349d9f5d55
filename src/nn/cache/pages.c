/* Tables of blocks. Easy to get wrong: a block that is not full may be shared, and whoever adds rows to it
   first needs one of its own. */
#include "nn/cache/pages.h"

#include <string.h>

#include "base/mem.h"

static size_t blocks_of(int32_t rows)
{
    return ((size_t)rows + HD_PAGE_ROWS - 1) / HD_PAGE_ROWS;
}

void hd_pages_release(hd_pages *p)
{
    hd_mem_free(p->len);
    hd_mem_free(p->table);
    hd_mem_free(p->holders);
    hd_mem_free(p->spare);
    *p = (hd_pages){0};
}

/* Tables of n items and `wide` blocks beside those of p: item i is parent[i] (NULL: i, and empty beyond those
   that there are). */
static bool lay_out(hd_pages *next, const hd_pages *p, const int32_t *parent, size_t n, size_t wide)
{
    *next = *p;
    next->items = n, next->wide = wide;
    next->len = hd_mem_array(n, sizeof *next->len);
    next->table = hd_mem_array(n * wide, sizeof *next->table);
    if (!next->len || !next->table) return hd_mem_free(next->len), hd_mem_free(next->table), false;
    for (size_t i = 0; i < n; i++) {
        size_t from = parent ? (size_t)parent[i] : i;
        if (from >= p->items) continue;
        next->len[i] = p->len[from];
        memcpy(next->table + i * wide, p->table + from * p->wide, blocks_of(p->len[from]) * sizeof *p->table);
    }
    return true;
}

/* The tables of `next` in place of those of p. */
static void replace(hd_pages *p, const hd_pages *next)
{
    hd_mem_free(p->len);
    hd_mem_free(p->table);
    p->len = next->len, p->table = next->table, p->items = next->items, p->wide = next->wide;
}

/* All blocks in the tables have so many holders more. */
static void hold(hd_pages *p, int by)
{
    for (size_t i = 0; i < p->items; i++)
        for (size_t b = 0; b < blocks_of(p->len[i]); b++) {
            int32_t block = p->table[i * p->wide + b];
            p->holders[block] += by;
            if (!p->holders[block]) p->spare[p->spares++] = block;
        }
}

bool hd_pages_join(hd_pages *p, size_t n)
{
    hd_pages next;
    if (!lay_out(&next, p, NULL, p->items + n, p->wide ? p->wide : 1)) return false;
    replace(p, &next);
    return true;
}

bool hd_pages_pick(hd_pages *p, const int32_t *parent, size_t n)
{
    hd_pages next;
    if (!lay_out(&next, p, parent, n, p->wide)) return false;
    hold(&next, 1);
    hold(p, -1);
    replace(p, &next);
    return true;
}

/* Whether an item that gets more rows needs a block of its own in place of its last one. */
static bool parts(const hd_pages *p, size_t item, int32_t more)
{
    int32_t len = p->len[item];
    return more && len % HD_PAGE_ROWS && p->holders[p->table[item * p->wide + blocks_of(len) - 1]] > 1;
}

size_t hd_pages_wanted(const hd_pages *p, size_t first, const int32_t *more)
{
    size_t want = 0;
    for (size_t i = first; i < p->items; i++)
        want += blocks_of(p->len[i] + more[i - first]) - blocks_of(p->len[i]) + parts(p, i, more[i - first]);
    return want > p->spares ? want - p->spares : 0;
}

bool hd_pages_grow(hd_pages *p, size_t blocks)
{
    int32_t *holders = hd_mem_grow(p->holders, blocks * sizeof *holders);
    if (holders) p->holders = holders;
    int32_t *spare = holders ? hd_mem_grow(p->spare, blocks * sizeof *spare) : NULL;
    if (!spare) return false;
    size_t more = blocks - p->blocks;
    memmove(spare + more, spare, p->spares * sizeof *spare); /* those there were are taken first */
    for (size_t i = 0; i < more; i++) spare[i] = (int32_t)(blocks - 1 - i), holders[p->blocks + i] = 0;
    p->spare = spare, p->spares += more, p->blocks = blocks;
    return true;
}

bool hd_pages_widen(hd_pages *p, size_t first, const int32_t *more)
{
    size_t wide = p->wide;
    for (size_t i = first; i < p->items; i++)
        while (wide < blocks_of(p->len[i] + more[i - first])) wide *= 2;
    hd_pages next;
    if (wide == p->wide) return true;
    if (!lay_out(&next, p, NULL, p->items, wide)) return false;
    replace(p, &next);
    return true;
}

void hd_pages_add(hd_pages *p, size_t item, int32_t more, hd_page_copy *copy)
{
    int32_t *table = p->table + item * p->wide, len = p->len[item];
    size_t had = blocks_of(len), all = blocks_of(len + more);
    *copy = (hd_page_copy){0};
    if (parts(p, item, more)) {
        int32_t old = table[had - 1], own = p->spare[--p->spares];
        p->holders[old]--, p->holders[own] = 1, table[had - 1] = own;
        *copy = (hd_page_copy){old * HD_PAGE_ROWS, own * HD_PAGE_ROWS, len % HD_PAGE_ROWS};
    }
    for (size_t b = had; b < all; b++) {
        table[b] = p->spare[--p->spares];
        p->holders[table[b]] = 1;
    }
    p->len[item] = len + more;
}

void hd_pages_keep(hd_pages *p, size_t item, int32_t *block, size_t blocks)
{
    for (size_t b = 0; b < blocks; b++) {
        block[b] = p->table[item * p->wide + b];
        p->holders[block[b]]++;
    }
}

void hd_pages_let_go(hd_pages *p, const int32_t *block, size_t blocks)
{
    for (size_t b = 0; b < blocks; b++)
        if (!--p->holders[block[b]]) p->spare[p->spares++] = block[b];
}

bool hd_pages_begin(hd_pages *p, size_t item, const int32_t *block, size_t blocks)
{
    size_t wide = p->wide;
    hd_pages next;
    while (wide < blocks) wide *= 2;
    if (wide > p->wide) {
        if (!lay_out(&next, p, NULL, p->items, wide)) return false;
        replace(p, &next);
    }
    for (size_t b = 0; b < blocks; b++) p->table[item * wide + b] = block[b], p->holders[block[b]]++;
    p->len[item] = (int32_t)(blocks * HD_PAGE_ROWS);
    return true;
}
