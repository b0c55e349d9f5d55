/* Convolution and pooling on the device, in captured steps. */
#include "op/pictures.h"

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_agree_with_the_cpu)};
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
