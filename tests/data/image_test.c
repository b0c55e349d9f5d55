/* Pictures: resizing against Pillow's numbers, parts, channels, what a model reads. */
#include "check.h"

#include "data/image/prepare.h"

/* Noise that a line of Python makes as well. */
static hd_image picture(int width, int height, int channels, uint32_t seed)
{
    hd_err err = {0};
    hd_image im;
    if (hd_image_make(&im, width, height, channels, "test", &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < hd_image_bytes(&im); i++)
        im.pixel[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
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
            hd_image out, in = {.width = down ? 1 : 5, .height = down ? 5 : 1, .channels = 1, .pixel = row};
            int to = cases[i].to;
            if (hd_image_resize(&out, &in, down ? 1 : to, down ? to : 1, cases[i].filter, &err))
                fail_msg("%s", err.text);
            assert_memory_equal(out.pixel, cases[i].want, to);
            hd_image_release(&out);
        }
}

/* Computed with Pillow 13.0.0: Image.fromarray(noise).resize((to_width, to_height), filter); with the rows
   first in two steps, bicubic. */
static void resizing_equals_pillow_bit_for_bit(void **state)
{
    (void)state;
    static const struct {
        int width, height, channels, to_width, to_height;
        uint64_t want[HD_FILTERS], rows_first;
    } cases[] = {
        {5,
         4,
         1,
         9,
         3,
         {0x2d9880a4fd04cdc8u, 0xb281ff59a69f9bbbu, 0xb3af5c5fb17b2022u, 0x664701ea3fea5650u,
          0x8ca93e476c32ad02u, 0x81e9330636dac3c7u},
         0xf12f4cb8ac15504fu},
        {40,
         30,
         3,
         16,
         16,
         {0xd174cdb2206abce4u, 0xb0b9d71d23511693u, 0xfed65fd04c6916a6u, 0x9ca6a0871a42745du,
          0x82fd2694317e6858u, 0x513d2153e3c2ed4fu},
         0x9ca6a0871a42745du},
        {31,
         50,
         3,
         31,
         20,
         {0x5c4a99b636877d3fu, 0x7b172152bce14bc0u, 0x2450459de383681fu, 0xc8da72a1a45b3535u,
          0x61719938f1fff8b3u, 0x8a9fd28e6270d572u},
         0xc8da72a1a45b3535u},
        {31,
         50,
         1,
         20,
         50,
         {0x3d479b9235785afau, 0x140dc1fb249a0492u, 0x517fcadf6a48398du, 0x6924e6b5af81e89fu,
          0xe0fd86662ea4bfcdu, 0xd39da1419409a6a8u},
         0x6924e6b5af81e89fu},
        {100,
         20,
         3,
         13,
         37,
         {0x59a813eb29fdb266u, 0x9954a09f7b66abc5u, 0xac882fbbe5c8e536u, 0xaa332a8421718869u,
          0x234322e018283490u, 0xe72acfff412aca49u},
         0xaa332a8421718869u},
        {20,
         100,
         3,
         37,
         13,
         {0x451f45b6332f24d0u, 0x10937ea0bf140670u, 0x2c77019b00213035u, 0xfbe06f6ccca0f91cu,
          0xdf4664f3cf5223d0u, 0xe3391f60f3947996u},
         0x18c8c672e41c3fe7u},
        {37,
         61,
         3,
         64,
         64,
         {0xda7003a6c3b2106fu, 0xda16507c036861cfu, 0x6e6647d0ec73aa99u, 0xbee200dff112d8efu,
          0xda7003a6c3b2106fu, 0x6bf00e6d33530bbbu},
         0xbee200dff112d8efu},
        {64,
         48,
         1,
         3,
         2,
         {0xc65f4c9221eadacfu, 0x76e7cdc60ea7f2e0u, 0x53a8e48a3b336d8fu, 0x53a8e48a3b336d8fu,
          0x54dd3a8170c61f31u, 0xa1e8ab21952d936u},
         0x53a8e48a3b336d8fu},
        {12,
         200,
         3,
         7,
         9,
         {0xe8375560542abb5bu, 0xbbceee812afba044u, 0x73cec76c4eb72aaau, 0x6bd3a960bbe2bd75u,
          0x14e3b2f7118e8d3du, 0x5b9aebdea10bf1bdu},
         0xb61647257e13685cu},
        {50,
         38,
         3,
         22,
         22,
         {0xf8f08d186aef2678u, 0xc2b2c09efd397ba1u, 0xc60e8ae1a22600e1u, 0x66943aab3750218u,
          0x831aa3471029c0bdu, 0x26686bc678d93a1fu},
         0x66943aab3750218u},
        {1,
         1,
         3,
         5,
         4,
         {0x8ff4e4fdba312285u, 0x8ff4e4fdba312285u, 0x8ff4e4fdba312285u, 0x8ff4e4fdba312285u,
          0x8ff4e4fdba312285u, 0x8ff4e4fdba312285u},
         0x8ff4e4fdba312285u},
        {97,
         89,
         1,
         1,
         1,
         {0xaf63bb4c8601b479u, 0xaf63f34c860213a1u, 0xaf63f34c860213a1u, 0xaf63f34c860213a1u,
          0xaf63f34c860213a1u, 0xaf63f34c860213a1u},
         0xaf63f34c860213a1u},
        {60,
         120,
         1,
         60,
         40,
         {0xef143cdfa144e42bu, 0xb62f60146cf94b0fu, 0x45a58422ff821bf1u, 0x5c0d6e2153fdd57bu,
          0x15b71765d5c175b2u, 0x78c7eaf91d00834du},
         0x5c0d6e2153fdd57bu},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_image out, in = picture(cases[i].width, cases[i].height, cases[i].channels, (uint32_t)i + 1);
        int width = cases[i].to_width, height = cases[i].to_height;
        for (int f = 0; f < HD_FILTERS; f++) {
            if (hd_image_resize(&out, &in, width, height, (hd_filter)f, &err)) fail_msg("%s", err.text);
            if (hash_of(&out) != cases[i].want[f]) fail_msg("case %zu, filter %d differs", i, f);
            hd_image_release(&out);
        }
        if (hd_image_resize_rows_first(&out, &in, width, height, HD_FILTER_BICUBIC, &err))
            fail_msg("%s", err.text);
        assert_true(hash_of(&out) == cases[i].rows_first);
        hd_image_release(&out);
        hd_image_release(&in);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    static const int sizes[][2] = {{0, 5}, {5, -1}, {70000, 1}, {65535, 65535}};
    hd_image out, in = picture(3, 3, 3, 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        hd_err err = {0};
        hd_status s = hd_image_resize(&out, &in, sizes[i][0], sizes[i][1], HD_FILTER_BILINEAR, &err);
        assert_true(s == HD_EFORMAT || s == HD_ELIMIT);
        assert_null(out.pixel);
        assert_int_not_equal(hd_image_crop(&out, &in, 0, 0, sizes[i][0], sizes[i][1], NULL), HD_OK);
    }
    assert_int_equal(hd_image_resize(&out, &in, 2, 2, HD_FILTERS, NULL), HD_EARG);
    hd_image_release(&in);
}

static void a_part_is_zero_outside_of_the_picture(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_image out, in = picture(6, 5, 3, 9);
    for (int y = -7; y < 7; y++)
        for (int x = -9; x < 8; x++) {
            if (hd_image_crop(&out, &in, x, y, 4, 3, &err)) fail_msg("%s", err.text);
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 4; i++) {
                    bool inside = x + i >= 0 && x + i < 6 && y + j >= 0 && y + j < 5;
                    for (int c = 0; c < 3; c++)
                        assert_int_equal(out.pixel[(j * 4 + i) * 3 + c],
                                         inside ? in.pixel[((y + j) * 6 + x + i) * 3 + c] : 0);
                }
            hd_image_release(&out);
        }
    hd_image_release(&in);
}

static void grey_is_what_pillow_calls_L(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_image im = picture(40, 30, 3, 77);
    assert_int_equal(hd_image_channels(&im, 1, &err), HD_OK);
    assert_int_equal(im.channels, 1);
    assert_true(hash_of(&im) == 0x708a5384fcf1f261u);
    assert_int_equal(hd_image_channels(&im, 3, &err), HD_OK);
    for (size_t i = 0; i < 1200; i++) assert_true(im.pixel[3 * i] == im.pixel[3 * i + 1]);
    assert_int_equal(hd_image_channels(&im, 1, &err), HD_OK);
    assert_true(hash_of(&im) == 0x708a5384fcf1f261u);
    hd_image_release(&im);
}

/* -- what a model reads -- */

/* Of transformers: get_size_with_aspect_ratio. */
static void the_size_keeps_the_shape(void **state)
{
    (void)state;
    static const struct {
        int height, width, shortest, longest, to_height, to_width;
    } cases[] = {{240, 320, 800, 1333, 800, 1066}, {200, 500, 800, 1333, 533, 1333},
                 {500, 200, 800, 1333, 1333, 533}, {401, 900, 800, 1333, 594, 1333},
                 {800, 900, 800, 1333, 800, 900},  {375, 500, 224, 0, 224, 298},
                 {500, 333, 256, 0, 384, 256}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int height, width;
        hd_image_prepare p = {.resize = true, .shortest = cases[i].shortest, .longest = cases[i].longest};
        assert_int_equal(hd_image_prepared_size(&height, &width, &p, cases[i].height, cases[i].width, NULL),
                         HD_OK);
        assert_int_equal(height, cases[i].to_height);
        assert_int_equal(width, cases[i].to_width);
    }
    int h, w;
    hd_image_prepare p = {.resize = true, .shortest = 800};
    assert_int_equal(hd_image_prepared_size(&h, &w, &p, 1, 60000, NULL), HD_ELIMIT);
    p.longest = 1;
    assert_int_equal(hd_image_prepared_size(&h, &w, &p, 1, 3, NULL), HD_ELIMIT);
}

/* Of transformers: center_crop, which puts a smaller picture into zeros, one pixel nearer to the end. */
static void the_middle_is_cut_out_or_filled_up(void **state)
{
    (void)state;
    static const struct {
        int from, to, first; /* of the picture, in the result */
    } cases[] = {{7, 4, -1}, {8, 4, -2}, {4, 7, 2}, {4, 8, 2}, {5, 5, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_image out, in = picture(cases[i].from, 2, 3, 3);
        hd_image_prepare p = {.channels = 3, .crop_width = cases[i].to, .crop_height = 1};
        if (hd_image_prepared(&out, &in, &p, &err)) fail_msg("%s", err.text);
        assert_int_equal(out.height, 1);
        assert_int_equal(out.width, cases[i].to);
        for (int x = 0; x < out.width; x++) {
            int from = x - cases[i].first;
            assert_int_equal(out.pixel[3 * x], from >= 0 && from < in.width ? in.pixel[3 * from] : 0);
        }
        hd_image_release(&out);
        hd_image_release(&in);
    }
}

static void a_picture_is_prepared_step_by_step(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_image want, got, in = picture(40, 30, 1, 4), copy = picture(40, 30, 1, 4);
    hd_image_prepare p = {
        .channels = 3, .resize = true, .height = 16, .width = 16, .filter = HD_FILTER_BICUBIC};
    if (hd_image_prepared(&got, &in, &p, &err)) fail_msg("%s", err.text);
    assert_true(hash_of(&in) == hash_of(&copy)); /* untouched */
    assert_int_equal(hd_image_resize(&want, &in, 16, 16, HD_FILTER_BICUBIC, &err), HD_OK);
    assert_int_equal(hd_image_channels(&want, 3, &err), HD_OK);
    assert_true(hash_of(&want) == hash_of(&got));
    hd_image_release(&want);
    hd_image_release(&got);
    hd_image_release(&copy);
    p = (hd_image_prepare){.channels = 1}; /* nothing to do: a copy */
    if (hd_image_prepared(&got, &in, &p, &err)) fail_msg("%s", err.text);
    assert_ptr_not_equal(got.pixel, in.pixel);
    assert_true(hash_of(&in) == hash_of(&got));
    hd_image_release(&got);
    hd_image_release(&in);
}

/* Of transformers: rescale, then normalize. */
static void a_byte_is_worth_what_transformers_says(void **state)
{
    (void)state;
    hd_real worth[3 * 256];
    const hd_image_prepare p = {.channels = 3,
                                .rescale = 1 / 255.0,
                                .mean = {0.485f, 0.456f, 0.406f},
                                .deviation = {0.229f, 0.224f, 0.225f}};
    hd_image_worth(worth, &p);
    assert_true((float)worth[7] == -1.998030662536621f);
    assert_true((float)worth[2 * 256 + 200] == 1.6813944578170776f);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_image in = picture(20, 90, 1, 4);
    const hd_image_prepare p = {.channels = 3,
                                .resize = true,
                                .height = 16,
                                .width = 17,
                                .filter = HD_FILTER_LANCZOS,
                                .crop_width = 5};
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (bool failed = true; failed; n++) {
        hd_err err = {0};
        hd_image out;
        hd_mem_fail_at(n);
        hd_status s = hd_image_prepared(&out, &in, &p, &err);
        hd_mem_fail_at(0);
        failed = s != HD_OK;
        if (failed) assert_int_equal(s, HD_ENOMEM);
        hd_image_release(&out);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_true(n > 8);
    hd_image_release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resizing_gives_the_numbers_of_the_reference),
        cmocka_unit_test(resizing_equals_pillow_bit_for_bit),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(a_part_is_zero_outside_of_the_picture),
        cmocka_unit_test(grey_is_what_pillow_calls_L),
        cmocka_unit_test(the_size_keeps_the_shape),
        cmocka_unit_test(the_middle_is_cut_out_or_filled_up),
        cmocka_unit_test(a_picture_is_prepared_step_by_step),
        cmocka_unit_test(a_byte_is_worth_what_transformers_says),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
