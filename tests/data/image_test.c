/* Pictures: resizing against Pillow's numbers, parts, channels, what a model reads. */
#include "check.h"
#include "scratch.h"

#include "data/image/prepare.h"

static hd_image picture(int width, int height, int channels, uint64_t seed)
{
    hd_err err = {0};
    hd_image im;
    hd_rng rng = hd_rng_make(seed, 0);
    if (hd_image_make(&im, width, height, channels, "test", &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < hd_image_bytes(&im); i++) im.pixel[i] = (uint8_t)(hd_rng_u32(&rng) >> 24);
    return im;
}

/* FNV-1a of the pixels, as the numbers from Pillow are computed. */
static uint64_t hash_of(const hd_image *im)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < hd_image_bytes(im); i++) h = (h ^ im->pixel[i]) * 0x100000001b3u;
    return h;
}

static void resizing_gives_the_numbers_of_the_reference(void **state)
{
    (void)state;
    static uint8_t row[5] = {0, 50, 100, 200, 255};
    static const struct {
        hd_filter filter;
        int to;
        uint8_t want[8];
    } cases[] = {{HD_FILTER_BILINEAR, 3, {21, 111, 231}},
                 {HD_FILTER_BILINEAR, 8, {0, 22, 53, 84, 131, 194, 231, 255}},
                 {HD_FILTER_BICUBIC, 3, {16, 110, 237}},
                 {HD_FILTER_BICUBIC, 8, {0, 17, 53, 81, 129, 195, 238, 255}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int down = 0; down < 2; down++) {
            hd_err err = {0};
            hd_image out,
                in = {.width = down ? 1 : 5, .height = down ? 5 : 1, .channels = 1, .pixel = row};
            int to = cases[i].to;
            if (hd_image_resize(&out, &in, down ? 1 : to, down ? to : 1, cases[i].filter, &err))
                fail_msg("%s", err.text);
            assert_memory_equal(out.pixel, cases[i].want, to);
            hd_image_release(&out);
        }
}

static void a_picture_written_is_read_again(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        hd_err err = {0};
        hd_image im = picture(37, 11, channels, 5), again;
        if (hd_image_write_png(&im, at("a.png"), &err) || hd_image_read(&again, at("a.png"), &err))
            fail_msg("%s", err.text);
        assert_int_equal(again.width, 37);
        assert_int_equal(again.height, 11);
        assert_int_equal(again.channels, channels);
        assert_true(hash_of(&im) == hash_of(&again));
        hd_image_release(&im);
        hd_image_release(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resizing_gives_the_numbers_of_the_reference),
        cmocka_unit_test(a_picture_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
