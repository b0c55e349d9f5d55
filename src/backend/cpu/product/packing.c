/* Packing for the product: strips of b, and panels of a, whose rows lie side by side for each k. Rows become
   columns in registers, some at a time. Easy to get wrong: panels are narrower than vectors, so that what is
   stored for one k ends in the numbers of the next. */
#include "backend/cpu/product/block.h"
#include "backend/cpu/product/quad.h"

size_t KERNEL(packed_size)(size_t n, size_t k)
{
    return (n + STRIP - 1) / STRIP * STRIP * k;
}

#ifdef HD_TURNS_VECTORS
/* to[k][across] = the transpose of from[rows][k], at most VL rows; the columns behind them become anything
   for all but the last k, which is left to the caller. Returns the k that are done. */
INLINE size_t turn_wide(hd_real *to, size_t across, const hd_real *from, size_t stride, int rows, size_t k)
{
    size_t i = 0;
    for (; i + 4 + (rows < VL) <= k; i += 4) {
        vec t[4];
        turn_rows(t, from + i, stride, rows);
        UNROLL
        for (size_t l = 0; l < 4; l++) hd_store(to + (i + l) * across, t[l]);
    }
    return i;
}

/* Whole strips and panels; the k that are done. */
INLINE size_t transpose_whole(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t count,
                              size_t k)
{
    size_t done = 0;
    if (count != across) return 0;
    if (across == TILE_ROWS) return turn_wide(to, TILE_ROWS, from, stride, TILE_ROWS, k);
    for (size_t j = 0; j < across; j += VL)
        done = turn_wide(to + j, across, from + j * stride, stride, VL, k);
    return done;
}
#else
#define transpose_whole(to, across, from, stride, count, k) 0
#endif

/* to[k][across] = the transpose of from[count rows][k]; columns from count to `across` become zeros. */
INLINE void transpose(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t count, size_t k)
{
    const size_t fours = count / 4 * 4, done = transpose_whole(to, across, from, stride, count, k);
    size_t i = done;
    for (; i + 4 <= k; i += 4)
        for (size_t j = 0; j < fours; j += 4) {
            quad t[4];
            turn_square(t, from + j * stride + i, stride);
            UNROLL
            for (size_t l = 0; l < 4; l++) *(quad *)(to + (i + l) * across + j) = t[l];
        }
    for (; i < k; i++)
        for (size_t j = 0; j < fours; j++) to[i * across + j] = from[j * stride + i];
    for (size_t j = fours; j < across; j++)
        for (i = done; i < k; i++) to[i * across + j] = j < count ? from[j * stride + i] : 0;
}

/* to[k][across] = from[k][count]; columns from count to `across` become zeros. */
INLINE void copy_narrow(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t count,
                        size_t k)
{
    for (size_t i = 0; i < k; i++, from += stride, to += across) {
        __builtin_prefetch(from + 12 * stride); /* a new line, often a new page, at each turn */
        if (count == across) {
            memcpy(to, from, across * sizeof *to);
            continue;
        }
        for (size_t j = 0; j < across; j++) to[j] = j < count ? from[j] : 0;
    }
}

void KERNEL(pack)(hd_real *to, const hd_real *b, size_t stride, bool transposed, size_t n, size_t k,
                  size_t from, size_t till)
{
    for (size_t j = from; j < till && j < n; j += STRIP) {
        size_t width = n - j < STRIP ? n - j : STRIP;
        if (transposed)
            transpose(to + j * k, STRIP, b + j * stride, stride, width, k);
        else
            copy_narrow(to + j * k, STRIP, b + j, stride, width, k);
    }
}

void KERNEL(pack_panel)(hd_real *to, const hd_product *p, size_t row, size_t rows, size_t kb, size_t kn)
{
    if (p->a_transposed)
        copy_narrow(to, TILE_ROWS, p->a + kb * p->a_stride + row, p->a_stride, rows, kn);
    else
        transpose(to, TILE_ROWS, p->a + row * p->a_stride + kb, p->a_stride, rows, kn);
}

size_t KERNEL(panels_size)(size_t m, size_t k)
{
    return (m + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS * k;
}

void KERNEL(pack_panels)(hd_real *to, const hd_product *p, size_t tile, size_t tile_end)
{
    for (; tile < tile_end; tile++) {
        const size_t row = tile * TILE_ROWS, rows = p->m - row < TILE_ROWS ? p->m - row : TILE_ROWS,
                     group = row / block_rows(p->k) * block_rows(p->k);
        for (size_t kb = 0; kb < p->k; kb += K_BLOCK) {
            const size_t kn = p->k - kb < K_BLOCK ? p->k - kb : K_BLOCK;
            KERNEL(pack_panel)(to + block_at(p, group, kb) + (row - group) * kn, p, row, rows, kb, kn);
        }
    }
}
