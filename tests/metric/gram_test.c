/* Shared n-grams and the banded edit distance, against the plainest code that could compute them. */
#include "metric/corpus.h"

#include "base/rng.h"
#include "metric/corpus/edit_distance.h"
#include "metric/corpus/gram.h"

enum { LONGEST = 40, REFS = 3 };

static size_t draw(hd_rng *r, uint32_t *symbol, uint32_t kinds, bool missing)
{
    size_t count = hd_rng_below(r, LONGEST + 1);
    for (size_t i = 0; i < count; i++) {
        symbol[i] = hd_rng_below(r, kinds);
        if (missing && !hd_rng_below(r, 8)) symbol[i] = HD_NO_SYMBOL;
    }
    return count;
}

/* How often the n-gram at `gram` is in a text. */
static size_t occurrences(const uint32_t *gram, size_t n, hd_gram_text in)
{
    size_t count = 0;
    for (size_t i = 0; i + n <= in.count; i++) count += !memcmp(in.symbol + i, gram, n * sizeof *gram);
    return count;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Matches with references first..last-1, the largest count of them taken. */
static size_t matches(size_t n, hd_gram_text hyp, const hd_gram_text *ref, int first, int last)
{
    size_t sum = 0;
    for (size_t i = 0; i + n <= hyp.count; i++) {
        size_t before = occurrences(hyp.symbol + i, n, (hd_gram_text){hyp.symbol, i + n - 1}), most = 0;
        if (before) continue; /* counted at its first place */
        for (int r = first; r < last; r++) {
            size_t now = occurrences(hyp.symbol + i, n, ref[r]);
            if (now > most) most = now;
        }
        sum += least(occurrences(hyp.symbol + i, n, hyp), most);
    }
    return sum;
}

static void shared_grams_are_counted(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(1, 1);
    hd_gram g = {0};
    size_t found = 0;
    for (int round = 0; round < 500; round++) {
        uint32_t symbol[1 + REFS][LONGEST], kinds = 1 + hd_rng_below(&r, 6);
        hd_gram_text hyp = {symbol[0], draw(&r, symbol[0], kinds, false)}, ref[REFS];
        for (int i = 0; i < REFS; i++)
            ref[i] = (hd_gram_text){symbol[1 + i], draw(&r, symbol[1 + i], kinds, true)};
        int refs = 1 + round % REFS;
        hd_err err = {0};
        assert_int_equal(hd_gram_begin(&g, hyp, ref, refs, &err), HD_OK);
        for (size_t n = 1; n <= 6; n++) {
            size_t match[REFS];
            assert_int_equal(hd_gram_next(&g, match), matches(n, hyp, ref, 0, refs));
            for (int i = 0; i < refs; i++) {
                assert_int_equal(match[i], matches(n, hyp, ref, i, i + 1));
                found += match[i];
            }
        }
    }
    assert_true(found > 10000);
    hd_gram_release(&g);
}

static size_t plain_distance(const uint32_t *hyp, size_t hyps, const uint32_t *ref, size_t refs)
{
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= refs; j++) row[j] = j;
    for (size_t i = 1; i <= hyps; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= refs; j++) {
            size_t best = least(corner + (hyp[i - 1] != ref[j - 1]), least(row[j], row[j - 1]) + 1);
            corner = row[j];
            row[j] = best;
        }
    }
    return row[refs];
}

/* Up to 25 words the band is the whole matrix. */
static void distance_is_the_plain_one_inside_the_band(void **state)
{
    (void)state;
    hd_rng r = hd_rng_make(2, 1);
    hd_edit_distance e = {0};
    for (int round = 0; round < 2000; round++) {
        uint32_t hyp[LONGEST], ref[LONGEST], kinds = 1 + hd_rng_below(&r, 8);
        size_t hyps = least(draw(&r, hyp, kinds, false), 24), refs = least(draw(&r, ref, kinds, true), 24);
        hd_err err = {0};
        assert_int_equal(hd_edit_distance_begin(&e, hyps, ref, refs, &err), HD_OK);
        size_t distance = hd_edit_distance_align(&e, hyp);
        assert_int_equal(distance, plain_distance(hyp, hyps, ref, refs));
        /* what is right on one side is right on the other, and the rest explains the distance */
        size_t right = hyps - e.hyp_errs[hyps];
        assert_int_equal(right, refs - e.ref_errs[refs]);
        for (size_t j = 0; j < refs; j++)
            if (e.ref_errs[j + 1] == e.ref_errs[j]) assert_int_equal(hyp[e.align[j]], ref[j]);
        /* another end, the same beginning */
        size_t kept = hyps ? hd_rng_below(&r, (uint32_t)hyps + 1) : 0;
        for (size_t i = kept; i < hyps; i++) hyp[i] = hd_rng_below(&r, kinds);
        assert_int_equal(hd_edit_distance_after(&e, hyp, kept), plain_distance(hyp, hyps, ref, refs));
    }
    hd_edit_distance_release(&e);
}

/* A hypothesis of one word against 300: the band is widened so that rows meet. */
static void very_unlike_lengths_have_a_distance(void **state)
{
    (void)state;
    static const size_t lengths[][2] = {{1, 300},   {300, 1}, {2, 300}, {300, 2},
                                        {100, 300}, {60, 60}, {7, 1000}};
    uint32_t hyp[1000], ref[1000];
    for (uint32_t i = 0; i < 1000; i++) hyp[i] = i, ref[i] = i + 1000;
    hd_edit_distance e = {0};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        size_t hyps = lengths[i][0], refs = lengths[i][1];
        hd_err err = {0};
        assert_int_equal(hd_edit_distance_begin(&e, hyps, ref, refs, &err), HD_OK);
        assert_int_equal(hd_edit_distance_align(&e, hyp), hyps > refs ? hyps : refs);
        assert_int_equal(hd_edit_distance_after(&e, hyp, hyps / 2), hyps > refs ? hyps : refs);
    }
    hd_edit_distance_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_grams_are_counted),
        cmocka_unit_test(distance_is_the_plain_one_inside_the_band),
        cmocka_unit_test(very_unlike_lengths_have_a_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
