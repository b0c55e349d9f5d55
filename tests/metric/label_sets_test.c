/* Scores of sets of labels, by hand and as scikit-learn has them. */
#include "check.h"

#include "metric/label_sets.h"

enum { ITEMS = 5, CLASSES = 3 };

/* f1_score(average="micro") and "macro", accuracy_score and average_precision_score of scikit-learn 1.9.1. */
static void scores_are_those_of_scikit_learn(void **state)
{
    (void)state;
    static const bool truth[ITEMS * CLASSES] = {1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1};
    static const double p[ITEMS * CLASSES] = {0.9, 0.2, 0.5, 0.4, 0.7, 0.3, 0.6, 0.1,
                                              0.2, 0.4, 0.7, 0.8, 0.8, 0.7, 0.2};
    hd_err err = {0};
    hd_set_scores got;
    if (hd_label_sets_score(&got, p, truth, ITEMS, CLASSES, &err)) fail_msg("%s", err.text);
    const double wanted[] = {0.6666666666666666, 0.6555555555555556, 0.2, 0.7444444444444445};
    const double is[] = {got.micro_f1, got.macro_f1, got.exact, got.average_precision};
    for (int i = 0; i < 4; i++)
        if (fabs(is[i] - wanted[i]) > 1e-12) fail_msg("%d: %.17g, not %.17g", i, is[i], wanted[i]);
}

/* A label that is neither there nor predicted counts for nothing. */
static void labels_that_never_occur_are_left_out(void **state)
{
    (void)state;
    static const bool truth[] = {1, 0, 0, 0};
    static const double p[] = {0.9, 0.1, 0.2, 0.3};
    hd_err err = {0};
    hd_set_scores got;
    if (hd_label_sets_score(&got, p, truth, 2, 2, &err)) fail_msg("%s", err.text);
    assert_true(got.micro_f1 >= 1 && got.macro_f1 >= 1 && got.exact >= 1 && got.average_precision >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(labels_that_never_occur_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
