/* int8 on aarch64 with I8MM: one instruction multiplies two rows of a by two columns of b, eight numbers
   deep. A single row stands beside a row of zeros. */
#include "backend/cpu/form/form.h"

#if defined(__ARM_FEATURE_MATMUL_INT8) && !defined(HD_REAL_DOUBLE)
#include <sys/auxv.h>

#include "backend/cpu/form/int8.h"
#include "backend/cpu/form/tile_mmla.h"

enum { ROWS = 12, STRIP = 8, DEEP = 8 };

INLINE void tile_of(int32_t *sums, int pairs, const int8_t *a, const int8_t *b, size_t steps)
{
    int32x4_t s[ROWS / 2][STRIP / 2]; /* two by two */
    UNROLL
    for (int i = 0; i < pairs; i++) UNROLL
    for (int j = 0; j < STRIP / 2; j++) s[i][j] = vdupq_n_s32(0);
    const size_t ahead = steps * DEEP * STRIP;
    for (; steps; steps--, a += 2 * DEEP * pairs, b += DEEP * STRIP) {
        int8x16_t y[STRIP / 2];
        /* the next strip, while this one computes; few rows read faster than that would bring it */
        if (pairs >= 4) __builtin_prefetch(b + ahead);
        UNROLL
        for (int j = 0; j < STRIP / 2; j++) y[j] = vld1q_s8(b + 2 * DEEP * j);
        UNROLL
        for (int i = 0; i < pairs; i++) {
            int8x16_t x = vld1q_s8(a + 2 * DEEP * i);
            UNROLL
            for (int j = 0; j < STRIP / 2; j++) s[i][j] = vmmlaq_s32(s[i][j], x, y[j]);
        }
    }
    UNROLL
    for (int i = 0; i < pairs; i++) UNROLL
    for (int j = 0; j < STRIP / 4; j++) {
        int32x4_t x = s[i][2 * j], y = s[i][2 * j + 1];
        vst1q_s32(sums + 2 * i * STRIP + 4 * j, vcombine_s32(vget_low_s32(x), vget_low_s32(y)));
        vst1q_s32(sums + (2 * i + 1) * STRIP + 4 * j, vcombine_s32(vget_high_s32(x), vget_high_s32(y)));
    }
}

MMLA_TILE(full_tile, int32_t, "smmla", "16b", MMLA_ZERO, "prfm pldl1keep, [%[b], %[ahead]]\n")

static void tile(int32_t *sums, size_t rows, const int32_t *start, const int8_t *a, const int8_t *b,
                 size_t steps)
{
    (void)start;
    switch ((rows + 1) / 2) {
    case 1:
        tile_of(sums, 1, a, b, steps);
        break;
    case 2:
        tile_of(sums, 2, a, b, steps);
        break;
    case 3:
        tile_of(sums, 3, a, b, steps);
        break;
    case 4:
        tile_of(sums, 4, a, b, steps);
        break;
    case 5:
        tile_of(sums, 5, a, b, steps);
        break;
    default:
        full_tile(sums, STRIP, NULL, 0, a, b, steps);
    }
}

static bool needs(void)
{
    return getauxval(AT_HWCAP2) & HWCAP2_I8MM;
}

static const int8_shape shape = {
    .rows = ROWS, .strip = STRIP, .unit = 2, .step = DEEP, .deep_rows = DEEP, .deep = DEEP, .tile = tile};
INT8_FORM(smmla, "smmla");
#else
const hd_form hd_form_smmla = {.name = "smmla"};
#endif
