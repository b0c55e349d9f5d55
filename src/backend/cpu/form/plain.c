/* int8 in plain C: what all other forms of it are compared with, and for processors without any of them. */
#include "backend/cpu/form/form.h"

#ifndef HD_REAL_DOUBLE
#include "backend/cpu/form/int8.h"

enum { ROWS = 4, STRIP = 4, DEEP = 8 };

static void tile(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps)
{
    (void)start;
    memset(sums, 0, ROWS * STRIP * sizeof *sums);
    for (; steps; steps--, a += rows * DEEP, b += STRIP * DEEP)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < STRIP; j++)
                for (size_t l = 0; l < DEEP; l++) sums[i * STRIP + j] += a[i * DEEP + l] * b[j * DEEP + l];
}

static bool needs(void)
{
    return true;
}

static const int8_shape shape = {
    .rows = ROWS, .strip = STRIP, .unit = 1, .step = DEEP, .deep_rows = DEEP, .deep = DEEP, .tile = tile};
INT8_FORM(plain, "plain");
#endif
