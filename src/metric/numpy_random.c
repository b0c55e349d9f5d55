/* NumPy's default generator, as far as resampling needs it. The constants and the order of steps are NumPy's
   (numpy/random/bit_generator.pyx, src/pcg64, src/distributions); a test compares with numbers it drew. */
#include "metric/numpy_random.h"

enum { POOL = 4, WORDS = 8 };

/* The hash of SeedSequence: each value is mixed with a constant that changes from one to the next. */
static uint32_t mix_in(uint32_t value, uint32_t *constant, uint32_t factor)
{
    value ^= *constant;
    *constant *= factor;
    value *= *constant;
    return value ^ value >> 16;
}

static void spread_seed(uint32_t seed, uint64_t out[WORDS / 2])
{
    uint32_t pool[POOL], constant = 0x43b0d7e5u;
    for (int i = 0; i < POOL; i++) pool[i] = mix_in(i ? 0 : seed, &constant, 0x931e8875u);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++) {
            if (from == to) continue;
            uint32_t mixed =
                0xca01f9ddu * pool[to] - 0x4973f715u * mix_in(pool[from], &constant, 0x931e8875u);
            pool[to] = mixed ^ mixed >> 16;
        }
    uint32_t word[WORDS];
    constant = 0x8b51f9ddu;
    for (int i = 0; i < WORDS; i++) word[i] = mix_in(pool[i % POOL], &constant, 0x58f38dedu);
    for (int i = 0; i < WORDS / 2; i++) out[i] = (uint64_t)word[2 * i + 1] << 32 | word[2 * i];
}

static void advance(hd_numpy_random *d)
{
    const hd_u128 factor = (hd_u128)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u;
    d->state = d->state * factor + d->step;
}

hd_numpy_random hd_numpy_random_make(uint32_t seed)
{
    uint64_t word[WORDS / 2];
    spread_seed(seed, word);
    hd_numpy_random d = {.step = ((hd_u128)word[2] << 64 | word[3]) << 1 | 1};
    advance(&d);
    d.state += (hd_u128)word[0] << 64 | word[1];
    advance(&d);
    return d;
}

static uint32_t draw_word(hd_numpy_random *d)
{
    d->has_half = !d->has_half;
    if (!d->has_half) return d->half;
    advance(d);
    uint64_t x = (uint64_t)(d->state >> 64) ^ (uint64_t)d->state;
    unsigned turn = (unsigned)(d->state >> 122);
    x = x >> turn | x << (-turn & 63);
    d->half = (uint32_t)(x >> 32);
    return (uint32_t)x;
}

uint32_t hd_numpy_random_below(hd_numpy_random *d, uint32_t end)
{
    if (end == 1) return 0; /* without a draw, as NumPy does */
    uint64_t m = (uint64_t)draw_word(d) * end;
    if ((uint32_t)m < end) {
        uint32_t least = -end % end;
        while ((uint32_t)m < least) m = (uint64_t)draw_word(d) * end;
    }
    return (uint32_t)(m >> 32);
}
