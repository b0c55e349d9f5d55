/* Exercises: what they ask has the answer they give, and sets of them share nothing. */
#include "check.h"
#include "data/exercise/exercise.h"

enum { PLAIN = 5, DRAWS = 200 };

/* What the words of the source must be answered with, by hand. */
static int answer(int32_t *to, hd_exercise_kind kind, const char *const *word, int count)
{
    int n = 0, depth = 0;
    char open[HD_EXERCISE_LONGEST];
    long a = 0, b = 0, place = 1;
    switch (kind) {
    case HD_EXERCISE_copy:
        for (int i = 0; i < count; i++) to[n++] = word[i][0];
        break;
    case HD_EXERCISE_reverse:
        for (int i = count; i-- > 0;) to[n++] = word[i][0];
        break;
    case HD_EXERCISE_expand:
        for (int i = 0; i < count; i += 2)
            for (int k = 0; k < word[i + 1][0] - '0'; k++) to[n++] = word[i][0];
        break;
    case HD_EXERCISE_gap:
        assert_string_equal(word[count - 1], "?");
        to[n++] = word[0][0];
        break;
    case HD_EXERCISE_sums:
        for (int i = 0; i < count / 2; i++, place *= 10)
            a += place * (word[i][0] - '0'), b += place * (word[count / 2 + 1 + i][0] - '0');
        assert_string_equal(word[count / 2], "+");
        for (int i = 0; i < count / 2 || a + b >= place; i++) {
            long power = 1;
            for (int k = 0; k < i; k++) power *= 10;
            if (i >= count / 2 && a + b < power) break;
            to[n++] = '0' + (int32_t)((a + b) / power % 10);
        }
        break;
    case HD_EXERCISE_brackets:
        for (int i = 0; i < count; i++) {
            const char *at = strchr("([{", word[i][0]);
            if (at)
                open[depth++] = ")]}"[at - "([{"];
            else
                assert_int_equal(open[--depth], word[i][0]);
        }
        while (depth) to[n++] = open[--depth];
        break;
    default:
        if (word[0][0] == 'f') to[n++] = word[1][0];
        if (word[0][0] == 's') to[n++] = count > 2 && word[1][0] == word[2][0] ? 'y' : 'n';
        for (int i = count; word[0][0] == 'b' && i-- > 1;) to[n++] = word[i][0];
    }
    return n;
}

static void answers_are_right(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(1, 0);
    for (int kind = 0; kind < HD_EXERCISES; kind++)
        for (int draw = 0; draw < DRAWS; draw++) {
            hd_exercise x;
            const char *word[HD_EXERCISE_SOURCE] = {NULL};
            int32_t right[HD_EXERCISE_TARGET];
            int32_t length = 1 + draw % 9;
            hd_exercise_draw(&x, (hd_exercise_kind)kind, PLAIN, length, &rng);
            assert_in_range(x.sources, length, 2 * length + 1);
            for (int i = 0; i < x.sources; i++) {
                assert_in_range(x.source[i], 0, hd_exercise_vocabulary((hd_exercise_kind)kind, PLAIN) - 1);
                word[i] = hd_exercise_word((hd_exercise_kind)kind, x.source[i]);
            }
            assert_int_equal(x.targets, answer(right, (hd_exercise_kind)kind, word, x.sources));
            for (int i = 0; i < x.targets; i++)
                assert_int_equal(hd_exercise_word((hd_exercise_kind)kind, x.target[i])[0], right[i]);
        }
}

/* The longest of each kind keeps within its room; the sanitizers watch. */
static void the_longest_fit(void **state)
{
    (void)state;
    hd_rng rng = hd_rng_make(2, 0);
    for (int kind = 0; kind < HD_EXERCISES; kind++)
        for (int draw = 0; draw < 20; draw++) {
            hd_exercise x;
            hd_exercise_draw(&x, (hd_exercise_kind)kind, HD_EXERCISE_WORDS, HD_EXERCISE_LONGEST, &rng);
            assert_in_range(x.sources, 1, HD_EXERCISE_SOURCE);
            assert_in_range(x.targets, 1, HD_EXERCISE_TARGET);
        }
}

static void sets_share_nothing(void **state)
{
    (void)state;
    size_t count[HD_EXERCISE_SPLITS] = {0};
    hd_rng rng = hd_rng_make(3, 0);
    hd_text source = {0}, target = {0};
    hd_err err = {0};
    for (int i = 0; i < 3000; i++) {
        hd_exercise x;
        hd_exercise_draw(&x, HD_EXERCISE_copy, PLAIN, 6, &rng);
        count[hd_exercise_split_of(&x)]++;
    }
    assert_in_range(count[HD_EXERCISE_SPLIT_train], 2250, 2550); /* 2,400 and ten deviations either way */
    assert_in_range(count[HD_EXERCISE_SPLIT_valid], 200, 400);
    const hd_exercise_opt o = {HD_EXERCISE_reverse, PLAIN, 2, 4};
    for (int i = 0; i < 100; i++) {
        assert_int_equal(hd_exercise_next(&source, &target, &o, HD_EXERCISE_SPLIT_test, &rng, &err), HD_OK);
        assert_int_equal(source.size, target.size);
        for (size_t k = 0; k < source.size; k++)
            assert_int_equal(source.data[k], target.data[target.size - 1 - k]);
        assert_in_range(source.size, 3, 7);
    }
    /* of one word there is one exercise of that length, and it is in one set */
    const hd_exercise_opt one = {HD_EXERCISE_copy, 1, 3, 3};
    int found = 0;
    for (int split = 0; split < HD_EXERCISE_SPLITS; split++) {
        hd_status s = hd_exercise_next(&source, &target, &one, (hd_exercise_split)split, &rng, &err);
        assert_true(s == HD_OK || s == HD_ELIMIT);
        found += !s;
    }
    assert_int_equal(found, 1);
    hd_text_release(&source);
    hd_text_release(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_right),
        cmocka_unit_test(the_longest_fit),
        cmocka_unit_test(sets_share_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
