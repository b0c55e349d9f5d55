/* int8 with AVX512_VNNI: as avx_vnni.c, in vectors twice as wide. */
#include "backend/cpu/form/form.h"

#if defined(__AVX512VNNI__) && defined(__FMA__) && !defined(HD_REAL_DOUBLE)
#include <immintrin.h>

#define LANES 16
enum { ROWS = 12 };
typedef __m512i lanes, row_lanes;
#define lanes_load(p)        _mm512_loadu_si512(p)
#define lanes_store(p, x)    _mm512_storeu_si512(p, x)
#define row_of(four)         _mm512_set1_epi32(four)
#define lanes_dot(s, row, b) _mm512_dpbusd_epi32(s, row, b)

#include "backend/cpu/form/dot.h"

static bool needs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("fma");
}

DOT_SHAPE(0x80);
INT8_FORM(avx512_vnni, "avx512_vnni");
#else
const hd_form hd_form_avx512_vnni = {.name = "avx512_vnni"};
#endif
