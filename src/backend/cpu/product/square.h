/* Sixteen by sixteen numbers of 32 bits, or pairs of 16, turned in registers of AVX-512. */
#ifndef HD_BACKEND_CPU_PRODUCT_SQUARE_H
#define HD_BACKEND_CPU_PRODUCT_SQUARE_H

#ifdef __AVX512F__
#include <immintrin.h>

#include "backend/cpu/vector.h"

enum { SIXTEEN = 16 };

/* Number j of v[i] becomes number i of v[j]. */
INLINE void turn_sixteen(__m512i v[SIXTEEN])
{
    __m512i t[SIXTEEN];
    UNROLL
    for (int i = 0; i < SIXTEEN; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    UNROLL
    for (int i = 0; i < SIXTEEN; i += 4) UNROLL
    for (int j = 0; j < 2; j++) {
        v[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
        v[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
    UNROLL
    for (int i = 0; i < SIXTEEN; i += 8) UNROLL
    for (int j = 0; j < 4; j++) {
        t[i + j] = _mm512_shuffle_i32x4(v[i + j], v[i + j + 4], 0x88);
        t[i + j + 4] = _mm512_shuffle_i32x4(v[i + j], v[i + j + 4], 0xdd);
    }
    UNROLL
    for (int j = 0; j < 8; j++) {
        v[j] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88);
        v[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd);
    }
}
#endif

#endif
