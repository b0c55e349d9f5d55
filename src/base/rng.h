/* Counter-based random numbers: a value depends on its key and counter alone, never on how many were drawn
   before. Philox 4x32-10 for keys and streams; a cheap two-multiply mix spreads a row key over columns
   (dropout). */
#ifndef HD_BASE_RNG_H
#define HD_BASE_RNG_H

#include <stdint.h>

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

typedef struct hd_rng4 {
    uint32_t v[4];
} hd_rng4;

HD_BOTH static inline hd_rng4 hd_rng_philox(uint64_t key, const uint32_t counter[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    hd_rng4 r = {{c0, c1, c2, c3}};
    return r;
}

/* A stream: the n-th draw is philox(seed, {n, stream}). Copying the struct copies the position. */
typedef struct hd_rng {
    uint64_t seed, stream, next;
    hd_rng4 block; /* the four words of block next/4, once drawn */
} hd_rng;

hd_rng hd_rng_make(uint64_t seed, uint64_t stream);
uint32_t hd_rng_u32(hd_rng *r);
uint32_t hd_rng_below(hd_rng *r, uint32_t n); /* uniform in [0, n), n > 0, without bias */
double hd_rng_unit(hd_rng *r);                /* uniform in [0, 1), 53 bits */
double hd_rng_normal(hd_rng *r);              /* standard normal (Box-Muller, two draws a call) */

/* The row of a draw that is one for all rows of an item: no item has so many. */
#define HD_RNG_WHOLE 0xFFFFFFFFu

/* Row key for per-element decisions (dropout); see hd_rng_mix. */
HD_BOTH static inline uint64_t hd_rng_row_key(uint64_t seed, uint32_t step, uint32_t op, uint32_t item,
                                              uint32_t row)
{
    const uint32_t counter[4] = {step, op, item, row};
    hd_rng4 r = hd_rng_philox(seed, counter);
    return (uint64_t)r.v[1] << 32 | r.v[0];
}

/* 32 bits for column pair `pair` of the row: low half decides column 2*pair, high half column 2*pair+1. */
HD_BOTH static inline uint32_t hd_rng_mix(uint64_t key, uint32_t pair)
{
    uint32_t x = pair * 0x9E3779B9u + (uint32_t)key;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x ^ (uint32_t)(key >> 32);
}

/* Uniform in (0, 1) for a column of the row, 24 bits: neither end, and exact as a float. */
HD_BOTH static inline float hd_rng_between(uint64_t key, uint32_t column)
{
    return ((float)(hd_rng_mix(key, column) >> 9) + 0.5f) * 0x1p-23f;
}

#endif
