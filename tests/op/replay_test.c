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

int main(void)
{
    const struct CMUnitTest tests[] = {CAPTURED_TESTS, cmocka_unit_test(no_serial_number_comes_twice)};
    setenv("HEED_PAIR_DEVICE", "replay", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
