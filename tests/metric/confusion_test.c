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
    for (size_t i = 0; i < COUNT_OF(pair); i++) hd_confusion_add(&c, pair[i][0], pair[i][1], NULL);
    hd_class_score a = hd_confusion_class(&c, 0), b = hd_confusion_class(&c, 1),
                   d = hd_confusion_class(&c, 2);
    assert_int_equal(hd_confusion_count(&c, 0, 1), 1);
    assert_int_equal(hd_confusion_count(&c, 1, 0), 1);
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
            for (size_t n = 0; n < cases[i].at[k]; n++) hd_confusion_add(&c, k / 2, k % 2, NULL);
        if (!(fabs(hd_confusion_matthews(&c) - cases[i].is) < 1e-15))
            fail_msg("case %zu: %g", i, hd_confusion_matthews(&c));
        hd_confusion_release(&c);
    }
}

/* Memory grows with what occurs: the table of all pairs of these classes would have 80 GB. Every count is
   what a table would hold. */
static void many_classes_take_little_memory(void **state)
{
    (void)state;
    enum { CLASSES = 100000, ITEMS = 20000 };
    hd_confusion c;
    hd_err err = {0};
    hd_confusion_cell *all = NULL;
    size_t before = hd_mem_now().used, right = 0;
    if (hd_confusion_init(&c, CLASSES, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < ITEMS; i++) {
        size_t truth = i * 7919 % 1000 * 100, guess = i % 3 ? truth : (truth + i % 5) % CLASSES;
        right += truth == guess;
        assert_int_equal(hd_confusion_add(&c, truth, guess, &err), HD_OK);
    }
    assert_true(hd_mem_now().used - before < 4 << 20);
    assert_true(c.count == ITEMS && c.right == right);
    if (hd_confusion_sorted(&c, &all, &err)) fail_msg("%s", err.text);
    size_t sum = 0, truths = 0;
    for (size_t i = 0; i < c.cells; i++) {
        assert_true(!i || all[i].truth > all[i - 1].truth ||
                    (all[i].truth == all[i - 1].truth && all[i].guess > all[i - 1].guess));
        assert_int_equal(all[i].count, hd_confusion_count(&c, all[i].truth, all[i].guess));
        sum += all[i].count;
    }
    for (size_t k = 0; k < CLASSES; k++) truths += hd_confusion_class(&c, k).true_items;
    assert_true(sum == ITEMS && truths == ITEMS);
    assert_int_equal(hd_confusion_count(&c, 1, 1), 0);
    hd_mem_free(all);
    hd_mem_fail_at(1); /* the table doubles before it is half full */
    size_t cells = c.cells, added = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < c.room; i++) s = hd_confusion_add(&c, 1, i, &err), added += !s;
    hd_mem_fail_at(0);
    assert_int_equal(s, HD_ENOMEM);
    assert_int_equal(c.cells, cells + added);
    assert_int_equal(c.count, ITEMS + added);
    hd_confusion_release(&c);
    assert_int_equal(hd_mem_now().used, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_of_a_small_matrix),
                                       cmocka_unit_test(matthews_of_two_classes),
                                       cmocka_unit_test(many_classes_take_little_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
