/* Four numbers as one, whatever the width of vectors: squares of four by four are turned in registers. */
#ifndef HD_BACKEND_CPU_PRODUCT_QUAD_H
#define HD_BACKEND_CPU_PRODUCT_QUAD_H

#include "backend/cpu/product/square.h"
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

/* The same of VL rows: to[l][j] = from[j][l], for l < 4. A square of each four rows lies in a quarter or a
   half of a vector, where it is turned. Of fewer rows the last is read in place of those that are not there.
 */
#if !defined(HD_REAL_DOUBLE) && defined(__x86_64__) && HD_VECTOR_BYTES > 16
#define HD_TURNS_VECTORS 1
enum { TURNED = VL }; /* rows at once */

/* Rows row, row + 4, ... of four[0][4 rows], four[1][4 rows], ... */
INLINE vec rows_apart(const hd_real *const *four, size_t stride, int row, int rows)
{
#define ROW_OF(i) _mm_loadu_ps(four[i] + (size_t)(4 * (i) + row < rows ? row : rows - 1 - 4 * (i)) * stride)
#if HD_VECTOR_BYTES == 64
    __m512 v = _mm512_castps128_ps512(ROW_OF(0));
    if (rows > 4) v = _mm512_insertf32x4(v, ROW_OF(1), 1);
    if (rows > 8) v = _mm512_insertf32x4(v, ROW_OF(2), 2);
    if (rows > 12) v = _mm512_insertf32x4(v, ROW_OF(3), 3);
    return (vec)v;
#else
    __m256 v = _mm256_castps128_ps256(ROW_OF(0));
    if (rows > 4) v = _mm256_insertf128_ps(v, ROW_OF(1), 1);
    return (vec)v;
#endif
#undef ROW_OF
}

#if HD_VECTOR_BYTES == 64
#define HD_PAIRS(half, a, b)   (vec) _mm512_unpack##half##_ps((__m512)(a), (__m512)(b))
#define HD_DOUBLES(half, a, b) (vec) _mm512_unpack##half##_pd((__m512d)(a), (__m512d)(b))
#else
#define HD_PAIRS(half, a, b)   (vec) _mm256_unpack##half##_ps((__m256)(a), (__m256)(b))
#define HD_DOUBLES(half, a, b) (vec) _mm256_unpack##half##_pd((__m256d)(a), (__m256d)(b))
#endif

/* Every fourth row, hidden: a compiler would have a pointer to each row, more than there are registers. */
INLINE void every_fourth(const hd_real *four[VL / 4], const hd_real *from, size_t stride, int rows)
{
    four[0] = from;
    __asm__("" : "+r"(four[0]));
    UNROLL
    for (int i = 1; 4 * i < rows; i++) {
        four[i] = four[i - 1] + 4 * stride;
        __asm__("" : "+r"(four[i]));
    }
}

INLINE void turn_rows(vec to[4], const hd_real *from, size_t stride, int rows)
{
    const hd_real *four[VL / 4];
    every_fourth(four, from, stride, rows);
    vec r0 = rows_apart(four, stride, 0, rows), r1 = rows_apart(four, stride, 1, rows),
        r2 = rows_apart(four, stride, 2, rows), r3 = rows_apart(four, stride, 3, rows);
    vec p0 = HD_PAIRS(lo, r0, r1), p1 = HD_PAIRS(hi, r0, r1), p2 = HD_PAIRS(lo, r2, r3),
        p3 = HD_PAIRS(hi, r2, r3);
    to[0] = HD_DOUBLES(lo, p0, p2), to[1] = HD_DOUBLES(hi, p0, p2);
    to[2] = HD_DOUBLES(lo, p1, p3), to[3] = HD_DOUBLES(hi, p1, p3);
}

#if HD_VECTOR_BYTES == 64
#define HD_TURNS_LINES 1

/* The same of VL rows, whole lines of them: l < VL. */
INLINE void turn_lines(vec to[VL], const hd_real *from, size_t stride)
{
    const hd_real *four[VL / 4];
    __m512i v[SIXTEEN];
    every_fourth(four, from, stride, VL);
    UNROLL
    for (int i = 0; i < VL; i++) v[i] = _mm512_loadu_si512(four[i / 4] + (size_t)(i % 4) * stride);
    turn_sixteen(v);
    UNROLL
    for (int i = 0; i < VL; i++) to[i] = (vec)v[i];
}
#endif
#else
enum { TURNED = 4 };
#endif

#endif
