/* Numbers of bf16 as vectors of hd_real. */
#ifndef HD_BACKEND_CPU_PRODUCT_WIDEN_H
#define HD_BACKEND_CPU_PRODUCT_WIDEN_H

#include "backend/cpu/vector.h"

/* A bf16 number is the upper half of a float. Compilers take vectors of 16 bits apart one by one. */
INLINE vec widen(const uint16_t *from)
{
#if defined(HD_REAL_DOUBLE) || !(defined(__aarch64__) || defined(__x86_64__))
    vec wide = {0};
    for (int i = 0; i < VL; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        float x;
        memcpy(&x, &bits, sizeof x);
        wide[i] = (hd_real)x;
    }
    return wide;
#elif defined(__aarch64__)
    return (vec)vshlq_n_u32(vmovl_u16(vld1_u16(from)), 16);
#elif HD_VECTOR_BYTES == 64
    return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)from)), 16);
#elif HD_VECTOR_BYTES == 32
    return (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)from)), 16);
#else
    return (vec)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const void *)from));
#endif
}

#endif
