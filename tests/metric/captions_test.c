/* Metrics of captions against tests/metric/captions_check.py, which knows nothing of these. */
#include "metric/corpus.h"

#include "metric/corpus/ptb.h"

enum { PICTURES = 3, MOST = 3 };

static const struct {
    const char *hyp, *ref[MOST];
    int refs;
} pictures[PICTURES] = {
    {"a girl in a pink dress is climbing a wooden playhouse",
     {"A child in a pink dress is climbing up a set of stairs .", "A girl going into a wooden building .",
      "A little girl climbing into a wooden playhouse ."},
     3},
    {"two dogs play on the road the road .",
     {"A black dog and a white dog play on the road .", "Two dogs on pavement moving toward each other ."},
     2},
    {"a man sits on a bench with a black dog",
     {"A man lays on a bench while his dog sits by him .",
      "a man lays on the bench to which a white dog is also tied .",
      "A man sleeping on a bench outside with a white and black dog"},
     3},
};

static hd_metric *count(hd_metric_kind kind, size_t pictures_of)
{
    hd_metric *m = NULL;
    hd_err err = {0};
    if (hd_metric_new(&m, kind, &(hd_metric_opt){.refs = 1}, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < pictures_of; i++) {
        hd_line ref[MOST] = {{0}};
        for (int r = 0; r < pictures[i].refs; r++) ref[r] = line_of(pictures[i].ref[r]);
        if (hd_metric_set_refs(m, pictures[i].refs, &err)) fail_msg("%s", err.text);
        if (hd_metric_add(m, line_of(pictures[i].hyp), ref, &err)) fail_msg("%s", err.text);
    }
    if (hd_metric_settle(m, &err)) fail_msg("%s", err.text);
    return m;
}

static void scores_are_those_of_the_check(void **state)
{
    (void)state;
    static const double expected[] = {81.1078854445, 67.9701115506, 51.9236415392,
                                      39.5189761476, 64.0982702614, 210.648511972};
    for (int k = HD_METRIC_bleu1; k <= HD_METRIC_cider_d; k++) {
        double is = finish(count((hd_metric_kind)k, PICTURES)), should = expected[k - HD_METRIC_bleu1];
        if (!(fabs(is - should) < 1e-9)) fail_msg("%s: %.12g, expected %.12g", hd_metric_keys[k], is, should);
    }
}

static void a_metric_that_waits_may_be_settled_again(void **state)
{
    (void)state;
    hd_metric *m = count(HD_METRIC_cider_d, PICTURES);
    double first, second;
    assert_int_equal(hd_metric_finish(m, &first, NULL), HD_OK);
    assert_int_equal(hd_metric_settle(m, NULL), HD_OK);
    assert_int_equal(hd_metric_finish(m, &second, NULL), HD_OK);
    assert_true(first == second && first > 0);
    assert_true(hd_metric_kept(m)[0] > 0);
    hd_metric_free(m);
}

static void a_metric_signs_that_references_vary(void **state)
{
    (void)state;
    hd_metric *m = count(HD_METRIC_rouge_l, PICTURES), *same_count = count(HD_METRIC_rouge_l, 1);
    hd_text sign = {0};
    hd_metric_sign(m, (hd_metric_trials){0}, &sign);
    assert_ptr_equal(strstr(sign.data, "nrefs:var|"), sign.data);
    sign.size = 0;
    hd_metric_sign(same_count, (hd_metric_trials){0}, &sign);
    assert_ptr_equal(strstr(sign.data, "nrefs:3|"), sign.data);
    hd_text_release(&sign);
    hd_metric_free(m);
    hd_metric_free(same_count);
}

static void words_are_those_of_the_treebank(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } all[] = {
        {"a man's dog, \"rex\", isn't here.", "a man 's dog rex is n't here "},
        {"well-known (old) cars -- 3.5 or 1,000 ...", "well-known old cars 3.5 or 1,000 "},
        {"we cannot see mr. smith of the u.s.!", "we can not see mr. smith of the u.s. "},
        {"a dog 's hat -lrb- red -rrb- & 5 %", "a dog 's hat red & 5 % "},
        {"it's 50% off: o'clock", "it 's 50 % off o'clock "},
        {"the sign says \" stop \" .", "the sign says \" stop \" "},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        hd_runes from = {0}, to = {0};
        char is[200] = "";
        assert_int_equal(hd_runes_decode(&from, line_of(all[i].text), NULL), HD_OK);
        assert_int_equal(hd_ptb_words(&to, &from, NULL), HD_OK);
        for (size_t k = 0; k < to.count; k++) is[k] = (char)to.at[k];
        assert_string_equal(is, all[i].words);
        hd_runes_release(&from);
        hd_runes_release(&to);
    }
}

static void nothing_scores_zero(void **state)
{
    (void)state;
    for (int k = HD_METRIC_bleu1; k <= HD_METRIC_cider_d; k++) {
        hd_metric *m = NULL;
        const hd_line ref = line_of("a dog");
        double score;
        assert_int_equal(hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 1}, NULL), HD_OK);
        assert_int_equal(hd_metric_add(m, line_of(""), &ref, NULL), HD_OK);
        assert_int_equal(hd_metric_settle(m, NULL), HD_OK);
        assert_int_equal(hd_metric_finish(m, &score, NULL), HD_OK);
        assert_true(score == 0);
        hd_metric_free(m);
    }
}

static void hostile_text_is_scored_or_refused(void **state)
{
    (void)state;
    enum { SIZE = 1 << 17 };
    char *text = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) text[i] = i % 2 ? ' ' : (char)('a' + i * i / 2 % 26);
    const hd_line line = {text, SIZE}, with = {"a\0b c", 5}, without = {"ab c", 4};
    for (int k = HD_METRIC_bleu1; k <= HD_METRIC_cider_d; k++) {
        hd_metric *m = NULL;
        hd_err err = {0};
        double equal, other;
        assert_int_equal(hd_metric_new(&m, (hd_metric_kind)k, &(hd_metric_opt){.refs = 1}, NULL), HD_OK);
        assert_int_equal(hd_metric_add(m, line, &line, &err), k == HD_METRIC_rouge_l ? HD_ELIMIT : HD_OK);
        assert_int_equal(hd_metric_add(m, with, &with, NULL), HD_OK);
        assert_int_equal(hd_metric_settle(m, NULL), HD_OK);
        assert_int_equal(hd_metric_finish(m, &equal, NULL), HD_OK);
        assert_int_equal(hd_metric_add(m, with, &without, NULL), HD_OK);
        assert_int_equal(hd_metric_settle(m, NULL), HD_OK);
        assert_int_equal(hd_metric_finish(m, &other, NULL), HD_OK);
        assert_true(equal > 0 && other < equal);
        hd_metric_free(m);
    }
    free(text);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t n = 1; n < 400; n++) {
        hd_metric *m = NULL;
        const hd_line ref = line_of("a dog runs");
        hd_mem_fail_at(n);
        hd_status s = hd_metric_new(&m, HD_METRIC_cider_d, &(hd_metric_opt){.refs = 1}, NULL);
        if (!s) s = hd_metric_add(m, line_of("a dog"), &ref, NULL);
        if (!s) s = hd_metric_settle(m, NULL);
        assert_true(!s || s == HD_ENOMEM);
        hd_mem_fail_at(0);
        hd_metric_free(m);
        if (!s) return;
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_check),
        cmocka_unit_test(a_metric_that_waits_may_be_settled_again),
        cmocka_unit_test(a_metric_signs_that_references_vary),
        cmocka_unit_test(words_are_those_of_the_treebank),
        cmocka_unit_test(nothing_scores_zero),
        cmocka_unit_test(hostile_text_is_scored_or_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
