/* Sums. The order is a permutation of all pairs (a, b): a Feistel network that adds modulo the number of
   operands, so that nothing has to be remembered to draw none twice. */
#include "data/sums/sums.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/rng.h"

enum { ROUNDS = 8, ORDER = 0x73756d6f, SPLIT = 0x73756d73, NOISE = 0x73756d6e };

static uint64_t operands(const hd_sums *s)
{
    uint64_t n = 1;
    for (int i = 0; i < s->digits; i++) n *= 10;
    return n;
}

uint64_t hd_sums_count(const hd_sums *s)
{
    return operands(s) * operands(s);
}

/* 64 bits that follow from the seed and three numbers. */
static uint64_t mixed(const hd_sums *s, uint32_t use, uint64_t x, uint64_t y)
{
    const uint32_t a[4] = {use, (uint32_t)x, (uint32_t)y, (uint32_t)(x >> 32 ^ y >> 16)};
    hd_rng4 r = hd_rng_philox(s->seed, a);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

hd_sum hd_sum_at(const hd_sums *s, uint64_t i)
{
    uint64_t n = operands(s);
    hd_sum x = {i / n, i % n};
    for (uint32_t round = 0; round < ROUNDS; round++)
        x = (hd_sum){x.b, (x.a + mixed(s, ORDER + (round << 8), x.b, round) % n) % n};
    return x;
}

hd_sum_split hd_sum_split_of(const hd_sums *s, hd_sum x)
{
    uint64_t least = x.a < x.b ? x.a : x.b, most = x.a < x.b ? x.b : x.a;
    double unit = (double)(mixed(s, SPLIT, least, most) >> 11) * 0x1p-53;
    return unit < s->test ? HD_SUM_TEST : unit < s->test + s->valid ? HD_SUM_VALID : HD_SUM_TRAIN;
}

void hd_sum_put_prompt(hd_text *to, const hd_sums *s, hd_sum x)
{
    hd_text_print(to, "%0*" PRIu64 "+%0*" PRIu64 "=", s->digits, x.a, s->digits, x.b);
}

void hd_sum_put_answer(hd_text *to, const hd_sums *s, hd_sum x, double noise, uint32_t draw)
{
    char digits[HD_SUM_DIGITS + 2];
    hd_rng rng = hd_rng_make(mixed(s, NOISE, x.a, x.b), draw);
    int length = snprintf(digits, sizeof digits, "%0*" PRIu64, s->digits + 1, x.a + x.b);
    if (hd_rng_unit(&rng) < noise) {
        uint32_t at = hd_rng_below(&rng, (uint32_t)length), shift = 1 + hd_rng_below(&rng, 9);
        digits[at] = (char)('0' + ((uint32_t)(digits[at] - '0') + shift) % 10);
    }
    hd_text_put(to, digits);
}
