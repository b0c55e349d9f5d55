/* Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and its
   distributions. Easy to get wrong: the order of the four output words and of the key's halves; the known
   answers in the test pin both. */
#include "base/rng.h"

#include <math.h>

hd_rng hd_rng_make(uint64_t seed, uint64_t stream)
{
    return (hd_rng){.seed = seed, .stream = stream};
}

uint32_t hd_rng_u32(hd_rng *r)
{
    uint64_t n = r->next++;
    if (n % 4 == 0) {
        const uint64_t block = n / 4;
        const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)r->stream,
                                     (uint32_t)(r->stream >> 32)};
        r->block = hd_rng_philox(r->seed, counter);
    }
    return r->block.v[n % 4];
}

/* Lemire's multiply-and-reject: the 2^32 mod n lowest products would make some results likelier. */
uint32_t hd_rng_below(hd_rng *r, uint32_t n)
{
    uint64_t m = (uint64_t)hd_rng_u32(r) * n;
    if ((uint32_t)m < n) {
        uint32_t surplus = -n % n;
        while ((uint32_t)m < surplus) m = (uint64_t)hd_rng_u32(r) * n;
    }
    return (uint32_t)(m >> 32);
}

double hd_rng_unit(hd_rng *r)
{
    uint32_t high = hd_rng_u32(r) >> 5, low = hd_rng_u32(r) >> 6;
    return (high * 67108864.0 + low) * 0x1p-53;
}

double hd_rng_normal(hd_rng *r)
{
    double u = (hd_rng_u32(r) + 0.5) * 0x1p-32; /* never 0, for the logarithm */
    double angle = hd_rng_u32(r) * (0x1p-31 * 3.14159265358979323846);
    return sqrt(-2 * log(u)) * cos(angle);
}
