/* Sums: all of them once, splits that share no operands, wrong digits as often as asked for. */
#include "check.h"
#include "data/sums/sums.h"

static void every_pair_comes_once(void **state)
{
    (void)state;
    for (int digits = 1; digits <= 2; digits++) {
        const hd_sums s = {.digits = digits, .seed = 3};
        const uint64_t n = hd_sums_count(&s), each = digits == 1 ? 10 : 100;
        static bool seen[10000];
        size_t in_order = 0;
        assert_int_equal(n, each * each);
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            hd_sum x = hd_sum_at(&s, i);
            assert_true(x.a < each && x.b < each && !seen[x.a * each + x.b]);
            seen[x.a * each + x.b] = true;
            in_order += x.a * each + x.b == i;
        }
        assert_true(in_order < n / 10);
    }
}

static void splits_share_no_operands_and_have_their_sizes(void **state)
{
    (void)state;
    const hd_sums s = {.digits = 2, .seed = 1, .valid = 0.1, .test = 0.2}, other = {2, 2, 0.1, 0.2};
    size_t count[HD_SUM_SPLITS] = {0}, differ = 0;
    for (uint64_t a = 0; a < 100; a++)
        for (uint64_t b = 0; b < 100; b++) {
            hd_sum_split is = hd_sum_split_of(&s, (hd_sum){a, b});
            assert_int_equal(is, hd_sum_split_of(&s, (hd_sum){b, a}));
            differ += is != hd_sum_split_of(&other, (hd_sum){a, b});
            count[is]++;
        }
    /* 5,050 unordered pairs: four standard deviations of a share of 0.2 are 0.023 */
    assert_true(count[HD_SUM_TEST] > 1770 && count[HD_SUM_TEST] < 2230);
    assert_true(count[HD_SUM_VALID] > 830 && count[HD_SUM_VALID] < 1170);
    assert_true(differ > 1000); /* another seed, other splits */
}

static void one_digit_is_wrong_as_often_as_asked(void **state)
{
    (void)state;
    const hd_sums s = {.digits = 2, .seed = 1};
    size_t wrong = 0;
    for (uint32_t draw = 0; draw < 2000; draw++) {
        hd_text t = {0};
        size_t differ = 0;
        hd_sum_put_answer(&t, &s, (hd_sum){7, 85}, 0.5, draw);
        assert_int_equal(t.size, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_true(t.data[i] >= '0' && t.data[i] <= '9');
            differ += t.data[i] != "092"[i];
        }
        assert_true(differ <= 1);
        wrong += differ;
        hd_text_release(&t);
    }
    assert_true(wrong > 900 && wrong < 1100); /* four standard deviations are 90 */
}

static void texts_have_leading_zeros(void **state)
{
    (void)state;
    const hd_sums s = {.digits = 3, .seed = 1}, most = {.digits = HD_SUM_DIGITS};
    hd_text t = {0};
    hd_sum_put_prompt(&t, &s, (hd_sum){7, 85});
    hd_sum_put_answer(&t, &s, (hd_sum){7, 85}, 0, 0);
    hd_sum_put_answer(&t, &most, (hd_sum){999999999, 999999999}, 0, 0);
    assert_string_equal(t.data, "007+085=00921999999998");
    hd_text_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_comes_once),
        cmocka_unit_test(splits_share_no_operands_and_have_their_sizes),
        cmocka_unit_test(one_digit_is_wrong_as_often_as_asked),
        cmocka_unit_test(texts_have_leading_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
