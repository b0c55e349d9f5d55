/* Products of bf16 numbers with AVX512_BF16: one instruction adds two products each to 16 sums in f32, that
   of the odd number of a pair first. Such products are exact, and what is below the smallest normal number
   counts as zero. */
#include "backend/cpu/form/form.h"

#if defined(__AVX512BF16__) && !defined(HD_REAL_DOUBLE)
#include <cpuid.h>

enum { ROWS = 12 }; /* by two vectors: 24 sums */

#include "backend/cpu/form/pairs.h"

/* One or two vectors of columns; `last` is what the last of them has. */
INLINE void tile(const place *p, size_t rows, int vectors, __mmask16 last, const uint16_t *a,
                 const uint16_t *b, size_t steps)
{
    const __mmask16 wide[2] = {vectors == 2 ? first(HALF) : last, last};
    __m512 s[ROWS][2];
    UNROLL
    for (size_t i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++)
        s[i][j] = _mm512_maskz_loadu_ps(wide[j], p->start + i * p->start_stride + HALF * j);
    for (; steps; steps--, a += rows * STEP, b += 2 * TILE)
        for (size_t l = 0; l < STEP; l += 2) {
            __m512i y[2];
            UNROLL
            for (int j = 0; j < vectors; j++) {
                const uint16_t *at = b + TILE * j + HALF * l;
                y[j] = _mm512_loadu_si512(at);
                _mm_prefetch((const char *)at + AHEAD, _MM_HINT_T0);
            }
            UNROLL
            for (size_t i = 0; i < rows; i++) {
                int32_t pair;
                memcpy(&pair, a + i * STEP + l, sizeof pair);
                const __m512i x = _mm512_set1_epi32(pair);
                UNROLL
                for (int j = 0; j < vectors; j++)
                    s[i][j] = _mm512_dpbf16_ps(s[i][j], (__m512bh)x, (__m512bh)y[j]);
            }
        }
    UNROLL
    for (size_t i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++)
        _mm512_mask_storeu_ps(p->c + i * p->c_stride + HALF * j, wide[j], s[i][j]);
}

#define TILE_CASE(n)                                            \
    case n:                                                     \
        if (columns > HALF)                                     \
            tile(to, n, 2, first(columns - HALF), a, b, steps); \
        else                                                    \
            tile(to, n, 1, first(columns), a, b, steps);        \
        break;

static void tile_of(void *state, const place *to, size_t rows, size_t columns, const uint16_t *a,
                    const uint16_t *b, size_t steps)
{
    (void)state;
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
        TILE_CASE(5)
        TILE_CASE(6)
        TILE_CASE(7)
        TILE_CASE(8)
        TILE_CASE(9)
        TILE_CASE(10)
        TILE_CASE(11)
        TILE_CASE(12)
    }
}

static void multiply(const hd_product *p, size_t row, size_t row_end, size_t strip, size_t strip_end,
                     char *scratch)
{
    multiply_by(p, row, row_end, strip, strip_end, scratch, tile_of, NULL);
}

static bool needs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("fma");
}

/* Intel's processors with AMX or FP16 take two cycles for it: half of what they multiply in f32. */
static bool slow(void)
{
    enum { HAS_AMX = 1 << 22, HAS_FP16 = 1 << 23 };
    unsigned a, b, c, d;
    return __builtin_cpu_is("intel") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & (HAS_AMX | HAS_FP16);
}

const hd_form hd_form_avx512_bf16 = {.name = "avx512_bf16",
                                     .stores = HD_BF16,
                                     .strip = STRIP,
                                     .rows = ROWS,
                                     .size = size,
                                     .pack = pack,
                                     .scratch = scratch_size,
                                     .multiply = multiply,
                                     .trains = true,
                                     .needs = needs,
                                     .slow = slow};
#else
const hd_form hd_form_avx512_bf16 = {.name = "avx512_bf16"};
#endif
