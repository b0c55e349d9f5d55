/* Answers: where they stand, votes, pass@k. */
#include "check.h"

#include <regex.h>

#include "metric/answers.h"

static hd_line line(const char *text)
{
    return (hd_line){text, strlen(text)};
}

static hd_answer given(const char *text, double logp)
{
    return (hd_answer){hd_answer_trimmed(line(text)), 1, logp};
}

static void assert_answer(const hd_answer *a, const char *text, size_t count, double logp)
{
    assert_true(hd_answer_same(a->text, line(text)));
    assert_int_equal(a->count, count);
    assert_true(fabs(a->logp - logp) < 1e-12);
}

static void the_most_frequent_answer_wins(void **state)
{
    (void)state;
    hd_answer a[] = {given("no", -0.5), given(" yes\n", -2), given("no way", -1), given("yes ", -3),
                     given("\t\ryes", -4)};
    assert_int_equal(hd_vote(a, 5), 3);
    assert_answer(&a[0], "yes", 3, -9);
    assert_answer(&a[1], "no", 1, -0.5);
    assert_answer(&a[2], "no way", 1, -1);
}

static void of_equals_the_likelier_wins_then_the_first(void **state)
{
    (void)state;
    hd_answer a[] = {given("a", -1), given("b", -2),   given("c", -1),
                     given("c", -2), given("b", -0.5), given("a", -2)};
    assert_int_equal(hd_vote(a, 6), 3);
    assert_answer(&a[0], "b", 2, -2.5);
    assert_answer(&a[1], "a", 2, -3); /* as likely as c, and given first */
    assert_answer(&a[2], "c", 2, -3);
}

static void nothing_is_an_answer_but_none_is_not(void **state)
{
    (void)state;
    hd_answer a[] = {given(" \n ", -1), {.count = 1, .logp = -9}, given("", -2), {.count = 1}, {.count = 1}};
    assert_int_equal(hd_vote(a, 5), 1);
    assert_answer(&a[0], "", 2, -3);
    assert_int_equal(hd_vote(a, 0), 0);
}

static void answers_are_found(void **state)
{
    static const struct {
        const char *regex, *text, *answer;
    } cases[] = {
        {NULL, " 46\n", "46"},
        {NULL, "12+34 = 046 ", "046"},
        {NULL, "1=2=3", "3"},
        {NULL, "=", ""},
        {NULL, "", ""},
        {"[0-9]+", "first 12, then 34.", "34"},
        {"<answer>([^<]*)</answer>", "<answer>1</answer> no, <answer> 2 </answer>", "2"},
        {"<answer>([^<]*)</answer>", "1", NULL},
        {"^a", "aa", "a"},
        {"x*", "ab", ""},
        {"(a)|b", "ab", "a"}, /* a match without the group changes nothing */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_answer_rule *r = NULL;
        assert_int_equal(hd_answer_rule_new(&r, cases[i].regex, NULL), HD_OK);
        hd_line found = hd_answer_find(r, line(cases[i].text));
        if (cases[i].answer)
            assert_true(hd_answer_same(found, line(cases[i].answer)));
        else
            assert_null(found.text);
        hd_answer_rule_free(r);
    }
}

static void a_broken_expression_is_refused(void **state)
{
    hd_answer_rule *r = NULL;
    hd_err err = {0};
    (void)state;
    assert_int_equal(hd_answer_rule_new(&r, "(a", &err), HD_EARG);
    assert_non_null(strstr(err.text, "'(a' is no regular expression"));
    assert_null(r);
}

/* All ways to take k of n samples, the first `right` of which are right. */
static double enumerated(unsigned n, unsigned right, unsigned k)
{
    unsigned all = 0, some = 0;
    for (unsigned set = 0; set < 1u << n; set++) {
        if ((unsigned)__builtin_popcount(set) != k) continue;
        all++, some += (set & ((1u << right) - 1)) != 0;
    }
    return (double)some / all;
}

static void pass_at_k_is_that_of_all_subsets(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 10; n++)
        for (unsigned right = 0; right <= n; right++)
            for (unsigned k = 1; k <= n; k++)
                assert_true(fabs(hd_pass_at(n, right, k) - enumerated(n, right, k)) < 1e-12);
    assert_true(fabs(hd_pass_at(1000000, 250000, 1) - 0.25) < 1e-9);
    assert_true(isnan(hd_pass_at(4, 1, 5)));
    assert_true(isnan(hd_pass_at(4, 1, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_frequent_answer_wins),
        cmocka_unit_test(of_equals_the_likelier_wins_then_the_first),
        cmocka_unit_test(nothing_is_an_answer_but_none_is_not),
        cmocka_unit_test(answers_are_found),
        cmocka_unit_test(a_broken_expression_is_refused),
        cmocka_unit_test(pass_at_k_is_that_of_all_subsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
