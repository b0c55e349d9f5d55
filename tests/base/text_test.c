/* The growing string: contents, growth, and a failed allocation that stays known. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static void pieces_follow_each_other(void **state)
{
    (void)state;
    hd_text t = {0};
    hd_text_put(&t, "");
    assert_string_equal(t.data, "");
    hd_text none = {0};
    hd_text_add(&t, none.data, none.size);
    assert_string_equal(t.data, "");
    hd_text_put(&t, "ab");
    hd_text_add(&t, "cdxx", 2);
    hd_text_print(&t, "-%03d-%s", 7, "e");
    assert_string_equal(t.data, "abcd-007-e");
    assert_int_equal(t.size, 10);
    assert_int_equal(hd_text_status(&t, NULL), HD_OK);
    hd_text_release(&t);
    assert_null(t.data);
}

/* Every length around the sizes at which it grows. */
static void grows_without_losing_a_byte(void **state)
{
    (void)state;
    for (int by_print = 0; by_print < 2; by_print++) {
        hd_text t = {0};
        char expected[3000] = {0};
        for (int i = 0; i < 2000; i++) {
            char one[2] = {(char)('a' + i % 26), 0};
            expected[i] = one[0];
            if (by_print)
                hd_text_print(&t, "%s", one);
            else
                hd_text_put(&t, one);
            assert_int_equal(t.size, i + 1);
            assert_true(t.size < t.room);
        }
        assert_string_equal(t.data, expected);
        hd_text_release(&t);
    }
}

static void a_failed_allocation_is_remembered(void **state)
{
    (void)state;
    hd_text t = {0};
    hd_err err = {0};
    hd_text_put(&t, "kept");
    hd_mem_fail_at(1);
    hd_text_print(&t, "%1000d", 1);
    hd_mem_fail_at(0);
    hd_text_put(&t, "dropped");
    assert_string_equal(t.data, "kept");
    assert_int_equal(hd_text_status(&t, &err), HD_ENOMEM);
    assert_true(*err.text);
    hd_text_release(&t);
}

static void numbers_are_digits_a_point_and_an_exponent(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "1x", "1,5", " 1", "0x10", "nan", "inf", "1.2.3", "--1", "."};
    double value = 7;
    assert_true(hd_real_of("-1.5e2", 6, &value) && value == -150);
    assert_true(hd_real_of("12.5", 2, &value) && value == 12); /* two bytes of it */
    assert_true(hd_real_of("1e999", 5, &value) && isinf(value));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hd_real_of(bad[i], strlen(bad[i]), &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(grows_without_losing_a_byte),
        cmocka_unit_test(a_failed_allocation_is_remembered),
        cmocka_unit_test(numbers_are_digits_a_point_and_an_exponent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
