/* Which blocks of rows each item of a cache has. A block has HD_PAGE_ROWS rows and may be held by several
   items that begin alike: picking an item copies its list of blocks, never rows. Blocks that nobody holds are
   spare. The rows themselves lie in the stores of the cache, block b of each store at row b * HD_PAGE_ROWS.
 */
#ifndef HD_NN_PAGES_H
#define HD_NN_PAGES_H

#include <stdbool.h>

#include "backend/segment.h"

typedef struct hd_pages {
    size_t items, wide; /* wide: blocks an item has room for in the table */
    int32_t *len;       /* [items] rows */
    int32_t *table;     /* [items, wide] */
    size_t blocks;      /* that every store has */
    int32_t *holders;   /* [blocks] items that hold it */
    int32_t *spare;     /* [blocks] those of nobody, the next one last */
    size_t spares;
} hd_pages;

/* A block that is no longer shared: rows [from, from + rows) have to be copied to those from `to` on. */
typedef struct hd_page_copy {
    int32_t from, to, rows;
} hd_page_copy;

void hd_pages_release(hd_pages *p); /* accepts {0}, which has no items */

/* All return false when memory runs out; then p is good for hd_pages_release only. */
bool hd_pages_join(hd_pages *p, size_t n);                        /* n more items, without rows */
bool hd_pages_pick(hd_pages *p, const int32_t *parent, size_t n); /* item i becomes what parent[i] was */

/* Blocks that items [first, items) want beyond the spare ones to take more[i] rows each, i from first on. */
size_t hd_pages_wanted(const hd_pages *p, size_t first, const int32_t *more);
bool hd_pages_grow(hd_pages *p, size_t blocks); /* so many in all; the caller's stores follow */
/* Room for the rows in the tables of all of them; then the rows themselves, of which there must be enough
   spare blocks. copy gets what has to be copied first, .rows 0: nothing. */
bool hd_pages_widen(hd_pages *p, size_t first, const int32_t *more);
void hd_pages_add(hd_pages *p, size_t item, int32_t more, hd_page_copy *copy);

/* The first blocks of an item are held apart from it, too: their numbers. All of them are full. */
void hd_pages_keep(hd_pages *p, size_t item, int32_t *block, size_t blocks);
void hd_pages_let_go(hd_pages *p, const int32_t *block, size_t blocks);
/* An item without rows begins with such blocks. */
bool hd_pages_begin(hd_pages *p, size_t item, const int32_t *block, size_t blocks);

static inline size_t hd_pages_held(const hd_pages *p)
{
    return p->blocks - p->spares;
}
/* The row of the stores where row j of an item lies. */
static inline int32_t hd_pages_row(const hd_pages *p, size_t item, int32_t j)
{
    return p->table[item * p->wide + (size_t)(j / HD_PAGE_ROWS)] * HD_PAGE_ROWS + j % HD_PAGE_ROWS;
}

#endif
