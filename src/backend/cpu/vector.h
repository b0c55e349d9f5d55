/* Vectors of hd_real in the width of the instruction set a kernel file is compiled for (HD_VECTOR_BYTES), and
   the functions of backend/function.h on them. Everything is GCC/Clang vector code; only where the compilers
   do badly are there intrinsics. */
#ifndef HD_BACKEND_CPU_VECTOR_H
#define HD_BACKEND_CPU_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/tensor.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#ifdef HD_REAL_DOUBLE
typedef int64_t hd_bits;
#else
typedef int32_t hd_bits;
#endif

typedef hd_real vec __attribute__((vector_size(HD_VECTOR_BYTES)));
typedef hd_bits ivec __attribute__((vector_size(HD_VECTOR_BYTES)));
typedef hd_real vec_loose __attribute__((vector_size(HD_VECTOR_BYTES), aligned(sizeof(hd_real)), may_alias));

enum { VL = HD_VECTOR_BYTES / (int)sizeof(hd_real) };

#define INLINE static inline __attribute__((always_inline, unused))

/* Before a loop of few, known turns over vectors that must stay in registers. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE vec hd_load(const hd_real *p)
{
    return *(const vec_loose *)p;
}
INLINE void hd_store(hd_real *p, vec v)
{
    *(vec_loose *)p = v;
}
/* The same number in every lane: x - 0 is x, -0 included, so that nothing is left to compute. */
INLINE vec hd_spread(hd_real x)
{
    return x - (vec){0};
}
INLINE vec hd_set(double x)
{
    return hd_spread((hd_real)x);
}

/* The first n of a vector, fewer than all; the rest is `fill`. Without masks in registers a copy of n numbers
   is a call. */
#if !defined(HD_REAL_DOUBLE) && HD_VECTOR_BYTES == 64
INLINE vec hd_load_part(const hd_real *p, size_t n, double fill)
{
    return (vec)_mm512_mask_loadu_ps(_mm512_set1_ps((float)fill), (__mmask16)((1u << n) - 1), p);
}
INLINE void hd_store_part(hd_real *p, vec v, size_t n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
}
#else
INLINE vec hd_load_part(const hd_real *p, size_t n, double fill)
{
    vec v = hd_set(fill);
    memcpy(&v, p, n * sizeof *p);
    return v;
}
INLINE void hd_store_part(hd_real *p, vec v, size_t n)
{
    memcpy(p, &v, n * sizeof *p);
}
#endif
INLINE vec hd_pick(ivec mask, vec yes, vec no)
{
    return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask));
}

/* Where one instruction does it, compilers do not find it from the comparison. */
#if defined(HD_REAL_DOUBLE)
#define HD_MAX(a, b) hd_pick(a > b, a, b)
#define HD_MIN(a, b) hd_pick(a < b, a, b)
#elif defined(__aarch64__)
#define HD_MAX(a, b)    (vec) vmaxq_f32((float32x4_t)a, (float32x4_t)b)
#define HD_MIN(a, b)    (vec) vminq_f32((float32x4_t)a, (float32x4_t)b)
#define HD_SQRT(x)      (vec) vsqrtq_f32((float32x4_t)x)
#define HD_FMA(a, b, c) (vec) vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b)
#elif HD_VECTOR_BYTES == 64
#define HD_MAX(a, b)    (vec) _mm512_max_ps((__m512)a, (__m512)b)
#define HD_MIN(a, b)    (vec) _mm512_min_ps((__m512)a, (__m512)b)
#define HD_SQRT(x)      (vec) _mm512_sqrt_ps((__m512)x)
#define HD_FMA(a, b, c) (vec) _mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c)
#elif HD_VECTOR_BYTES == 32
#define HD_MAX(a, b)    (vec) _mm256_max_ps((__m256)a, (__m256)b)
#define HD_MIN(a, b)    (vec) _mm256_min_ps((__m256)a, (__m256)b)
#define HD_SQRT(x)      (vec) _mm256_sqrt_ps((__m256)x)
#define HD_FMA(a, b, c) (vec) _mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c)
#elif defined(__x86_64__)
#define HD_MAX(a, b) (vec) _mm_max_ps((__m128)a, (__m128)b)
#define HD_MIN(a, b) (vec) _mm_min_ps((__m128)a, (__m128)b)
#define HD_SQRT(x)   (vec) _mm_sqrt_ps((__m128)x)
#else
#define HD_MAX(a, b) hd_pick(a > b, a, b)
#define HD_MIN(a, b) hd_pick(a < b, a, b)
#endif

/* max of x86-64 is its second operand where one is NaN */
#if defined(HD_REAL_DOUBLE) || !defined(__x86_64__)
#define HD_LARGER(a, b) hd_pick(a > b, a, b)
#else
#define HD_LARGER(a, b) HD_MAX(a, b)
#endif

#ifndef HD_FMA
#define HD_FMA(a, b, c) (a) * (b) + (c)
#endif

/* a b + c in one rounding where the machine can. Spelled out, because compilers choose loop by loop whether
 * to fuse, and then a row's bits would depend on the rows beside it. */
INLINE vec hd_fma(vec a, vec b, vec c)
{
    return HD_FMA(a, b, c);
}

/* The larger and the smaller. A NaN in b comes through on every machine, one in a perhaps not: constants go
 * first. */
INLINE vec hd_max(vec a, vec b)
{
    return HD_MAX(a, b);
}
INLINE vec hd_min(vec a, vec b)
{
    return HD_MIN(a, b);
}
/* The larger; b where a is NaN. */
INLINE vec hd_larger(vec a, vec b)
{
    return HD_LARGER(a, b);
}
INLINE vec hd_positive(vec x)
{
    return hd_pick(x > hd_set(0), hd_set(1), hd_set(0));
}
INLINE vec hd_abs(vec x)
{
    return hd_max(-x, x);
}

/* Sum and maximum over a vector, always in the same order: halves are folded onto each other. Where that is
   written as a loop, gcc keeps the loop. A NaN in the first number is the maximum, others are not. */
#if defined(HD_REAL_DOUBLE) || !defined(__x86_64__)
INLINE hd_real hd_sum(vec v)
{
    hd_real t[VL];
    memcpy(t, &v, sizeof t);
    for (int n = VL / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) t[i] += t[i + n];
    return t[0];
}
INLINE hd_real hd_top(vec v)
{
    hd_real t[VL];
    memcpy(t, &v, sizeof t);
    for (int n = VL / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) t[i] = t[i + n] > t[i] ? t[i + n] : t[i];
    return t[0];
}
#else
#if HD_VECTOR_BYTES == 64
#define HD_EIGHT(op, v) \
    _mm256_##op##_ps(_mm512_extractf32x8_ps((__m512)(v), 1), _mm512_castps512_ps256((__m512)(v)))
#else
#define HD_EIGHT(op, v) (__m256)(v)
#endif
#if HD_VECTOR_BYTES >= 32
#define HD_FOUR(op, v) \
    _mm_##op##_ps(_mm256_extractf128_ps(HD_EIGHT(op, v), 1), _mm256_castps256_ps128(HD_EIGHT(op, v)))
#else
#define HD_FOUR(op, v) (__m128)(v)
#endif
#define HD_FOLDED(op, v)                                   \
    __m128 four = HD_FOUR(op, v);                          \
    four = _mm_##op##_ps(_mm_movehl_ps(four, four), four); \
    return _mm_cvtss_f32(_mm_##op##_ss(_mm_shuffle_ps(four, four, 1), four))
INLINE hd_real hd_sum(vec v)
{
    HD_FOLDED(add, v);
}
INLINE hd_real hd_top(vec v)
{
    HD_FOLDED(max, v);
}
#endif

#define HD_EACH(expression)                         \
    vec y = x;                                      \
    for (int i = 0; i < VL; i++) y[i] = expression; \
    return y

#ifdef HD_REAL_DOUBLE
INLINE vec hd_exp(vec x)
{
    HD_EACH(exp(x[i]));
}
INLINE vec hd_exp_term(vec x)
{
    return hd_exp(x);
}
INLINE vec hd_tanh(vec x)
{
    HD_EACH(tanh(x[i]));
}
INLINE vec hd_log(vec x)
{
    HD_EACH(log(x[i]));
}
INLINE vec hd_erf(vec x)
{
    HD_EACH(erf(x[i]));
}
INLINE vec hd_sqrt(vec x)
{
    HD_EACH(sqrt(x[i]));
}
#else
INLINE vec hd_log(vec x)
{
    HD_EACH(logf(x[i]));
}
#ifdef HD_SQRT
INLINE vec hd_sqrt(vec x)
{
    return HD_SQRT(x);
}
#else
INLINE vec hd_sqrt(vec x)
{
    HD_EACH(sqrtf(x[i]));
}
#endif

/* exp by range reduction to |r| <= ln2/2 and a polynomial of degree 6; error below 2 ulp. Of -87.3 to 89,
   where it is infinity above 88.3; NaN stays NaN. */
#define HD_EXP_LEAST (-87.33654f)
INLINE vec hd_exp_within(vec c)
{
    vec shift = hd_set(12582912.0f); /* 1.5 * 2^23: adding it leaves the rounded integer in the low bits */
    vec n = c * hd_set(1.44269504f) + shift;
    vec power = (vec)(((ivec)n << 23) + (127 << 23)); /* 2^n; 2^128 is infinity, as it should be */
    n -= shift;
    vec r = c - n * hd_set(0.693359375f);
    r = r - n * hd_set(-2.12194440e-4f);
    vec p = hd_set(1.9875691500e-4f);
    p = p * r + hd_set(1.3981999507e-3f);
    p = p * r + hd_set(8.3334519073e-3f);
    p = p * r + hd_set(4.1665795894e-2f);
    p = p * r + hd_set(1.6666665459e-1f);
    p = p * r + hd_set(5.0000001201e-1f);
    p = p * (r * r) + r + hd_set(1);
    return p * power;
}
/* Below that it gives 0 (no subnormals). */
INLINE vec hd_exp(vec x)
{
    vec low = hd_set(HD_EXP_LEAST);
    return (vec)((ivec)hd_exp_within(hd_min(hd_set(89), hd_max(low, x))) & ~(x < low));
}
/* Of x up to 0, for a sum with 1 in it: that does not show whether 0 or 1e-38 was added for the least. */
INLINE vec hd_exp_term(vec x)
{
    return hd_exp_within(hd_max(hd_set(HD_EXP_LEAST), x));
}

/* tanh: odd polynomial near 0, where 1 - 2/(exp(2x)+1) would lose the digits. */
INLINE vec hd_tanh(vec x)
{
    vec a = hd_abs(x), s = x * x;
    vec p = hd_set(-5.70498872745e-3f);
    p = p * s + hd_set(2.06390887954e-2f);
    p = p * s + hd_set(-5.37397155531e-2f);
    p = p * s + hd_set(1.33314422036e-1f);
    p = p * s + hd_set(-3.33332819422e-1f);
    vec small = p * s * x + x;
    vec big = hd_set(1) - hd_set(2) / (hd_exp(a + a) + hd_set(1));
    big = hd_pick(x < hd_set(0), -big, big);
    vec y = hd_pick(a < hd_set(0.625f), small, big);
    return hd_pick(x == x, y, x);
}

/* erf(x) / x as a ratio of polynomials in x^2 up to |x| = 3.9, where erf rounds to 1; relative error below
 * 4e-7. */
INLINE vec hd_erf(vec x)
{
    vec c = hd_min(hd_set(3.9), hd_max(hd_set(-3.9), x)), s = c * c;
    vec p = hd_set(2.06646542e-06), q = hd_set(3.82699848e-05);
    p = p * s + hd_set(2.85063079e-04), q = q * s + hd_set(1.15738610e-03);
    p = p * s + hd_set(3.73838765e-03), q = q * s + hd_set(1.49143611e-02);
    p = p * s + hd_set(5.26682130e-02), q = q * s + hd_set(1.13819362e-01);
    p = p * s + hd_set(1.89667800e-01), q = q * s + hd_set(5.01421493e-01);
    p = p * s + hd_set(1.12837915), q = q * s + hd_set(1);
    return c * p / q;
}
#endif

INLINE vec hd_sigmoid(vec x)
{
    return hd_set(1) / (hd_set(1) + hd_exp(-x));
}
/* erf may round to just beyond -1: without the maximum gelu(-1000) would be a thousand times that. */
INLINE vec hd_phi(vec x)
{
    return hd_max(hd_set(0), hd_set(0.5) * (hd_set(1) + hd_erf(x * hd_set(0.70710678118654752))));
}
INLINE vec hd_gelu_slope(vec x)
{
    return hd_phi(x) + x * (hd_exp(hd_set(-0.5) * x * x) * hd_set(0.39894228040143268));
}
INLINE vec hd_half_tanh(vec u)
{
    return hd_sigmoid(u + u);
} /* (1 + tanh u) / 2 */
INLINE vec hd_gelu_inner(vec x)
{
    return hd_set(0.79788456080286536) * (x + hd_set(0.044715) * x * x * x);
}

INLINE vec hd_gelu_tanh_slope(vec x)
{
    vec h = hd_half_tanh(hd_gelu_inner(x));
    vec c =
        hd_min(hd_set(32),
               hd_max(hd_set(-32), x)); /* beyond, h (1 - h) is 0, and 0 times an overflown square is NaN */
    vec inner = hd_set(0.79788456080286536) * (hd_set(1) + hd_set(3 * 0.044715) * c * c);
    return h + c * hd_set(2) * h * (hd_set(1) - h) * inner;
}

/* Runs the body for each vector of n columns; L(p) and S(p, v) load and store the columns at hand (fewer than
 * a vector at the end). */
#define HD_COLUMNS(n, ...)                   \
    do {                                     \
        size_t at_ = 0;                      \
        for (; at_ + VL <= (n); at_ += VL) { \
            enum { whole_ = 1 };             \
            const size_t part_ = VL;         \
            (void)part_;                     \
            __VA_ARGS__                      \
        }                                    \
        if (at_ < (n)) {                     \
            enum { whole_ = 0 };             \
            const size_t part_ = (n)-at_;    \
            __VA_ARGS__                      \
        }                                    \
    } while (0)
#define L(p)            (whole_ ? hd_load((p) + at_) : hd_load_part((p) + at_, part_, 0))
#define L_FILL(p, fill) (whole_ ? hd_load((p) + at_) : hd_load_part((p) + at_, part_, fill))
#define S(p, v)         (whole_ ? hd_store((p) + at_, v) : hd_store_part((p) + at_, v, part_))

#endif
