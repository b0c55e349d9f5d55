/* Rounding to bf16 by chance: up as often as a number is near the upper neighbor, so that small changes are
   not lost but add up on average. The draw is a function of the place and the count of updates: any number of
   threads, and a run that is resumed, draw the same. Included by host and device code. */
#ifndef HD_BACKEND_ROUNDING_H
#define HD_BACKEND_ROUNDING_H

#include <stdint.h>

#ifdef __CUDACC__
#define HD_ROUNDING __host__ __device__ static inline
#else
#define HD_ROUNDING static inline
#endif

HD_ROUNDING uint32_t hd_rounding_draw(uint64_t place, uint32_t updates)
{
    uint64_t x = place * 0x9e3779b97f4a7c15u + updates * 0xd1342543de82ef95u;
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

/* bits: of a float. What is not finite stays so. */
HD_ROUNDING uint16_t hd_rounding_bf16(uint32_t bits, uint32_t draw)
{
    return (uint16_t)(((bits & 0x7f800000u) == 0x7f800000u ? bits : bits + (draw >> 16)) >> 16);
}

#endif
