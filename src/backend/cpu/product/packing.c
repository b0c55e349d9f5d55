/* Packing for the product: strips of b, and panels of a, whose rows lie side by side for each k. Rows become
   columns in registers, some at a time. Easy to get wrong: panels are narrower than vectors, so that what is
   stored for one k ends in the numbers of the next. */
#include "backend/cpu/product/block.h"
#include "backend/cpu/product/quad.h"

enum {
    AHEAD = 4,  /* lines of each row */
    PANELS = 4, /* that are filled together: the lines of a row do not end where a panel does */
};

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
        for (size_t r = 0; i % LINE == 0 && r < (size_t)rows; r++)
            __builtin_prefetch(from + r * stride + i + AHEAD * LINE);
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
        __builtin_prefetch(from + 8 * stride); /* a new line, often a new page, at each turn */
        for (size_t j = 0; j < across; j++) to[j] = j < count ? from[j] : 0;
    }
}

/* Whole panels or strips that lie side by side, at most PANELS of those that n numbers hold. Returns how many
   numbers of a row they are. */
INLINE size_t copy_beside(hd_real *to, size_t across, const hd_real *from, size_t stride, size_t n, size_t k)
{
    const size_t some = n / across < PANELS ? n / across : PANELS;
    for (size_t i = 0; i < k; i++, from += stride) {
        for (size_t t = 0; t < some * across; t += LINE) __builtin_prefetch(from + 8 * stride + t);
        for (size_t t = 0; t < some; t++)
            memcpy(to + (t * k + i) * across, from + t * across, across * sizeof *to);
    }
    return some * across;
}

void KERNEL(pack)(hd_real *to, const hd_real *b, size_t stride, bool transposed, size_t n, size_t k,
                  size_t from, size_t till)
{
    if (till > n) till = n;
    for (size_t j = from, width; j < till; j += width) {
        width = till - j < STRIP ? till - j : STRIP;
        if (transposed)
            transpose(to + j * k, STRIP, b + j * stride, stride, width, k);
        else if (width == STRIP)
            width = copy_beside(to + j * k, STRIP, b + j, stride, till - j, k);
        else
            copy_narrow(to + j * k, STRIP, b + j, stride, width, k);
    }
}

void KERNEL(pack_rows)(hd_real *to, const hd_product *p, size_t row, size_t rows, size_t kb, size_t kn)
{
    for (size_t at = 0, n; at < rows; at += n) {
        const hd_real *from =
            p->a + (p->a_transposed ? kb * p->a_stride + row + at : (row + at) * p->a_stride + kb);
        n = rows - at < TILE_ROWS ? rows - at : TILE_ROWS;
        if (p->a_transposed && n == TILE_ROWS) {
            n = copy_beside(to + at * kn, TILE_ROWS, from, p->a_stride, rows - at, kn);
        } else if (p->a_transposed) {
            copy_narrow(to + at * kn, TILE_ROWS, from, p->a_stride, n, kn);
        } else {
            transpose(to + at * kn, TILE_ROWS, from, p->a_stride, n, kn);
        }
    }
}

size_t KERNEL(panels_size)(size_t m, size_t k)
{
    return (m + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS * k;
}

void KERNEL(pack_panels)(hd_real *to, const hd_product *p, size_t tile, size_t tile_end)
{
    const size_t block = block_rows(p->k), end = tile_end * TILE_ROWS < p->m ? tile_end * TILE_ROWS : p->m;
    for (size_t row = tile * TILE_ROWS, group, rows; row < end; row += rows) {
        group = row / block * block, rows = (group + block < end ? group + block : end) - row;
        for (size_t kb = 0; kb < p->k; kb += K_BLOCK) {
            const size_t kn = p->k - kb < K_BLOCK ? p->k - kb : K_BLOCK;
            KERNEL(pack_rows)(to + block_at(p, group, kb) + (row - group) * kn, p, row, rows, kb, kn);
        }
    }
}
