/* The sums of a register tile: TILE_ROWS rows by STRIP columns. Rows and columns left over at the end run the
   same chain of multiply-adds in a smaller tile, so an element's bits never depend on its neighbors. */
#ifndef HD_BACKEND_CPU_PRODUCT_TILE_SUMS_H
#define HD_BACKEND_CPU_PRODUCT_TILE_SUMS_H

#include "backend/cpu/product/ahead.h"
#include "backend/cpu/product/place.h"

/* The rows of a as a tile finds them. */
typedef enum lie {
    PANEL, /* [k][TILE_ROWS] */
    LYING, /* [rows, k], `stride` apart */
    ACROSS /* [k, rows], the same */
} lie;

#if defined(__aarch64__) && !defined(HD_REAL_DOUBLE)
#include "backend/cpu/product/tile_neon.h"
#define HD_TILE_NEON 1
#endif

/* One k more: row i of a at a + i*row, b a vector after the other. */
INLINE void tile_step(vec s[TILE_ROWS][STRIP_VECTORS], int rows, int vectors, const hd_real *a, size_t row,
                      const hd_real *b)
{
    vec y[STRIP_VECTORS];
    UNROLL
    for (int j = 0; j < vectors; j++) y[j] = hd_load(b + (size_t)j * VL);
    UNROLL
    for (int i = 0; i < rows; i++) {
        vec x = hd_spread(a[(size_t)i * row]);
        UNROLL
        for (int j = 0; j < vectors; j++) s[i][j] = hd_fma(y[j], x, s[i][j]);
    }
}

/* `rows` by `vectors` vectors; row k of b begins at b + k*down. What is asked for is spread over the sums:
   many lines at once would make loads wait for them. */
INLINE void tile(const place *p, int rows, int vectors, lie how, const hd_real *a, size_t stride,
                 const hd_real *b, size_t down, size_t k, const asked *next)
{
    const size_t row = how == LYING ? stride : 1, step = how == PANEL ? TILE_ROWS : how == LYING ? 1 : stride;
    vec s[TILE_ROWS][STRIP_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++)
        s[i][j] = hd_load(p->start + (size_t)i * p->start_stride + (size_t)j * VL);
    size_t l = 0;
#ifdef HD_TILE_NEON
    (void)next;
    for (; how != ACROSS && l + 4 <= k; l += 4)
        tile_neon_steps(s, rows, vectors, how, a + l * step, stride, b + l * down, down);
#else
    const hd_real *read = next->read.from, *sums = next->sums.from;
    for (; l + 4 <= k;
         l += 4, read = ahead_further(&next->read, read), sums = ahead_further(&next->sums, sums)) {
        __builtin_prefetch(sums, 1), __builtin_prefetch(sums + (size_t)vectors * VL - 1, 1);
        UNROLL
        for (size_t u = 0; u < 4; u++) __builtin_prefetch(read + u * LINE, 0, 2);
        UNROLL
        for (size_t u = 0; u < 4; u++)
            tile_step(s, rows, vectors, a + (l + u) * step, row, b + (l + u) * down);
    }
#endif
    for (; l < k; l++) tile_step(s, rows, vectors, a + l * step, row, b + l * down);
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++) hd_store(p->c + (size_t)i * p->c_stride + (size_t)j * VL, s[i][j]);
}

/* The tile for rows and vectors known to the compiler. */
#define TILE_CASE(n)                                                     \
    case n:                                                              \
        if (n > TILE_ROWS) break;                                        \
        if (vectors == 1)                                                \
            tile(p, n, 1, how, a, stride, b, down, k, next);             \
        else if (vectors == 2)                                           \
            tile(p, n, 2, how, a, stride, b, down, k, next);             \
        else if (STRIP_VECTORS == 3)                                     \
            tile(p, n, STRIP_VECTORS, how, a, stride, b, down, k, next); \
        break;

INLINE void tile_cases(const place *p, int rows, int vectors, lie how, const hd_real *a, size_t stride,
                       const hd_real *b, size_t down, size_t k, const asked *next)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
        TILE_CASE(5)
        TILE_CASE(6)
        TILE_CASE(7)
        TILE_CASE(8)
#if HD_VECTOR_BYTES == 64
        TILE_CASE(9) TILE_CASE(10) TILE_CASE(11) TILE_CASE(12)
#endif
    }
}

static void tile_panel(const place *p, int rows, int vectors, const hd_real *panel, const hd_real *b,
                       size_t k, const asked *next)
{
    tile_cases(p, rows, vectors, PANEL, panel, 0, b, STRIP, k, next);
}

static void tile_lying(const place *p, int rows, int vectors, const hd_real *a, size_t stride,
                       const hd_real *b, size_t down, size_t k, const asked *next)
{
    tile_cases(p, rows, vectors, LYING, a, stride, b, down, k, next);
}

static void tile_across(const place *p, int rows, int vectors, const hd_real *a, size_t stride,
                        const hd_real *b, size_t down, size_t k, const asked *next)
{
    tile_cases(p, rows, vectors, ACROSS, a, stride, b, down, k, next);
}

/* A tile of a that lies as `how` says. */
static void tile_of(const place *p, int rows, int vectors, lie how, const hd_real *a, size_t stride,
                    const hd_real *b, size_t down, size_t k, const asked *next)
{
#ifdef HD_TILE_NEON /* asks before it sums, so that nothing stands between the multiply-adds */
    const ahead *read = &next->read, *write = &next->sums;
    for (size_t l = 0; read->step && read->from + l < read->last + ASKED; l += LINE)
        __builtin_prefetch(read->from + l, 0, 2);
    const hd_real *sums = write->from;
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++, sums = ahead_further(write, sums)) __builtin_prefetch(sums, 1);
    if (how == PANEL && rows == TILE_ROWS && vectors == STRIP_VECTORS) {
        tile_neon(p, a, b, k);
        return;
    }
#endif
    if (how == PANEL)
        tile_panel(p, rows, vectors, a, b, k, next);
    else if (how == LYING)
        tile_lying(p, rows, vectors, a, stride, b, down, k, next);
    else
        tile_across(p, rows, vectors, a, stride, b, down, k, next);
}

#endif
