/* Random numbers as NumPy draws them (SeedSequence, PCG64, Lemire's bounded integers): with them a resampling
   has the samples sacreBLEU has for the same seed, and its p-values can be compared. For anything else:
   base/rng.h. */
#ifndef HD_METRIC_NUMPY_RANDOM_H
#define HD_METRIC_NUMPY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 hd_u128;

typedef struct hd_numpy_random {
    hd_u128 state, step;
    uint32_t half; /* the upper half of the last 64 bits */
    bool has_half;
} hd_numpy_random;

hd_numpy_random hd_numpy_random_make(uint32_t seed);              /* numpy.random.default_rng(seed) */
uint32_t hd_numpy_random_below(hd_numpy_random *d, uint32_t end); /* .integers(0, end), end > 0 */

#endif
