/* Votes: the answer given most often wins, of equals the likelier one. */
#include "check.h"
#include "task/language/generate.h"

static hd_generated given(const char *text, double logp)
{
    return (hd_generated){.text = {.data = (char *)(uintptr_t)text, .size = strlen(text)}, .logp = logp};
}

static void assert_answer(const hd_answer *a, const char *text, size_t count, double logp)
{
    assert_int_equal(a->text.size, strlen(text));
    assert_memory_equal(a->text.text, text, strlen(text));
    assert_int_equal(a->count, count);
    assert_true(fabs(a->logp - logp) < 1e-12);
}

static void the_most_frequent_answer_wins(void **state)
{
    (void)state;
    hd_answer a[5];
    const hd_generated g[] = {given("no", -0.5), given(" yes\n", -2), given("no way", -1), given("yes ", -3),
                              given("\t\ryes", -4)};
    assert_int_equal(hd_vote(a, g, 5), 3);
    assert_answer(&a[0], "yes", 3, -9);
    assert_answer(&a[1], "no", 1, -0.5);
    assert_answer(&a[2], "no way", 1, -1);
}

static void of_equals_the_likelier_wins(void **state)
{
    (void)state;
    hd_answer a[6];
    const hd_generated g[] = {given("a", -1), given("b", -2),   given("c", -1),
                              given("c", -2), given("b", -0.5), given("a", -2)};
    assert_int_equal(hd_vote(a, g, 6), 3);
    assert_answer(&a[0], "b", 2, -2.5);
    assert_answer(&a[1], "a", 2, -3); /* as likely as c, and given first */
    assert_answer(&a[2], "c", 2, -3);
}

static void nothing_is_an_answer_too(void **state)
{
    (void)state;
    hd_answer a[2];
    const hd_generated g[] = {given(" \n ", -1), {.logp = -2}};
    assert_int_equal(hd_vote(a, g, 2), 1);
    assert_answer(&a[0], "", 2, -3);
    assert_int_equal(hd_vote(a, g, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_frequent_answer_wins),
        cmocka_unit_test(of_equals_the_likelier_wins),
        cmocka_unit_test(nothing_is_an_answer_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
