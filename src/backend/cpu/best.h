/* Finding the largest numbers of a long row: a number that some of them reach, and from column to column of
   those that reach a number. */
#ifndef HD_BACKEND_CPU_BEST_H
#define HD_BACKEND_CPU_BEST_H

#include "backend/cpu/vector.h"

enum { BEST_VECTORS = 8, BEST_LANES = BEST_VECTORS * VL };

INLINE bool hd_any(ivec mask)
{
#if HD_VECTOR_BYTES == 64
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif HD_VECTOR_BYTES == 32
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    uint64_t word[sizeof mask / sizeof(uint64_t)], all = 0;
    memcpy(word, &mask, sizeof mask);
    for (size_t i = 0; i < sizeof mask / sizeof *word; i++) all |= word[i];
    return all != 0;
#endif
}

/* best[k], in order, with one number more. */
INLINE void hd_best_add(hd_real *best, size_t k, hd_real x)
{
    if (!(x > best[k - 1])) return;
    size_t at = k - 1;
    for (; at && x > best[at - 1]; at--) best[at] = best[at - 1];
    best[at] = x;
}

/* A number that at least k columns reach, and few more than that: the k-th largest of maxima of columns that
   lie BEST_LANES, or a part of it, apart. NaN reaches nothing. -INFINITY where k is too large. */
INLINE hd_real hd_row_reached(const hd_real *x, size_t n, size_t k)
{
    if (!k || k > BEST_LANES) return -INFINITY;
    vec most[BEST_VECTORS];
    hd_real of[BEST_LANES], best[BEST_LANES];
    size_t c = 0, lanes = BEST_LANES;
    UNROLL
    for (int j = 0; j < BEST_VECTORS; j++) most[j] = hd_set(-INFINITY);
    for (; c + BEST_LANES <= n; c += BEST_LANES) UNROLL
    for (int j = 0; j < BEST_VECTORS; j++) most[j] = hd_larger(hd_load(x + c + (size_t)j * VL), most[j]);
    UNROLL
    for (int j = 0; j < BEST_VECTORS; j++) hd_store(of + j * VL, most[j]);
    for (size_t i = 0; c < n; c++, i++) of[i] = x[c] > of[i] ? x[c] : of[i];
    for (; lanes >= 8 * k; lanes /= 2)
        for (size_t i = 0; i < lanes / 2; i++) of[i] = of[i + lanes / 2] > of[i] ? of[i + lanes / 2] : of[i];
    for (size_t i = 0; i < k; i++) best[i] = -INFINITY;
    for (size_t i = 0; i < lanes; i++) hd_best_add(best, k, of[i]);
    return best[k - 1];
}

/* The first column from c on that is NaN or not less than `least`, or n; `above`: not at most that. */
INLINE size_t hd_row_next(const hd_real *x, size_t c, size_t n, hd_real least, bool above)
{
    const vec bound = hd_spread(least);
    for (; c + BEST_LANES <= n; c += BEST_LANES) {
        ivec less = above ? hd_load(x + c) <= bound : hd_load(x + c) < bound;
        UNROLL
        for (size_t j = 1; j < BEST_VECTORS; j++)
            less &= above ? hd_load(x + c + j * VL) <= bound : hd_load(x + c + j * VL) < bound;
        if (hd_any(~less)) break;
    }
    for (; c + VL <= n; c += VL)
        if (hd_any(above ? ~(hd_load(x + c) <= bound) : ~(hd_load(x + c) < bound))) break;
    while (c < n && (above ? x[c] <= least : x[c] < least)) c++;
    return c;
}

#endif
