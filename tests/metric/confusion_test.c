/* Counts of confusions, and what they say; the figures are those of scikit-learn's definitions, by hand. */
#include "check.h"

#include "metric/confusion.h"

static void shares_of_a_small_matrix(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_confusion c;
    static const size_t pair[][2] = {{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 0}, {2, 1}};
    if (hd_confusion_init(&c, 4, &err)) fail_msg("%s", err.text);
    assert_true(isnan(hd_confusion_accuracy(&c)) && isnan(hd_confusion_macro_f1(&c)));
    for (size_t i = 0; i < COUNT_OF(pair); i++) hd_confusion_add(&c, pair[i][0], pair[i][1]);
    hd_class_score a = hd_confusion_class(&c, 0), b = hd_confusion_class(&c, 1),
                   d = hd_confusion_class(&c, 2);
    assert_int_equal(c.at[0 * 4 + 1], 1);
    assert_int_equal(c.at[1 * 4 + 0], 1);
    assert_true(fabs(hd_confusion_accuracy(&c) - 0.5) < 1e-15);
    assert_true(fabs(a.precision - 2.0 / 3) < 1e-15 && fabs(a.recall - 2.0 / 3) < 1e-15);
    assert_true(fabs(b.precision - 1.0 / 3) < 1e-15 && fabs(b.recall - 0.5) < 1e-15 &&
                fabs(b.f1 - 0.4) < 1e-15);
    assert_int_equal(d.true_items, 1);
    assert_true(d.f1 <= 0 && d.precision <= 0);
    /* class 3 is neither there nor guessed: it does not count */
    assert_true(fabs(hd_confusion_macro_f1(&c) - (2.0 / 3 + 0.4 + 0) / 3) < 1e-15);
    /* truths 3 2 1 0, guesses 3 3 0 0, 3 of 6 right: (3 * 6 - 15) / sqrt((36 - 14) (36 - 18)) */
    assert_true(fabs(hd_confusion_matthews(&c) - 3 / sqrt(22.0 * 18)) < 1e-15);
    hd_confusion_release(&c);
    assert_int_equal(hd_confusion_init(&c, SIZE_MAX / 2, &err), HD_ENOMEM);
    hd_confusion_release(&c);
}

/* Of two classes it is (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn)). */
static void matthews_of_two_classes(void **state)
{
    (void)state;
    const struct {
        size_t at[4]; /* true 0: guessed 0, 1; true 1: guessed 0, 1 */
        double is;
    } cases[] = {{{90, 4, 1, 5}, (90.0 * 5 - 4) / sqrt(9.0 * 6 * 94 * 91)},
                 {{7, 0, 0, 3}, 1},
                 {{0, 7, 3, 0}, -1},
                 {{0, 5, 0, 5}, 0},
                 {{0, 0, 4, 4}, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_confusion c;
        if (hd_confusion_init(&c, 2, &err)) fail_msg("%s", err.text);
        assert_true(isnan(hd_confusion_matthews(&c)));
        for (size_t k = 0; k < 4; k++)
            for (size_t n = 0; n < cases[i].at[k]; n++) hd_confusion_add(&c, k / 2, k % 2);
        if (!(fabs(hd_confusion_matthews(&c) - cases[i].is) < 1e-15))
            fail_msg("case %zu: %g", i, hd_confusion_matthews(&c));
        hd_confusion_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_of_a_small_matrix),
                                       cmocka_unit_test(matthews_of_two_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
