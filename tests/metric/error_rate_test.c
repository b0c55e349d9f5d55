/* Word and character error rate against numbers that were counted by other means: error_rate_check.py. */
#include "metric/corpus.h"

static void one_segment(void **state)
{
    (void)state;
    static const struct {
        const char *hyp, *ref;
        double wer, cer;
    } cases[] = {
        {"the cat sat", "the cat sat", 0, 0},
        {"The  cat, sat!", " the cat sat", 0, 0}, /* the one normalization */
        {"don't", "Dont", 0, 0},
        {"a - b", "a b", 0, 0},
        {"the bat sat on", "the cat sat", 100 * 2 / 3.0, 100 * 4 / 11.0},
        {"", "one two", 100, 100},
        {"one two three four", "one", 300, 100 * 15 / 3.0}, /* above 100 % */
        {"", "", 0, 0},
        {"word", "...", 100, 100}, /* by definition: nothing to be right */
        {"sat cat the", "the cat sat", 100 * 2 / 3.0, 100 * 6 / 11.0},
        {"\xc3\x89T\xc3\x89", "\xc3\xa9t\xc3\xa9", 0, 0},
        {"seven three", "seventhree", 200, 100 * 1 / 10.0},
        {"\xe2\x80\x9cyes\xe2\x80\x9d", "yes", 0, 0},
        {"kitten", "sitting", 100, 100 * 3 / 7.0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_same(score_pair(HD_METRIC_wer, (hd_metric_opt){0}, cases[i].hyp, cases[i].ref), cases[i].wer,
                    cases[i].hyp);
        assert_same(score_pair(HD_METRIC_cer, (hd_metric_opt){0}, cases[i].hyp, cases[i].ref), cases[i].cer,
                    cases[i].hyp);
    }
}

/* Words of few kinds, so that there is much to align. */
static void make_text(char *text, size_t room, uint32_t *seed, int words, int kinds)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < words; i++) {
        *seed = *seed * 1103515245u + 12345u;
        used += (size_t)snprintf(text + used, room - used, "%s%c%d", i ? " " : "",
                                 'a' + (int)(*seed >> 20) % kinds, (int)(*seed >> 16) % 3);
    }
}

static void a_corpus_sums_its_segments(void **state)
{
    (void)state;
    uint32_t seed = 7;
    hd_metric *wer = NULL, *cer = NULL;
    hd_err err = {0};
    hd_metric_opt opt = {.refs = 1};
    assert_int_equal(hd_metric_new(&wer, HD_METRIC_wer, &opt, &err), HD_OK);
    assert_int_equal(hd_metric_new(&cer, HD_METRIC_cer, &opt, &err), HD_OK);
    for (int i = 0; i < 200; i++) {
        char hyp[400], ref[400];
        make_text(hyp, sizeof hyp, &seed, i % 23, 3 + i % 9);
        make_text(ref, sizeof ref, &seed, (i * 7) % 19, 3 + i % 9);
        hd_line to = line_of(ref);
        assert_int_equal(hd_metric_add(wer, line_of(hyp), &to, &err), HD_OK);
        assert_int_equal(hd_metric_add(cer, line_of(hyp), &to, &err), HD_OK);
    }
    hd_text detail = {0};
    hd_metric_detail(wer, &detail);
    assert_string_equal(detail.data, "substitutions = 969 deletions = 558 insertions = 905 length = 1797");
    hd_text_release(&detail);
    assert_same(finish(wer), 135.33667223149695, "wer");
    assert_same(finish(cer), 107.13187235678585, "cer");
}

static void of_several_references_the_nearest_counts(void **state)
{
    (void)state;
    const char *const hyp[CORPUS_LINES] = {"a b c d"};
    const char *const ref[CORPUS_REFS][CORPUS_LINES] = {{"a b"}, {"a b c d e"}};
    assert_same(finish(metric_over(HD_METRIC_wer, (hd_metric_opt){.refs = 2}, 1, hyp, ref)), 20, "wer");
}

static void text_that_is_not_utf8_is_told(void **state)
{
    (void)state;
    hd_metric *m = NULL;
    hd_err err = {0};
    hd_metric_opt opt = {.refs = 1};
    assert_int_equal(hd_metric_new(&m, HD_METRIC_cer, &opt, &err), HD_OK);
    hd_line ref = line_of("a");
    assert_int_equal(hd_metric_add(m, line_of("a\xff"), &ref, &err), HD_EFORMAT);
    assert_string_equal(err.text, "CER, segment 1: not UTF-8: byte 0xff at offset 1");
    hd_metric_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_segment),
        cmocka_unit_test(a_corpus_sums_its_segments),
        cmocka_unit_test(of_several_references_the_nearest_counts),
        cmocka_unit_test(text_that_is_not_utf8_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
