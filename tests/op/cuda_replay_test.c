/* Captured steps on the device. */
#include "op/captured.h"

int main(void)
{
    const struct CMUnitTest tests[] = {CAPTURED_TESTS};
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
