/* The tile of int8 forms of x86-64 that multiply four numbers of a row by four of each of LANES columns at
   once. Who includes it defines LANES, ROWS and lanes (a vector of 32-bit sums), lanes_load, lanes_store and
   lanes_dot(s, row, b): s and the products of b with `row`, row_of(x) of the four bytes x. */
#ifndef HD_BACKEND_CPU_FORM_DOT_H
#define HD_BACKEND_CPU_FORM_DOT_H

#include "backend/cpu/form/int8.h"

enum { VECTORS = 2, STRIP = VECTORS * LANES, DEEP = 4, CHUNKS = INT8_CHUNK / DEEP };

INLINE void dot_tile(int32_t *sums, int rows, const int32_t *start, const int8_t *a, const int8_t *b,
                     size_t steps)
{
    lanes s[ROWS][VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < VECTORS; j++) s[i][j] = lanes_load(start + j * LANES);
    const size_t ahead = steps * INT8_CHUNK * STRIP;
    for (steps *= CHUNKS; steps; steps--, a += DEEP * rows, b += DEEP * STRIP) {
        lanes y[VECTORS];
        /* the next strip, while this one computes; few rows read faster than that would bring it */
        if (2 * rows > ROWS) UNROLL
        for (int l = 0; l < DEEP * STRIP; l += INT8_LINE) __builtin_prefetch(b + ahead + l, 0, 2);
        UNROLL
        for (int j = 0; j < VECTORS; j++) y[j] = lanes_load(b + DEEP * LANES * j);
        UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t four;
            memcpy(&four, a + DEEP * i, sizeof four);
            row_lanes x = row_of(four);
            UNROLL
            for (int j = 0; j < VECTORS; j++) s[i][j] = lanes_dot(s[i][j], x, y[j]);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < VECTORS; j++) lanes_store(sums + i * STRIP + j * LANES, s[i][j]);
}

#define DOT_CASE(n)                                           \
    case n:                                                   \
        if (n <= ROWS) dot_tile(sums, n, start, a, b, steps); \
        break;

static void tile(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps)
{
    switch (rows) {
        DOT_CASE(1)
        DOT_CASE(2)
        DOT_CASE(3)
        DOT_CASE(4)
        DOT_CASE(5)
        DOT_CASE(6)
#if LANES == 16
        DOT_CASE(7)
        DOT_CASE(8)
        DOT_CASE(9)
        DOT_CASE(10)
        DOT_CASE(11)
        DOT_CASE(12)
#endif
    }
}

#define DOT_SHAPE(TURNED)                                \
    static const int8_shape shape = {.rows = ROWS,       \
                                     .strip = STRIP,     \
                                     .unit = 1,          \
                                     .step = INT8_CHUNK, \
                                     .deep_rows = DEEP,  \
                                     .deep = DEEP,       \
                                     .turned = TURNED,   \
                                     .tile = tile}

#endif
