/* int8 with AVX-VNNI: one instruction multiplies four unsigned numbers by four signed ones. Numbers of rows
   are 128 larger there, and sums start at what that adds less. */
#include "backend/cpu/form/form.h"

#if defined(__AVXVNNI__) && defined(__FMA__) && !defined(HD_REAL_DOUBLE)
#include <cpuid.h>
#include <immintrin.h>

#define LANES 8
enum { ROWS = 6 };
typedef __m256i lanes, row_lanes;
#define lanes_load(p)        _mm256_loadu_si256((const __m256i *)(p))
#define lanes_store(p, x)    _mm256_storeu_si256((__m256i *)(p), x)
#define row_of(four)         _mm256_set1_epi32(four)
#define lanes_dot(s, row, b) _mm256_dpbusd_avx_epi32(s, row, b)

#include "backend/cpu/form/dot.h"

static bool needs(void)
{
    unsigned a = 0, b, c, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}

DOT_SHAPE(0x80);
INT8_FORM(avx_vnni, "avx_vnni");
#else
const hd_form hd_form_avx_vnni = {.name = "avx_vnni"};
#endif
