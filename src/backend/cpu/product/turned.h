/* Tiles of few rows, which read b as it lies, [N,K], and turn it in registers. */
#ifndef HD_BACKEND_CPU_PRODUCT_TURNED_H
#define HD_BACKEND_CPU_PRODUCT_TURNED_H

#include "backend/cpu/product/place.h"
#include "backend/cpu/product/quad.h"
#include "backend/cpu/product/tile.h"

enum {
#ifdef HD_TURNS_LINES
    TURNED_ROWS = 8, /* more are worth packing b for */
#else
    TURNED_ROWS = 4,
#endif
    WIDE_ROWS = 4, /* that leave registers for QUADS */
    QUADS = STRIP < 12 ? STRIP / 4
            : VL < 16  ? 4
                       : 8, /* of columns that few rows meet at once */
};

/* `rows` by `quads` * 4 columns. A square of b is turned in registers, so that each sum still goes over k in
   rising order. */
INLINE void tile_turned(const place *p, int rows, int quads, const hd_real *a, size_t row, const hd_real *b,
                        size_t stride, size_t k)
{
    quad s[TURNED_ROWS][QUADS];
    size_t l = 0;
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int q = 0; q < quads; q++) s[i][q] = *(const quad *)(p->start + (size_t)i * p->start_stride + 4 * q);
    for (; l + 4 <= k; l += 4) UNROLL
    for (int q = 0; q < quads; q++) {
        quad y[4];
        turn_square(y, b + (size_t)(4 * q) * stride + l, stride);
        UNROLL
        for (int i = 0; i < rows; i++) {
            quad x = *(const quad *)(a + (size_t)i * row + l);
            s[i][q] = quad_fma(y[0], __builtin_shufflevector(x, x, 0, 0, 0, 0), s[i][q]);
            s[i][q] = quad_fma(y[1], __builtin_shufflevector(x, x, 1, 1, 1, 1), s[i][q]);
            s[i][q] = quad_fma(y[2], __builtin_shufflevector(x, x, 2, 2, 2, 2), s[i][q]);
            s[i][q] = quad_fma(y[3], __builtin_shufflevector(x, x, 3, 3, 3, 3), s[i][q]);
        }
    }
    for (; l < k; l++) UNROLL
    for (int q = 0; q < quads; q++) {
        const hd_real *f = b + (size_t)(4 * q) * stride + l;
        quad y = {f[0], f[stride], f[2 * stride], f[3 * stride]};
        UNROLL
        for (int i = 0; i < rows; i++) {
            quad x = a[(size_t)i * row + l] - (quad){0};
            s[i][q] = quad_fma(y, x, s[i][q]);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int q = 0; q < quads; q++) *(quad *)(p->c + (size_t)i * p->c_stride + 4 * q) = s[i][q];
}

#ifdef HD_TURNS_LINES
enum {
    AHEAD_OF_ROW = 32, /* numbers */
    SAME_SETS = 512,   /* lines of rows so far apart, or times as far, have two places of L1 at most */
};

/* Whole lines of VL rows of b, AHEAD_OF_ROW numbers behind number l or, where they end before, those that the
   rows below the `all` begin with. Rows so far apart that their lines would share a few places of L1 must not
   wait there. */
INLINE void ask_lines(const hd_real *b, size_t stride, int all, size_t l, size_t k)
{
    const size_t far = l + AHEAD_OF_ROW;
    const hd_real *from = far < k ? b + far : b + (size_t)all * stride + far - k;
    if (stride % SAME_SETS == 0) return;
    UNROLL
    for (size_t r = 0; r < VL; r++) __builtin_prefetch(from + r * stride);
}
#endif

#ifdef HD_TURNS_VECTORS
/* The same with `vectors` * VL columns. */
INLINE void tile_turned_wide(const place *p, int rows, int vectors, const hd_real *a, size_t row,
                             const hd_real *b, size_t stride, size_t k)
{
    vec s[TURNED_ROWS][4 * QUADS / VL];
    size_t l = 0;
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int v = 0; v < vectors; v++) s[i][v] = hd_load(p->start + (size_t)i * p->start_stride + v * VL);
#ifdef HD_TURNS_LINES
    for (; l + VL <= k; l += VL) UNROLL
    for (int v = 0; v < vectors; v++) {
        vec y[VL];
        ask_lines(b + (size_t)(v * VL) * stride, stride, vectors * VL, l, k);
        turn_lines(y, b + (size_t)(v * VL) * stride + l, stride);
        UNROLL
        for (int i = 0; i < rows; i++) UNROLL
        for (int e = 0; e < VL; e++) s[i][v] = hd_fma(y[e], hd_spread(a[(size_t)i * row + l + e]), s[i][v]);
    }
#endif
    for (; l + 4 <= k; l += 4) UNROLL
    for (int v = 0; v < vectors; v++) {
        vec y[4];
        turn_rows(y, b + (size_t)(v * VL) * stride + l, stride, VL);
        UNROLL
        for (int i = 0; i < rows; i++) UNROLL
        for (int e = 0; e < 4; e++) s[i][v] = hd_fma(y[e], hd_spread(a[(size_t)i * row + l + e]), s[i][v]);
    }
    for (; l < k; l++) UNROLL
    for (int v = 0; v < vectors; v++) {
        vec y;
        for (int c = 0; c < VL; c++) y[c] = b[(size_t)(v * VL + c) * stride + l];
        UNROLL
        for (int i = 0; i < rows; i++) s[i][v] = hd_fma(y, hd_spread(a[(size_t)i * row + l]), s[i][v]);
    }
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int v = 0; v < vectors; v++) hd_store(p->c + (size_t)i * p->c_stride + v * VL, s[i][v]);
}
#else
#define tile_turned_wide tile_turned
#endif

#endif
