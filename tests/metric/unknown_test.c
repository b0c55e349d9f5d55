/* A word that a system does not know costs it BLEU, more with each: every n-gram over the place is lost. */
#include "metric/corpus.h"

static void unknown_words_cost_bleu(void **state)
{
    (void)state;
    static const char ref[] = "the old man rides a red bicycle down the street";
    static const char *const hyps[] = {"the old man rides a red bicycle down the street",
                                       "the old man rides a red <unk> down the street",
                                       "the old man rides a <unk> <unk> down the street"};
    double last = 101;
    for (size_t i = 0; i < COUNT_OF(hyps); i++) {
        double bleu = score_pair(
            HD_METRIC_bleu, (hd_metric_opt){.refs = 1, .tokenizer = HD_BLEU_TOKENIZER_none}, hyps[i], ref);
        print_message("%zu unknown: %.2f\n", i, bleu);
        assert_true(bleu < last);
        last = bleu;
    }
    /* by hand: 8 of 10 words, 6 of 9 pairs, 4 of 8 triples, 2 of 7 of four */
    assert_same(last, 100 * pow(8.0 / 10 * 6 / 9 * 4 / 8 * 2 / 7, 0.25), "two unknown words");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_words_cost_bleu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
