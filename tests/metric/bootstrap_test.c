/* Resampling: the draws are NumPy's, and so p-values and intervals are those of sacreBLEU 2.6.0's paired
 * test. */
#include "metric/corpus.h"

#include "metric/bootstrap.h"
#include "metric/numpy_random.h"

static void draws_are_numpys(void **state)
{
    (void)state;
    static const uint32_t small[] = {699, 227, 788, 316, 204, 797, 642, 676, 988, 391,
                                     839, 332, 567, 598, 213, 186, 229, 672, 613, 941};
    static const uint32_t large[] = {2834714867, 2052539810, 2691641402, 1734877356, 2327057070, 2500953064,
                                     675621569,  166594732,  900498854,  855201101,  2620660335, 2737869579};
    hd_numpy_random a = hd_numpy_random_make(12345), b = hd_numpy_random_make(7),
                    c = hd_numpy_random_make(12345);
    for (size_t i = 0; i < COUNT_OF(small); i++) assert_int_equal(hd_numpy_random_below(&a, 1000), small[i]);
    for (size_t i = 0; i < COUNT_OF(large); i++)
        assert_int_equal(hd_numpy_random_below(&b, 3000000000), large[i]);
    assert_int_equal(hd_numpy_random_below(&c, 1), 0); /* takes nothing from the stream */
    assert_int_equal(hd_numpy_random_below(&c, 1000), small[0]);
}

static const char *const refs[CORPUS_REFS][CORPUS_LINES] = {
    {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
    {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};
static const char *const system_a[CORPUS_LINES] = {"The dog bit the man.", "It wasn't surprising.",
                                                   "The man had just bitten him."};
static const char *const system_b[CORPUS_LINES] = {"The dog bit a man.", "It was not so surprising.",
                                                   "The man had bitten him first."};

enum { SAMPLES = 1000 };

static void comparison_is_that_of_sacrebleu(void **state)
{
    (void)state;
    static const struct {
        double p, mean_a, half_a, mean_b, half_b;
    } expected[HD_METRIC_ter + 1] = {
        {0.17282717282717283, 46.95974811953181, 46.754996737202504, 37.36614804594779, 17.395464466863267},
        {0.24975024975024976, 60.346875101624704, 32.32682321734909, 53.55219448475837, 14.237018366951947},
        {0.3256743256743257, 59.24628819231543, 35.42743037199265, 56.09664744746825, 11.579794686916905},
        {0.33466533466533466, 41.23489988297224, 37.5, 33.99936079084873, 15.909090638160706}};
    static double score[2][SAMPLES];
    double *const into[2] = {score[0], score[1]};
    for (int k = 0; k <= HD_METRIC_ter; k++) {
        const hd_metric_opt opt = {.refs = 2, .keep = true};
        hd_metric *m[2] = {metric_over((hd_metric_kind)k, opt, 3, system_a, refs),
                           metric_over((hd_metric_kind)k, opt, 3, system_b, refs)};
        hd_err err = {0};
        hd_interval a, b;
        hd_comparison c, none;
        assert_int_equal(
            hd_bootstrap((const hd_metric *const *)m, 2, (hd_metric_trials){SAMPLES, 12345}, into, &err), 0);
        double gap = hd_metric_of(m[1], hd_metric_sums(m[1])) - hd_metric_of(m[0], hd_metric_sums(m[0]));
        assert_int_equal(hd_bootstrap_interval(&a, score[0], SAMPLES, &err), HD_OK);
        assert_int_equal(hd_bootstrap_interval(&b, score[1], SAMPLES, &err), HD_OK);
        assert_int_equal(hd_bootstrap_compare(&c, score[0], score[1], SAMPLES, gap, &err), HD_OK);
        assert_same(c.p, expected[k].p, hd_metric_keys[k]);
        /* sacreBLEU adds and divides some numbers in 32 bits */
        assert_true(fabs(a.mean - expected[k].mean_a) < 1e-5 && fabs(a.half - expected[k].half_a) < 1e-5);
        assert_true(fabs(b.mean - expected[k].mean_b) < 1e-5 && fabs(b.half - expected[k].half_b) < 1e-5);
        assert_true(c.difference.low <= gap && gap <= c.difference.high);
        /* a system does not differ from itself, and that is no chance */
        assert_int_equal(hd_bootstrap_compare(&none, score[0], score[0], SAMPLES, 0, &err), HD_OK);
        assert_same(none.p, 1.0 / (SAMPLES + 1), "itself");
        assert_true(none.difference.low == 0 && none.difference.high == 0);
        hd_metric_free(m[0]);
        hd_metric_free(m[1]);
    }
}

static void interval_cuts_off_a_fortieth(void **state)
{
    (void)state;
    double score[80];
    hd_interval i;
    for (int k = 0; k < 80; k++) score[k] = (k * 37) % 80; /* 0..79, shuffled */
    assert_int_equal(hd_bootstrap_interval(&i, score, 80, NULL), HD_OK);
    assert_true(i.low == 2 && i.high == 77 && i.half == 37.5 && i.mean == 39.5);
    assert_true(score[1] == 37);
    assert_int_equal(hd_bootstrap_interval(&i, score, 1, NULL), HD_OK);
    assert_true(i.low == 0 && i.high == 0 && i.mean == 0);
    assert_int_equal(hd_bootstrap_interval(&i, score, 0, NULL), HD_EARG);
}

static void what_was_not_kept_cannot_be_resampled(void **state)
{
    (void)state;
    static double score[1];
    double *const into[2] = {score, score};
    const hd_metric_trials trials = {1, 1};
    hd_metric *kept = metric_over(HD_METRIC_ter, (hd_metric_opt){.refs = 1, .keep = true}, 3, system_a, refs);
    hd_metric *fewer =
        metric_over(HD_METRIC_ter, (hd_metric_opt){.refs = 1, .keep = true}, 2, system_a, refs);
    hd_metric *not_kept = metric_over(HD_METRIC_ter, (hd_metric_opt){.refs = 1}, 3, system_a, refs);
    assert_int_equal(hd_bootstrap((const hd_metric *const[]){kept, fewer}, 2, trials, into, NULL), HD_EARG);
    assert_int_equal(hd_bootstrap((const hd_metric *const[]){kept, not_kept}, 2, trials, into, NULL),
                     HD_EARG);
    assert_int_equal(hd_bootstrap(NULL, 0, trials, into, NULL), HD_EARG);
    assert_int_equal(hd_bootstrap((const hd_metric *const[]){kept, kept}, 2, trials, into, NULL), HD_OK);
    hd_metric_free(kept);
    hd_metric_free(fewer);
    hd_metric_free(not_kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_numpys),
        cmocka_unit_test(comparison_is_that_of_sacrebleu),
        cmocka_unit_test(interval_cuts_off_a_fortieth),
        cmocka_unit_test(what_was_not_kept_cannot_be_resampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
