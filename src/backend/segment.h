/* Segments: item i of a batch owns rows begin[i] .. begin[i]+len[i]-1. There is no padding. Segments may
   overlap (hypotheses that share one memory) and have gaps (slack of a growing cache). The rows of a cache
   are in blocks listed in a table per item: then begin is not used. */
#ifndef HD_BACKEND_SEGMENT_H
#define HD_BACKEND_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_PAGE_ROWS = 16 }; /* of a block */

typedef struct hd_seg {
    const int32_t *begin, *len; /* [items], backend memory */
    const int32_t *item,
        *pos; /* [rows]: item of a row and its position in it; NULL if rows have no single owner */
    const int32_t *host_len; /* len in host memory, for shapes that depend on it (hd_seg_lens); NULL if
                                only the backend has it */
    const int32_t
        *key; /* [items]: number of the item in the whole corpus, for random draws; NULL: the index itself */
    const int32_t *page; /* [items, pages], backend memory: row j of item i is row j % HD_PAGE_ROWS of block
                            page[i * pages + j / HD_PAGE_ROWS]; NULL: rows lie one after the other.
                            Of a block all rows are there, also those of no item */
    size_t pages;
    const int32_t *grid; /* [items, 2], backend memory: height and width of items whose rows are the cells of
                            a grid, row by row, and lie one item behind the other; NULL: they are not */
    const int32_t *host_grid;        /* the same in host memory */
    size_t lead;                     /* rows of an item before its cells, which positions count; 0 mostly */
    const struct hd_unrolled *steps; /* the same rows laid out step after step (nn/unroll.h), or NULL */
    size_t items, rows;              /* host-side upper bounds, as is `longest` */
    size_t longest;
    bool overlap; /* some rows belong to several items */
    bool full;    /* every row up to `rows` belongs to an item; otherwise some may belong to none (item -1) */
} hd_seg;

#endif
