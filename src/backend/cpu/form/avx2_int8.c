/* int8 with AVX2: bytes of b take the signs of the row and meet its absolute values; two products of at most
   127 by 127 fit 16 bits, so that nothing saturates. */
#include "backend/cpu/form/form.h"

#if defined(__AVX2__) && defined(__FMA__) && !defined(HD_REAL_DOUBLE)
#include <immintrin.h>

#define LANES 8
enum { ROWS = 4 };
typedef __m256i lanes;
typedef struct row_lanes {
    __m256i x, size;
} row_lanes;
#define lanes_load(p)     _mm256_loadu_si256((const __m256i *)(p))
#define lanes_store(p, x) _mm256_storeu_si256((__m256i *)(p), x)

static inline __attribute__((always_inline)) row_lanes row_of(int four)
{
    __m256i x = _mm256_set1_epi32(four);
    return (row_lanes){x, _mm256_abs_epi8(x)};
}

static inline __attribute__((always_inline)) __m256i lanes_dot(__m256i s, row_lanes r, __m256i b)
{
    __m256i pairs = _mm256_maddubs_epi16(r.size, _mm256_sign_epi8(b, r.x));
    return _mm256_add_epi32(s, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#include "backend/cpu/form/dot.h"

static bool needs(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

DOT_SHAPE(0);
INT8_FORM(avx2_int8, "avx2");
#else
const hd_form hd_form_avx2_int8 = {.name = "avx2"};
#endif
