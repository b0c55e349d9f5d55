/* int8 on aarch64 with dot products: one instruction multiplies a row of a by four columns of b, four numbers
   deep. */
#include "backend/cpu/form/form.h"

#if defined(__ARM_FEATURE_DOTPROD) && !defined(HD_REAL_DOUBLE)
#include <sys/auxv.h>

#include "backend/cpu/form/int8.h"

enum { ROWS = 8, STRIP = 8, DEEP = 4, FOUR = 4, CHUNKS = INT8_CHUNK / DEEP };

/* Four rows are read at once: `rows` of them count, of each four. */
INLINE void tile_of(int32_t *sums, int fours, int rows, const int8_t *a, const int8_t *b, size_t steps)
{
    int32x4_t s[ROWS][STRIP / FOUR];
    UNROLL
    for (int i = 0; i < ROWS; i++) UNROLL
    for (int j = 0; j < STRIP / FOUR; j++) s[i][j] = vdupq_n_s32(0);
    for (steps *= CHUNKS; steps; steps--, a += DEEP * FOUR * fours, b += DEEP * STRIP) UNROLL
    for (int f = 0; f < fours; f++) {
        int8x16_t x = vld1q_s8(a + DEEP * FOUR * f);
        UNROLL
        for (int j = 0; j < STRIP / FOUR; j++) {
            int8x16_t y = vld1q_s8(b + DEEP * FOUR * j);
            s[4 * f][j] = vdotq_laneq_s32(s[4 * f][j], y, x, 0);
            if (rows > 1) s[4 * f + 1][j] = vdotq_laneq_s32(s[4 * f + 1][j], y, x, 1);
            if (rows > 2) s[4 * f + 2][j] = vdotq_laneq_s32(s[4 * f + 2][j], y, x, 2);
            if (rows > 2) s[4 * f + 3][j] = vdotq_laneq_s32(s[4 * f + 3][j], y, x, 3);
        }
    }
    UNROLL
    for (int i = 0; i < FOUR * fours; i++) UNROLL
    for (int j = 0; j < STRIP / FOUR; j++) vst1q_s32(sums + i * STRIP + FOUR * j, s[i][j]);
}

static void tile(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps)
{
    (void)start;
    if (rows == 1)
        tile_of(sums, 1, 1, a, b, steps);
    else if (rows == 2)
        tile_of(sums, 1, 2, a, b, steps);
    else if (rows <= FOUR)
        tile_of(sums, 1, FOUR, a, b, steps);
    else
        tile_of(sums, ROWS / FOUR, FOUR, a, b, steps);
}

static bool needs(void)
{
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}

static const int8_shape shape = {.rows = ROWS,
                                 .strip = STRIP,
                                 .unit = FOUR,
                                 .step = INT8_CHUNK,
                                 .deep_rows = DEEP,
                                 .deep = DEEP,
                                 .tile = tile};
INT8_FORM(sdot, "sdot");
#else
const hd_form hd_form_sdot = {.name = "sdot"};
#endif
