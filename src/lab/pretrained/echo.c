/* How an echo is drawn, and what is left to guess in it. */
#include "lab/pretrained/echo.h"

#include <math.h>

#include "base/rng.h"

#define KEPT 0.8 /* share of words that are those a period before */

void hd_echo_draw(int32_t *ids, size_t count, uint64_t seed)
{
    hd_rng rng = hd_rng_make(seed, 3);
    for (size_t i = 0; i < count; i++)
        ids[i] = i >= HD_ECHO_PERIOD && hd_rng_unit(&rng) < KEPT
                     ? ids[i - HD_ECHO_PERIOD]
                     : HD_PUPIL_FIRST + (int32_t)hd_rng_below(&rng, HD_ECHO_WORDS);
}

/* The first words of a window can only be guessed. */
double hd_echo_floor(void)
{
    const double other = (1 - KEPT) / HD_ECHO_WORDS, same = KEPT + other;
    const double later = -same * log(same) - (HD_ECHO_WORDS - 1) * other * log(other);
    return (HD_ECHO_PERIOD * log(HD_ECHO_WORDS) + (HD_PUPIL_WINDOW - HD_ECHO_PERIOD) * later) /
           HD_PUPIL_WINDOW;
}
