/* Scores by length: every segment in its bucket, and the score of a bucket that of its segments alone. */
#include "metric/corpus.h"

#include "metric/lengths.h"

static void add(hd_lengths *l, const char *source, size_t times)
{
    for (size_t i = 0; i < times; i++) assert_int_equal(hd_lengths_add(l, line_of(source), NULL), HD_OK);
}

/* A source of so many words, `times` times. */
static void add_words(hd_lengths *l, size_t words, size_t times)
{
    char text[512] = "";
    for (size_t i = 0; i < words; i++) strcat(text, "w ");
    add(l, text, times);
}

/* "1-9:3 10-:4 outside 2" */
static const char *told(const hd_lengths *l)
{
    static char all[1024];
    char name[HD_BUCKET_NAME];
    int used = 0;
    all[0] = 0;
    for (size_t b = 0; b < l->buckets; b++)
        used += snprintf(all + used, sizeof all - (size_t)used, "%s%s:%zu", b ? " " : "",
                         hd_bucket_name(&l->bucket[b], name), l->bucket[b].segments);
    if (l->outside) snprintf(all + used, sizeof all - (size_t)used, " outside %zu", l->outside);
    return all;
}

static void words_stand_between_blanks(void **state)
{
    (void)state;
    static const char *const sources[] = {"", "   ", "a", " a\tb  c ", "größer als", "a\rb"};
    static const uint32_t words[] = {0, 0, 1, 3, 2, 2};
    hd_lengths l = {0};
    for (size_t i = 0; i < 6; i++) add(&l, sources[i], 1);
    for (size_t i = 0; i < 6; i++) assert_int_equal(l.words[i], words[i]);
    hd_lengths_release(&l);
}

static void given_buckets_take_what_is_theirs(void **state)
{
    (void)state;
    static const struct {
        const char *list, *told;
    } cases[] = {{"1-9,10-14,15-", "1-9:4 10-14:2 15-:1"},
                 {"9,14-20", "9:3 14-20:2 outside 2"},
                 {"0-", "0-:7"},
                 {"30-40", "30-40:0 outside 7"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_lengths l = {0};
        assert_int_equal(hd_lengths_read(&l, cases[i].list, NULL), HD_OK);
        add_words(&l, 1, 1), add_words(&l, 9, 3), add_words(&l, 10, 1), add_words(&l, 14, 1);
        add_words(&l, 20, 1);
        assert_int_equal(hd_lengths_divide(&l, NULL), HD_OK);
        assert_string_equal(told(&l), cases[i].told);
        hd_lengths_release(&l);
    }
}

static void buckets_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       ",",       "a",     "1-a", "1-9,", "9-1",    "1-9,9",
                                      "1-,5-9", "5-9,1-4", "1 - 9", "-4",  "1--4", "1-9;10", "1234567890"};
    char many[512] = "1";
    for (int i = 2; i <= HD_BUCKETS + 1; i++) sprintf(many + strlen(many), ",%d", i);
    for (size_t i = 0; i <= COUNT_OF(bad); i++) {
        hd_lengths l = {0};
        hd_err err = {0};
        const char *list = i < COUNT_OF(bad) ? bad[i] : many;
        if (hd_lengths_read(&l, list, &err) != HD_EARG) fail_msg("'%s' is taken", list);
        assert_non_null(strstr(err.text, list));
        hd_lengths_release(&l);
    }
}

static void found_buckets_have_enough_in_each(void **state)
{
    (void)state;
    static const struct {
        size_t words[5], times[5];
        const char *told;
    } cases[] = {
        {{3}, {2}, "1-:2"},
        {{0, 3}, {1, 2}, "0-:3"},
        {{3, 12, 17}, {30, 30, 30}, "1-4:30 5-14:30 15-:30"},
        {{3, 12, 17}, {29, 30, 31}, "1-14:59 15-:31"},
        {{3, 12, 17}, {30, 31, 29}, "1-4:30 5-:60"},
        {{3, 8, 12, 200}, {1000, 40, 1000, 1}, "1-4:1000 5-:1041"}, /* a twentieth is 102 */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_lengths l = {0};
        for (size_t k = 0; k < 5; k++) add_words(&l, cases[i].words[k], cases[i].times[k]);
        assert_int_equal(hd_lengths_divide(&l, NULL), HD_OK);
        assert_string_equal(told(&l), cases[i].told);
        hd_lengths_release(&l);
    }
}

static const char *const hyp[CORPUS_LINES] = {"The dog bit the man.", "It wasn't surprising.",
                                              "The man had just bitten him."};
static const char *const ref[CORPUS_REFS][CORPUS_LINES] = {
    {"The dog bit a man.", "It was not unexpected.", "The man had bitten the dog."}};

/* Segments 0 and 2 are long, 1 is short. */
static void a_bucket_scores_as_its_segments_alone(void **state)
{
    (void)state;
    for (int kind = 0; kind < HD_METRIC_cider_d; kind++) {
        hd_metric *all =
            metric_over((hd_metric_kind)kind, (hd_metric_opt){.refs = 1, .keep = true}, 3, hyp, ref);
        static const char *const long_hyp[CORPUS_LINES] = {"The dog bit the man.",
                                                           "The man had just bitten him."};
        static const char *const long_ref[CORPUS_REFS][CORPUS_LINES] = {
            {"The dog bit a man.", "The man had bitten the dog."}};
        hd_metric *some =
            metric_over((hd_metric_kind)kind, (hd_metric_opt){.refs = 1}, 2, long_hyp, long_ref);
        double score[3], expected;
        hd_lengths l = {0};
        assert_int_equal(hd_lengths_read(&l, "1-4,5-9,10-", NULL), HD_OK);
        add_words(&l, 5, 1), add_words(&l, 4, 1), add_words(&l, 6, 1);
        assert_int_equal(hd_lengths_divide(&l, NULL), HD_OK);
        hd_lengths_score(&l, all, score);
        assert_int_equal(hd_metric_finish(some, &expected, NULL), HD_OK);
        assert_true(fabs(score[1] - expected) < 1e-9 && isnan(score[2]) && !isnan(score[0]));
        hd_lengths_release(&l);
        hd_metric_free(all);
        hd_metric_free(some);
    }
}

static void a_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_lengths l = {0};
    hd_mem_fail_at(1);
    assert_int_equal(hd_lengths_add(&l, line_of("a"), NULL), HD_ENOMEM);
    hd_mem_fail_at(0);
    add(&l, "a", 1);
    hd_mem_fail_at(1);
    assert_int_equal(hd_lengths_divide(&l, NULL), HD_ENOMEM);
    hd_mem_fail_at(0);
    hd_lengths_release(&l);
    assert_int_equal(hd_mem_now().blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stand_between_blanks),
        cmocka_unit_test(given_buckets_take_what_is_theirs),
        cmocka_unit_test(buckets_that_are_none_are_refused),
        cmocka_unit_test(found_buckets_have_enough_in_each),
        cmocka_unit_test(a_bucket_scores_as_its_segments_alone),
        cmocka_unit_test(a_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
