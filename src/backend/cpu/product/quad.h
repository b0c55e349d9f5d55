/* Four numbers as one, whatever the width of vectors: squares of four by four are turned in registers. */
#ifndef HD_BACKEND_CPU_PRODUCT_QUAD_H
#define HD_BACKEND_CPU_PRODUCT_QUAD_H

#include "backend/cpu/vector.h"

typedef hd_real quad __attribute__((vector_size(4 * sizeof(hd_real)), aligned(sizeof(hd_real)), may_alias));

/* a b + c, rounded as hd_fma does. No function: one that returns four doubles warns without AVX. */
#if defined(HD_REAL_DOUBLE)
#define quad_fma(a, b, c) (a) * (b) + (c)
#elif defined(__aarch64__)
#define quad_fma(a, b, c) (quad) vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b)
#elif defined(__FMA__)
#define quad_fma(a, b, c) (quad) _mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c)
#else
#define quad_fma(a, b, c) (a) * (b) + (c)
#endif

/* to = the transpose of from[4 rows, `stride` apart], four by four */
INLINE void turn_square(quad to[4], const hd_real *from, size_t stride)
{
    quad r0 = *(const quad *)from, r1 = *(const quad *)(from + stride),
         r2 = *(const quad *)(from + 2 * stride), r3 = *(const quad *)(from + 3 * stride);
    quad p0 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), p1 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
    quad p2 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), p3 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
    to[0] = __builtin_shufflevector(p0, p2, 0, 1, 4, 5);
    to[1] = __builtin_shufflevector(p1, p3, 0, 1, 4, 5);
    to[2] = __builtin_shufflevector(p0, p2, 2, 3, 6, 7);
    to[3] = __builtin_shufflevector(p1, p3, 2, 3, 6, 7);
}

#endif
