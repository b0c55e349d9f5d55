/* How rows become whole numbers of 8 bits, by the rule of tensor/int8.h, and where those lie. Where few
   numbers are so large that all others would share a few steps, a row of a has a second line. Which rows
   those are depends on whole numbers alone, so that all machines choose the same ones. */
#ifndef HD_BACKEND_CPU_FORM_INT8_ROWS_H
#define HD_BACKEND_CPU_FORM_INT8_ROWS_H

#include "backend/cpu/form/form.h"
#include "backend/cpu/vector.h"
#include "tensor/int8.h"

enum {
    INT8_EVEN = 16, /* the square of how many times larger than the root of the mean square the largest number
                       of a row with a single line may be: */
    INT8_UNEVEN = 64,
    INT8_LONG = 12, /* a number of that for so many of the row, between the two */
    INT8_CHUNK = 8, /* numbers that are quantized at once */
};

INLINE size_t int8_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

/* Of eight numbers: the first line, to nearest even. 0 * infinity is NaN, which no machine converts alike:
   rows without an inverse are zeros. */
INLINE void int8_first(int8_t *to, const float *x, float inverse)
{
#if defined(__aarch64__)
    int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), inverse)),
              high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4), inverse));
    vst1_s8(to, vmovn_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high))));
#elif defined(__x86_64__)
    __m128 by = _mm_set1_ps(inverse);
    __m128i low = _mm_cvtps_epi32(_mm_mul_ps(_mm_loadu_ps(x), by)),
            high = _mm_cvtps_epi32(_mm_mul_ps(_mm_loadu_ps(x + 4), by)), y = _mm_packs_epi32(low, high);
    _mm_storel_epi64((__m128i *)to, _mm_packs_epi16(y, y));
#else
    for (int i = 0; i < INT8_CHUNK; i++) to[i] = hd_int8_rounded(x[i], inverse);
#endif
}

/* Of the whole chunks of k numbers. */
INLINE void int8_firsts(int8_t *to, const float *x, size_t k, float inverse)
{
    size_t l = 0;
#ifdef __AVX512F__
    const __m512 by = _mm512_set1_ps(inverse);
    for (; l + 16 <= k; l += 16)
        _mm_storeu_si128((__m128i *)(to + l), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(
                                                  _mm512_mul_ps(_mm512_loadu_ps(x + l), by))));
#endif
    for (; l + INT8_CHUNK <= k; l += INT8_CHUNK) int8_first(to + l, x + l, inverse);
}

/* ... and the second one behind it. */
INLINE void int8_second(int8_t *to, const int8_t *first, const float *x, float inverse)
{
#if defined(__aarch64__)
    int16x8_t y = vmovl_s8(vld1_s8(first));
    float32x4_t by = vdupq_n_f32(inverse),
                low = vfmaq_f32(vnegq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(y)))), vld1q_f32(x), by),
                high = vfmaq_f32(vnegq_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(y)))), vld1q_f32(x + 4), by);
    int16x4_t l = vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(low, HD_INT8_PARTS))),
              h = vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(high, HD_INT8_PARTS)));
    vst1_s8(to, vmovn_s16(vcombine_s16(l, h)));
#else
    float left[INT8_CHUNK];
    for (int i = 0; i < INT8_CHUNK; i++) left[i] = __builtin_fmaf(x[i], inverse, -(float)first[i]);
    int8_first(to, left, HD_INT8_PARTS);
#endif
}

/* At most 127 * 127 * 131,072, which is less than 2^31. A loop of its own over whole lines is one that
   compilers turn into vectors. */
INLINE uint32_t int8_squares(const int8_t *x, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return (uint32_t)sum;
}

/* The `count` numbers at x, then zeros. */
INLINE const float *int8_filled(float some[INT8_CHUNK], const float *x, size_t count)
{
    if (count >= INT8_CHUNK) return x;
    memset(some, 0, INT8_CHUNK * sizeof *some);
    memcpy(some, x, count * sizeof *some);
    return some;
}

/* A row times the factors of columns, and its scale: in one pass, since a row is soon rounded. */
INLINE hd_int8_scale int8_multiplied(float *restrict to, const float *restrict x,
                                     const float *restrict factor, size_t k)
{
    uint32_t most = 0;
    for (size_t l = 0; l < k; l++) most = hd_int8_larger(most, to[l] = x[l] * factor[l]);
    return hd_int8_scale_up_to(most);
}

/* Short rows cost little twice, and are what models of few columns have. */
INLINE uint64_t int8_uneven(size_t k)
{
    const size_t x = k / INT8_LONG;
    return x < INT8_EVEN ? INT8_EVEN : x > INT8_UNEVEN ? INT8_UNEVEN : x;
}

/* Of a row with this scale: one or two lines of `all` numbers each, one behind the other; returns how many.
 */
INLINE size_t int8_lines(int8_t *to, size_t all, const float *x, size_t k, hd_int8_scale s)
{
    const size_t whole = k / INT8_CHUNK * INT8_CHUNK;
    float some[INT8_CHUNK];
    if (whole < all || !(s.inverse > 0)) memset(to, 0, all);
    if (!(s.inverse > 0)) return 1;
    int8_firsts(to, x, k, s.inverse);
    if (whole < k) int8_first(to + whole, int8_filled(some, x + whole, k - whole), s.inverse);
    if (int8_uneven(k) * int8_squares(to, all) >= (uint64_t)HD_INT8_MOST * HD_INT8_MOST * k) return 1;
    if (whole < all) memset(to + all, 0, all);
    for (size_t l = 0; l < k; l += INT8_CHUNK)
        int8_second(to + all + l, to + l, int8_filled(some, x + l, k - l), s.inverse);
    return 2;
}

/* Line i of `across` has its numbers l at l / deep * across * deep + i * deep + l % deep. Eight of them from
   number l on: */
INLINE void int8_spread(int8_t *to, size_t across, size_t deep, size_t i, size_t l, const int8_t *chunk)
{
    for (size_t c = 0; c < INT8_CHUNK; c += deep)
        memcpy(to + (l + c) / deep * across * deep + i * deep + (l + c) % deep, chunk + c,
               deep < INT8_CHUNK ? deep : INT8_CHUNK);
}

#endif
