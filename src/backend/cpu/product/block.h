/* The blocks that a product goes through: rows of a whose panels, K_BLOCK deep, stay in the second-level
   cache. */
#ifndef HD_BACKEND_CPU_PRODUCT_BLOCK_H
#define HD_BACKEND_CPU_PRODUCT_BLOCK_H

#include "backend/cpu/product/product.h"
#include "backend/cpu/product/tile.h"

enum {
    K_BLOCK = HD_VECTOR_BYTES == 32 ? 256 : 512,  /* a strip of b stays in L1, with AVX-512 in L2 */
    TILES = 20,                                   /* whose panels of a stay in L2 */
    A_BLOCK = TILES * K_BLOCK * TILE_ROWS,        /* numbers of a in panels */
    LYING_BLOCKS = HD_VECTOR_BYTES == 32 ? 2 : 1, /* for so many b is not packed as a whole */
    BESIDE =
        4 * STRIP, /* columns of strips that are filled together: lines of a row do not end where one does */
    PIECE = BESIDE * K_BLOCK,         /* numbers of b that are packed on the way */
    LINE = 64 / (int)sizeof(hd_real), /* numbers of a cache line */
};

/* Rows of a block of a product k deep. */
static inline size_t block_rows(size_t k)
{
    return A_BLOCK / (k < K_BLOCK ? k + 1 : K_BLOCK) / TILE_ROWS * TILE_ROWS;
}

/* Where in the panels of all of a those of the block begin that has its first row at `row`, from kb on. */
static inline size_t block_at(const hd_product *p, size_t row, size_t kb)
{
    const size_t left = (p->m - row + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    return row * p->k + kb * (left < block_rows(p->k) ? left : block_rows(p->k));
}

#endif
