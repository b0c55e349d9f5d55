/* Random numbers. Easy to get wrong here: statistics with too narrow bounds; seeds are fixed, so a test
 * passes always or never. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"

static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const struct { /* kat_vectors of Random123 */
        uint64_t key;
        uint32_t counter[4], answer[4];
    } known[] = {
        {0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < 3; i++) {
        hd_rng4 r = hd_rng_philox(known[i].key, known[i].counter);
        assert_memory_equal(r.v, known[i].answer, sizeof r.v);
    }
}

static void draw_n_is_word_n_of_the_stream(void **state)
{
    (void)state;
    const uint64_t seed = 0x123456789abcdef0, stream = 0xfedcba9876543210;
    hd_rng r = hd_rng_make(seed, stream);
    for (uint32_t n = 0; n < 100; n++) {
        const uint32_t counter[4] = {n / 4, 0, (uint32_t)stream, (uint32_t)(stream >> 32)};
        assert_int_equal(hd_rng_u32(&r), hd_rng_philox(seed, counter).v[n % 4]);
    }
    r.next = (uint64_t)1 << 36;
    const uint32_t far[4] = {0, 4, (uint32_t)stream, (uint32_t)(stream >> 32)};
    assert_int_equal(hd_rng_u32(&r), hd_rng_philox(seed, far).v[0]);
}

static void a_copy_continues_at_the_same_place(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(1, 2);
    for (int skip = 0; skip < 9; skip++) {
        hd_rng a = r, b = r;
        for (int i = 0; i < 20; i++) assert_int_equal(hd_rng_u32(&a), hd_rng_u32(&b));
        hd_rng_u32(&r);
    }
}

static void seeds_and_streams_differ(void **state)
{
    (void)state;
    hd_rng a = hd_rng_make(1, 1), b = hd_rng_make(1, 2), c = hd_rng_make(2, 1),
           d = hd_rng_make(1, (uint64_t)1 << 32 | 1);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t x = hd_rng_u32(&a);
        same += (x == hd_rng_u32(&b)) + (x == hd_rng_u32(&c)) + (x == hd_rng_u32(&d));
    }
    assert_int_equal(same, 0);
}

static void below_is_in_range_and_even(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(7, 0);
    for (int i = 0; i < 100; i++) assert_int_equal(hd_rng_below(&r, 1), 0);
    int count[7] = {0};
    for (int i = 0; i < 70000; i++) count[hd_rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(count[i], 10000 - 500, 10000 + 500); /* 5 deviations of 93 */
}

/* With n = 3*2^30 a plain product gives every third result twice as often as the others. */
static void below_rejects_what_would_be_biased(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(8, 0);
    const uint32_t n = 3u << 30;
    int count[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint32_t x = hd_rng_below(&r, n);
        assert_true(x < n);
        count[x % 3]++;
    }
    for (int i = 0; i < 3; i++) assert_in_range(count[i], 10000 - 450, 10000 + 450);
    for (int i = 0; i < 100; i++) assert_true(hd_rng_below(&r, UINT32_MAX) < UINT32_MAX);
}

static void unit_is_below_one_and_even(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(9, 0);
    double sum = 0, square = 0;
    const int n = 100000;
    for (int i = 0; i < n; i++) {
        double x = hd_rng_unit(&r);
        assert_true(x >= 0 && x < 1);
        sum += x;
        square += x * x;
    }
    assert_true(fabs(sum / n - 0.5) < 5 * sqrt(1.0 / 12 / n));
    assert_true(fabs(square / n - 1.0 / 3) < 5 * sqrt(4.0 / 45 / n));
    assert_int_equal(r.next, 2 * n);
}

static void normal_has_the_moments_and_tails_of_a_normal(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(10, 0);
    const int n = 200000;
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    int beyond2 = 0;
    for (int i = 0; i < n; i++) {
        double x = hd_rng_normal(&r);
        assert_true(isfinite(x));
        m1 += x;
        m2 += x * x;
        m3 += x * x * x;
        m4 += x * x * x * x;
        beyond2 += fabs(x) > 2;
    }
    assert_true(fabs(m1 / n) < 5 * sqrt(1.0 / n));
    assert_true(fabs(m2 / n - 1) < 5 * sqrt(2.0 / n));
    assert_true(fabs(m3 / n) < 5 * sqrt(15.0 / n));
    assert_true(fabs(m4 / n - 3) < 5 * sqrt(96.0 / n));
    assert_in_range(beyond2, 9100 - 480, 9100 + 480); /* 4.55 % */
    assert_int_equal(r.next, 2 * n);                  /* two draws a call */
}

static void mixed_halves_keep_the_wanted_share(void **state)
{
    (void)state;
    int below[2] = {0}, both = 0, n = 0;
    for (uint32_t row = 0; row < 500; row++) {
        uint64_t key = hd_rng_row_key(42, 3, 1, 0, row);
        for (uint32_t pair = 0; pair < 256; pair++, n++) {
            uint32_t x = hd_rng_mix(key, pair);
            int low = (x & 0xffff) < 6554, high = x >> 16 < 6554; /* a tenth */
            below[0] += low;
            below[1] += high;
            both += low && high;
        }
    }
    for (int i = 0; i < 2; i++) assert_true(abs(below[i] - n / 10) < 5 * sqrt(n * 0.09));
    assert_true(abs(both - n / 100) < 5 * sqrt(n * 0.0099));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(draw_n_is_word_n_of_the_stream),
        cmocka_unit_test(a_copy_continues_at_the_same_place),
        cmocka_unit_test(seeds_and_streams_differ),
        cmocka_unit_test(below_is_in_range_and_even),
        cmocka_unit_test(below_rejects_what_would_be_biased),
        cmocka_unit_test(unit_is_below_one_and_even),
        cmocka_unit_test(normal_has_the_moments_and_tails_of_a_normal),
        cmocka_unit_test(mixed_halves_keep_the_wanted_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
