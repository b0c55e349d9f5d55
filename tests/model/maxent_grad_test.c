/* The gradient of a maximum entropy model by its definition: how often a feature was expected with a word,
   less how often the two were observed together. In double, so that all that is left is rounding. */
#include "model/lm_toy.h"

enum { BUCKETS = 97, ORDER = 3 };

/* Probabilities of the next word by the features of the place: bias + one row of the table for each. */
static void expect(const hd_real *table, const hd_real *bias, const int32_t *feature, double *p)
{
    double sum = 0;
    for (size_t v = 0; v < LM_VOCAB; v++) {
        double z = (double)bias[v];
        for (size_t k = 0; k + 1 < ORDER; k++) z += (double)table[(size_t)feature[k] * LM_VOCAB + v];
        sum += p[v] = exp(z);
    }
    for (size_t v = 0; v < LM_VOCAB; v++) p[v] /= sum;
}

static void the_gradient_is_what_was_expected_less_what_was_observed(void **state)
{
    (void)state;
    static double want[BUCKETS * LM_VOCAB];
    double want_bias[LM_VOCAB] = {0};
    int32_t text[LM_TEXT];
    lm_windows all = {.items = 1, .len = {LM_TEXT}};
    lm_toy t;
    hd_lm_opt o = lm_opt(HD_LM_maxent);
    o.order = ORDER, o.buckets = BUCKETS;
    lm_text(text, LM_TEXT, 4);
    lm_open(&t, &o, 1, true);
    const hd_param *table = hd_params_find(t.m->params, "features.weight"),
                   *bias = hd_params_find(t.m->params, "features.bias");
    for (size_t i = 0; i < LM_TEXT; i++) {
        int32_t feature[ORDER - 1];
        double p[LM_VOCAB];
        hd_lm_features(t.m, text, LM_TEXT, i, feature);
        expect(table->t.data, bias->t.data, feature, p);
        p[text[i]] -= 1; /* observed */
        for (size_t v = 0; v < LM_VOCAB; v++) {
            want_bias[v] += p[v];
            for (size_t k = 0; k + 1 < ORDER; k++) want[(size_t)feature[k] * LM_VOCAB + v] += p[v];
        }
    }
    hd_run_begin(&t.run, HD_TRAIN);
    lm_loss(&t, text, LM_TEXT, &all, NULL);
    hd_backward(&t.run);
    assert_run_ok(&t.run);
    const hd_real *got = table->grad.data, *got_bias = bias->grad.data;
    for (size_t i = 0; i < COUNT_OF(want); i++) assert_true(fabs((double)got[i] - want[i]) < 1e-12);
    for (size_t v = 0; v < LM_VOCAB; v++) assert_true(fabs((double)got_bias[v] - want_bias[v]) < 1e-12);
    lm_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_is_what_was_expected_less_what_was_observed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
