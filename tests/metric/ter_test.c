/* The limits of TER's search: each case is one that comes out otherwise when a limit is one more or one less.
   The edits were counted by sacreBLEU 2.6.0. */
#include "metric/corpus.h"

enum { LONGEST = 300, ROOM = 8 * LONGEST };

/* Word number i of a text is seeded, and drawn from `kinds` words. */
static void make_words(int word[LONGEST], uint32_t seed, int count, int kinds)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        word[i] = (int)(seed >> 16) % kinds;
    }
}

/* `count` words from `begin` on, and round again from the first of `all`. */
static void join(char text[ROOM], const int word[LONGEST], int begin, int count, int all)
{
    int used = 0;
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, (size_t)(ROOM - used), "%s%d", i ? " " : "", word[(begin + i) % all]);
}

static void limits_are_those_of_sacrebleu(void **state)
{
    (void)state;
    static const struct {
        uint32_t seed;
        int hyps, refs, kinds, edits;
    } cases[] = {
        {1, 200, 120, 400, 141}, /* the band: 25 words to each side */
        {1, 60, 200, 20, 154},   /* longest block: 10 words */
        {21, 90, 90, 30, 42},    /* farthest shift: not 51 words, */
        {22, 90, 90, 30, 42},    /* but 50 */
        {185, 60, 200, 20, 157}, /* shifts tried: 1000, not 999, */
        {186, 60, 200, 20, 171}, /* nor 1001 */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int word[LONGEST], all = cases[i].hyps > cases[i].refs ? cases[i].hyps : cases[i].refs;
        char hyp[ROOM], ref[ROOM];
        make_words(word, cases[i].seed, all, cases[i].kinds);
        join(hyp, word, (int)cases[i].seed % all, cases[i].hyps, all);
        join(ref, word, 0, cases[i].refs, all);
        assert_same(score_pair(HD_METRIC_ter, (hd_metric_opt){0}, hyp, ref),
                    100 * ((double)cases[i].edits / cases[i].refs), "edits");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_are_those_of_sacrebleu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
