/* Captured steps on a cpu that captures as a device does. */
#include "base/serial.h"
#include "op/captured.h"

static void no_serial_number_comes_twice(void **state)
{
    (void)state;
    uint64_t last = hd_serial();
    assert_true(last > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t next = hd_serial();
        assert_true(next > last);
        last = next;
    }
}

/* And neither a step that is not trained nor one on a device that cannot. */
static void only_what_is_captured_is_filled_up(void **state)
{
    (void)state;
    static const int32_t len[] = {3, 40};
    for (int i = 0; i < 8; i++) {
        const bool can = i & 1, captures = i & 2, trains = i & 4, fills = i == 7;
        hd_backend *b = backend_of("cpu", 1);
        if (can) recorder_attach(b);
        hd_run r = run_on(b);
        r.captures = captures;
        hd_run_begin(&r, trains ? HD_TRAIN : HD_INFERENCE);
        hd_bounds now = hd_bounds_now(&r, len, 2), ever = hd_bounds_of(&r, len, 2);
        assert_true(hd_fills_now(&r) == fills);
        assert_true(now.items == (fills ? 64 : 2) && now.rows == (fills ? 128 : 43) &&
                    now.longest == (fills ? 64 : 40));
        assert_true(ever.items == (can && captures ? 64 : 2));
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {CAPTURED_TESTS, cmocka_unit_test(no_serial_number_comes_twice),
                                       cmocka_unit_test(only_what_is_captured_is_filled_up)};
    setenv("HEED_PAIR_DEVICE", "replay", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
