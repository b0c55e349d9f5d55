/* Pictures arrive on the backend as they were sent, and are worth what normalization says. */
#include "check.h"
#include "nn/pixels.h"

static const uint8_t bytes[] = {0,  51, 102, 153, 204, 255, /* 1 x 2 of three channels */
                                10, 20, 30,  40,  50,  60,  70, 80, 90, 100, 110, 120}; /* 2 x 2 */
static const int32_t begin[] = {0, 6}, size[] = {1, 2, 2, 2};
static const uint32_t which[] = {7, 3};

static const hd_image_prepare halves = {
    .channels = 3, .rescale = 1.0 / 255, .mean = {0.5f, 0.5f, 0.5f}, .deviation = {0.5f, 0.5f, 0.5f}};

static void pixels_become_rows(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    hd_run r = run_on(b);
    hd_pixels in;
    const hd_image_batch batch = {.items = 2,
                                  .which = which,
                                  .bytes = bytes,
                                  .byte_count = sizeof bytes,
                                  .begin = begin,
                                  .size = size,
                                  .channels = 3};
    hd_run_begin(&r, HD_INFERENCE);
    assert_true(hd_pixels_send(&r, &in, &batch, &halves));
    hd_rows x = hd_pixel_rows(&r, &in, 1);
    hd_real *y = host_copy(&r, x.t);
    assert_run_ok(&r);
    assert_int_equal(hd_rows_of(x.t), 6);
    for (size_t i = 0; i < sizeof bytes; i++) assert_float_equal(y[i], (float)(bytes[i] / 127.5 - 1), 1e-6f);
    assert_int_equal(in.key[0], 7);
    free(y);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void other_channels_are_refused(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_pixels in;
    const hd_image_batch batch = {
        .items = 1, .bytes = bytes, .byte_count = 2, .begin = begin, .size = size, .channels = 1};
    hd_run_begin(&r, HD_INFERENCE);
    assert_false(hd_pixels_send(&r, &in, &batch, &halves));
    assert_int_equal(r.err.status, HD_EARG);
    hd_run_release(&r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pixels_become_rows),
                                       cmocka_unit_test(other_channels_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
