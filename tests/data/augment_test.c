/* Augmentation: every option changes pictures, by its key alone; color operations equal Pillow's; and a box
   is still around its rectangle when the picture was moved. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/image/augment.h"
#include "data/image/augment/color.h"
#include "data/image/augment/mix.h"
#include "data/image/augment/random_op.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static hd_image picture_of(int width, int height, int channels)
{
    hd_image im;
    assert_int_equal(hd_image_make(&im, width, height, channels, "test", NULL), HD_OK);
    uint8_t *p = im.pixel;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++)
                *p++ = (uint8_t)((x * 37 + y * 91 + c * 53 + x * y * 7) % 200 + 20);
    return im;
}

static uint32_t hash_of(const hd_image *im)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < hd_image_bytes(im); i++) h = (h ^ im->pixel[i]) * 16777619u;
    return h;
}

static bool equal(const hd_image *a, const hd_image *b)
{
    return a->width == b->width && a->height == b->height && a->channels == b->channels &&
           !memcmp(a->pixel, b->pixel, hd_image_bytes(a));
}

static hd_image_prepare prepare_of(int channels, int height, int width)
{
    return (hd_image_prepare){.channels = channels,
                              .resize = height > 0,
                              .height = height,
                              .width = width,
                              .filter = HD_FILTER_BILINEAR,
                              .rescale = 1.0 / 255,
                              .deviation = {1, 1, 1}};
}

static hd_image augmented(const hd_image *in, hd_box *box, size_t *boxes, const hd_augment *a,
                          const hd_image_prepare *p, uint64_t key)
{
    hd_image out;
    hd_err err = {0};
    if (hd_augmented(&out, in, box, boxes, a, p, key, &err)) fail_msg("%s", err.text);
    return out;
}

/* -- color -- */

static hd_status apply(hd_image *im, const char *name, float x)
{
    const struct {
        const char *name;
        void (*fn)(hd_image *, float);
    } of[] = {{"brightness", hd_color_brightness},
              {"contrast", hd_color_contrast},
              {"saturation", hd_color_saturation}};
    for (size_t i = 0; i < COUNT_OF(of); i++)
        if (!strcmp(of[i].name, name)) of[i].fn(im, x);
    if (!strcmp(name, "sharpness")) return hd_color_sharpness(im, x, NULL);
    if (!strcmp(name, "autocontrast")) hd_color_autocontrast(im);
    if (!strcmp(name, "equalize")) hd_color_equalize(im);
    if (!strcmp(name, "solarize")) hd_color_solarize(im, (int)x);
    if (!strcmp(name, "posterize")) hd_color_posterize(im, (int)x);
    return HD_OK;
}

/* Hashes of what Pillow 13.0.0 makes of the same pictures with ImageEnhance and ImageOps. */
static void color_equals_pillow(void **state)
{
    (void)state;
    static const int shape[3][3] = {{23, 17, 3}, {23, 17, 1}, {40, 30, 3}};
    static const struct {
        const char *name;
        float x;
        uint32_t hash[3];
    } golden[] = {
        {"brightness", 1.37f, {0xa06f1867, 0x4433246b, 0xe9fe33ab}},
        {"brightness", 0.4f, {0xf23c9a40, 0x18ff89ce, 0x9738c1d}},
        {"contrast", 1.9f, {0x8dc37e1c, 0xe8f6e70c, 0x3844d4d5}},
        {"contrast", 0.3f, {0xd51540cb, 0x91bff3ed, 0xa2d135f5}},
        {"saturation", 1.8f, {0xdf98067a, 0xf2e3498, 0x47472584}},
        {"saturation", 0.25f, {0x5b67d318, 0xf2e3498, 0x27bf2e4b}},
        {"sharpness", 1.9f, {0x1909393f, 0xe98ad235, 0x7bdf139a}},
        {"sharpness", 0.1f, {0x6390617f, 0x3bb1ff1c, 0x34976a76}},
        {"autocontrast", 0, {0x1854ac37, 0x4d84d5cd, 0x33756b15}},
        {"equalize", 0, {0x689cbbf4, 0xc5892cf7, 0x1a36e333}},
        {"solarize", 100, {0xcefeaea5, 0x28fb28fa, 0x911596de}},
        {"posterize", 3, {0x33adf2f, 0x19ee30c7, 0xafd05825}},
    };
    for (size_t i = 0; i < COUNT_OF(golden); i++)
        for (int k = 0; k < 3; k++) {
            hd_image im = picture_of(shape[k][0], shape[k][1], shape[k][2]);
            assert_int_equal(apply(&im, golden[i].name, golden[i].x), HD_OK);
            if (hash_of(&im) != golden[i].hash[k])
                fail_msg("%s by %g of %d x %d x %d", golden[i].name, (double)golden[i].x, shape[k][0],
                         shape[k][1], shape[k][2]);
            hd_image_release(&im);
        }
}

static void hue_turns_colors_and_keeps_grey(void **state)
{
    (void)state;
    uint8_t bytes[6] = {200, 40, 10, 90, 90, 90};
    hd_image im = {.width = 2, .height = 1, .channels = 3, .pixel = bytes};
    hd_color_hue(&im, 1.0f / 3); /* a third of the circle moves the channels on */
    const uint8_t expected[6] = {10, 200, 40, 90, 90, 90};
    assert_memory_equal(bytes, expected, 6);
}

/* -- options -- */

static const struct {
    const char *name;
    hd_augment a;
} option[] = {
    {"flip", {.flip = true}},
    {"flip_vertical", {.flip_vertical = true}},
    {"turns", {.turns = true}},
    {"crop", {.crop = 0.3f}},
    {"aspect", {.crop = 0.5f, .aspect = 2}},
    {"scale", {.scale_low = 0.6f, .scale_high = 1.6f}},
    {"shift", {.shift = 3}},
    {"rotate", {.rotate = 20}},
    {"color", {.color = 0.4f}},
    {"random ops", {.random_ops = 2, .magnitude = 9}},
    {"erase", {.erase = 1}},
    {"hue", {.hue = 0.3f}}, /* the last: of colors alone */
};

static void each_option_changes_pictures_by_its_key_alone(void **state)
{
    (void)state;
    static const int shape[][3] = {{28, 28, 1}, {32, 32, 3}, {20, 33, 3}, {9, 5, 1}};
    for (size_t k = 0; k < COUNT_OF(shape); k++) {
        hd_image in = picture_of(shape[k][0], shape[k][1], shape[k][2]), before;
        hd_image_prepare p = prepare_of(shape[k][2], 16, 16);
        hd_image plain = augmented(&in, NULL, NULL, NULL, &p, 0);
        assert_int_equal(hd_image_crop(&before, &in, 0, 0, in.width, in.height, NULL), HD_OK);
        for (size_t i = 0; i < COUNT_OF(option) - (shape[k][2] == 1); i++) {
            int changed = 0, different = 0;
            hd_image last = {0};
            for (uint64_t key = 1; key <= 24; key++) {
                hd_image a = augmented(&in, NULL, NULL, &option[i].a, &p, key),
                         b = augmented(&in, NULL, NULL, &option[i].a, &p, key);
                assert_true(equal(&a, &b));
                assert_int_equal(a.width, 16);
                assert_int_equal(a.height, 16);
                changed += !equal(&a, &plain);
                different += last.pixel && !equal(&a, &last);
                hd_image_release(&b);
                hd_image_release(&last);
                last = a;
            }
            hd_image_release(&last);
            if (changed < 6 || different < 6) fail_msg("%s does nothing", option[i].name);
        }
        hd_image none = augmented(&in, NULL, NULL, &(hd_augment){0}, &p, 1);
        assert_true(equal(&none, &plain));
        assert_true(equal(&in, &before));
        hd_image_release(&none);
        hd_image_release(&plain);
        hd_image_release(&before);
        hd_image_release(&in);
    }
}

/* ... the part cut out before. */
static void a_part_that_is_cut_out_before_gives_the_same(void **state)
{
    (void)state;
    const hd_image_prepare p = {
        .channels = 3, .resize = true, .height = 20, .width = 30, .filter = HD_FILTER_BILINEAR, .rescale = 1};
    const hd_augment a = {.flip = true, .crop = 0.1f, .color = 0.3f, .random_ops = 2, .magnitude = 9};
    hd_image in = {0};
    hd_err err = {0};
    assert_int_equal(hd_image_make(&in, 61, 47, 3, "x", &err), HD_OK);
    for (size_t i = 0; i < hd_image_bytes(&in); i++) in.pixel[i] = (uint8_t)(i * 37 + i * i % 101);
    assert_true(hd_augment_cuts(&a) && !hd_augment_cuts(NULL) &&
                !hd_augment_cuts(&(hd_augment){.flip = true}) &&
                !hd_augment_cuts(&(hd_augment){.crop = 0.5f, .turns = true}));
    for (uint64_t key = 0; key < 200; key++) {
        hd_image whole, part, cut;
        assert_int_equal(hd_augmented(&whole, &in, NULL, NULL, &a, &p, key, &err), HD_OK);
        hd_image_part r = hd_augment_part(&a, &p, key, in.width, in.height);
        assert_int_equal(hd_image_crop(&cut, &in, r.x, r.y, r.width, r.height, &err), HD_OK);
        assert_int_equal(hd_augmented_part(&part, &cut, &a, &p, key, &err), HD_OK);
        assert_int_equal(hd_image_bytes(&whole), hd_image_bytes(&part));
        assert_memory_equal(whole.pixel, part.pixel, hd_image_bytes(&whole));
        hd_image_release(&whole);
        hd_image_release(&part);
        hd_image_release(&cut);
    }
    hd_image_release(&in);
}

static void one_pixel_is_enough(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2)
        for (size_t i = 0; i < COUNT_OF(option); i++)
            for (uint64_t key = 0; key < 20; key++) {
                hd_image in = picture_of(1, 1, channels);
                hd_image_prepare p = prepare_of(channels, key % 2 ? 1 : 0, key % 2 ? 1 : 0);
                hd_image out = augmented(&in, NULL, NULL, &option[i].a, &p, key);
                assert_int_equal(out.width * out.height, 1);
                hd_image_release(&out);
                hd_image_release(&in);
            }
}

static void each_random_op_changes_pictures(void **state)
{
    (void)state;
    static const char *const name[] = {
#define X(name, most, sign) #name,
        HD_RANDOM_OP_LIST(X)
#undef X
    };
    for (int op = 0; op < HD_RANDOM_OPS; op++)
        for (int sign = -1; sign <= 1; sign += 2) {
            hd_image im = picture_of(20, 16, 3), plain = picture_of(20, 16, 3);
            im.pixel[7] = plain.pixel[7] = 9; /* contrast of one channel that can be stretched */
            assert_int_equal(hd_random_op_apply(&im, (hd_boxes){0}, (hd_random_op)op, 9 * sign, NULL), HD_OK);
            if (equal(&im, &plain) != (op == HD_RANDOM_OP_identity)) fail_msg("%s", name[op]);
            hd_image_release(&im);
            hd_image_release(&plain);
        }
}

/* -- boxes -- */

enum { W = 60, H = 44 };

static hd_image drawn(hd_box box)
{
    hd_image im;
    assert_int_equal(hd_image_make(&im, W, H, 1, "test", NULL), HD_OK);
    memset(im.pixel, 0, hd_image_bytes(&im));
    for (int y = (int)box.y; y < (int)(box.y + box.height); y++)
        memset(im.pixel + y * W + (int)box.x, 255, (size_t)box.width);
    return im;
}

/* The pixels that are at least half white. */
static hd_box found(const hd_image *im)
{
    int x0 = im->width, y0 = im->height, x1 = 0, y1 = 0;
    for (int y = 0; y < im->height; y++)
        for (int x = 0; x < im->width; x++)
            if (im->pixel[y * im->width + x] >= 128) {
                x0 = x < x0 ? x : x0, y0 = y < y0 ? y : y0;
                x1 = x + 1 > x1 ? x + 1 : x1, y1 = y + 1 > y1 ? y + 1 : y1;
            }
    return (hd_box){.x = (float)x0, .y = (float)y0, .width = (float)(x1 - x0), .height = (float)(y1 - y0)};
}

/* Half a pixel of each side, and what a slanted corner lacks. */
static void assert_box(hd_box got, hd_box pixels, float slack, const char *what)
{
    if (fabsf(got.x - pixels.x) > slack || fabsf(got.y - pixels.y) > slack ||
        fabsf(got.x + got.width - pixels.x - pixels.width) > slack ||
        fabsf(got.y + got.height - pixels.y - pixels.height) > slack)
        fail_msg("%s: the box is %g %g %g %g, the pixels are %g %g %g %g", what, (double)got.x, (double)got.y,
                 (double)got.width, (double)got.height, (double)pixels.x, (double)pixels.y,
                 (double)pixels.width, (double)pixels.height);
}

static void boxes_move_with_their_pixels(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_augment a;
        int height, width; /* of the result; 0: its own */
        float slack;
    } row[] = {
        {"flip", {.flip = true}, 0, 0, 0.01f},
        {"flip vertical", {.flip_vertical = true}, 0, 0, 0.01f},
        {"turns", {.turns = true}, 0, 0, 0.01f},
        {"turns of a fixed size", {.turns = true}, 50, 80, 1.1f},
        {"crop", {.crop = 0.4f}, 32, 32, 1.1f},
        {"crop of its own size", {.crop = 0.5f, .aspect = 1.5f}, 0, 0, 1.1f},
        {"scale", {.scale_low = 0.6f, .scale_high = 1.5f}, 0, 0, 1.1f},
        {"scale of a fixed size", {.scale_low = 0.7f, .scale_high = 1.4f}, 64, 48, 1.1f},
        {"shift", {.shift = 5}, 0, 0, 0.01f},
        {"rotate", {.rotate = 30}, 0, 0, 1.6f},
        {"all", {.flip = true, .turns = true, .shift = 3, .scale_low = 0.8f, .scale_high = 1.2f}, 0, 0, 1.1f},
    };
    const hd_box box = {.label = 7, .x = 21, .y = 14, .width = 22, .height = 13};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        hd_image in = drawn(box);
        hd_image_prepare p = prepare_of(1, row[i].height, row[i].width);
        int moved = 0, kept = 0;
        for (uint64_t key = 1; key <= 60; key++) {
            hd_box now = box;
            size_t boxes = 1;
            hd_image out = augmented(&in, &now, &boxes, &row[i].a, &p, key);
            hd_box pixels = found(&out);
            hd_image_release(&out);
            if (!boxes) continue;
            kept++;
            moved += fabsf(now.x - box.x) + fabsf(now.y - box.y) > 0.5f;
            assert_int_equal(now.label, 7);
            assert_box(now, pixels, row[i].slack, row[i].name);
        }
        if (moved < 15 || kept < 50) fail_msg("%s: %d of 60 moved, %d kept", row[i].name, moved, kept);
        hd_image_release(&in);
    }
}

static void boxes_move_with_random_ops(void **state)
{
    (void)state;
    static const hd_random_op ops[] = {HD_RANDOM_OP_rotate, HD_RANDOM_OP_shear_x, HD_RANDOM_OP_shear_y,
                                       HD_RANDOM_OP_translate_x, HD_RANDOM_OP_translate_y};
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        for (int m = -5; m <= 5; m += 2) {
            hd_box box = {.x = 22, .y = 16, .width = 16, .height = 12}, now = box;
            hd_image im = drawn(box);
            assert_int_equal(hd_random_op_apply(&im, (hd_boxes){&now, 1}, ops[i], m, NULL), HD_OK);
            assert_box(now, found(&im), 1.6f, "random op");
            hd_image_release(&im);
        }
}

static void a_crop_keeps_the_center_of_a_box(void **state)
{
    (void)state;
    hd_image in = picture_of(W, H, 1);
    hd_image_prepare p = prepare_of(1, 24, 24);
    const hd_augment crops[] = {{.crop = 0.1f}, {.scale_low = 2, .scale_high = 4}};
    int lost = 0;
    for (size_t i = 0; i < COUNT_OF(crops); i++)
        for (uint64_t key = 0; key < 100; key++) {
            hd_box box[3] = {{.x = 0, .y = 0, .width = 4, .height = 3},
                             {.label = 1, .x = 50, .y = 35, .width = 10, .height = 9},
                             {.label = 2, .x = 30, .y = 3, .width = 9, .height = 5}};
            size_t boxes = 3;
            hd_image out = augmented(&in, box, &boxes, &crops[i], &p, key);
            assert_true(boxes >= 1 && boxes <= 3);
            lost += boxes < 3;
            for (size_t k = 0; k < boxes; k++) {
                assert_true(box[k].x >= 0 && box[k].y >= 0 && box[k].width > 0 && box[k].height > 0);
                assert_true(box[k].x + box[k].width <= 24 && box[k].y + box[k].height <= 24);
            }
            hd_image_release(&out);
        }
    assert_true(lost > 100);
    hd_image_release(&in);
}

static void boxes_follow_a_picture_that_is_only_prepared(void **state)
{
    (void)state;
    const hd_box box = {.x = 20, .y = 12, .width = 24, .height = 20};
    hd_image in = drawn(box);
    hd_image_prepare p = prepare_of(1, 0, 0);
    p.resize = true, p.shortest = 66, p.crop_height = 60, p.crop_width = 101; /* wider than it gets */
    hd_box now = box;
    size_t boxes = 1;
    hd_image out = augmented(&in, &now, &boxes, NULL, &p, 0);
    assert_int_equal(out.width, 101);
    assert_int_equal(out.height, 60);
    assert_box(now, found(&out), 0.8f, "prepared");
    hd_image_release(&out);
    hd_image_release(&in);
}

/* -- mixing -- */

static void mixup_blends_both_ways(void **state)
{
    (void)state;
    int mixed = 0;
    for (uint64_t key = 0; key < 20; key++) {
        hd_image a = picture_of(6, 5, 3), b = picture_of(6, 5, 3), c = picture_of(6, 5, 3);
        float share;
        memset(b.pixel, 250, hd_image_bytes(&b));
        hd_augment_mix(&a, &b, &(hd_augment){.mixup = 1}, key, &share);
        assert_true(share >= 0 && share <= 1);
        mixed += share > 0.05f && share < 0.95f;
        for (size_t i = 0; i < hd_image_bytes(&a); i++) {
            float x = c.pixel[i];
            assert_true(fabsf((float)a.pixel[i] - (share * x + (1 - share) * 250)) <= 0.51f);
            assert_true(fabsf((float)b.pixel[i] - (share * 250 + (1 - share) * x)) <= 0.51f);
        }
        hd_image_release(&a);
        hd_image_release(&b);
        hd_image_release(&c);
    }
    assert_true(mixed > 10);
}

static void cutmix_exchanges_what_the_share_says(void **state)
{
    (void)state;
    int mixed = 0;
    for (uint64_t key = 0; key < 40; key++) {
        hd_image a = picture_of(12, 9, 1), b = picture_of(12, 9, 1);
        float share;
        memset(a.pixel, 10, hd_image_bytes(&a));
        memset(b.pixel, 90, hd_image_bytes(&b));
        hd_augment_mix(&a, &b, &(hd_augment){.cutmix = 1}, key, &share);
        int own = 0, others = 0;
        for (size_t i = 0; i < hd_image_bytes(&a); i++) {
            own += a.pixel[i] == 10, others += b.pixel[i] == 90;
            assert_int_equal(a.pixel[i] + b.pixel[i], 100);
        }
        assert_int_equal(own, others);
        assert_true(fabsf(share - (float)own / (12 * 9)) < 1e-6f);
        mixed += own < 12 * 9;
        hd_image_release(&a);
        hd_image_release(&b);
    }
    assert_true(mixed > 20);
}

static void only_equal_sizes_are_mixed(void **state)
{
    (void)state;
    hd_image a = picture_of(12, 9, 1), b = picture_of(9, 12, 1);
    uint32_t before = hash_of(&a);
    float share = 0;
    hd_augment_mix(&a, &b, &(hd_augment){.mixup = 1, .cutmix = 1}, 3, &share);
    assert_true(share == 1);
    assert_int_equal(hash_of(&a), before);
    hd_image_release(&a);
    hd_image_release(&b);
}

/* Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)); 20,000 draws: three standard errors. */
static void shares_have_the_distribution_they_should(void **state)
{
    (void)state;
    static const double alpha[] = {0.01, 0.2, 0.8, 1, 4};
    for (size_t k = 0; k < COUNT_OF(alpha); k++) {
        hd_rng rng = hd_rng_make(5, k);
        double sum = 0, square = 0;
        const int n = 20000;
        for (int i = 0; i < n; i++) {
            double x = hd_mix_beta(&rng, alpha[k]);
            assert_true(x >= 0 && x <= 1);
            sum += x, square += (x - 0.5) * (x - 0.5);
        }
        double variance = 1 / (4 * (2 * alpha[k] + 1));
        assert_true(fabs(sum / n - 0.5) < 3 * sqrt(variance / n));
        assert_true(fabs(square / n - variance) < 0.004);
    }
}

/* -- failures -- */

static void impossible_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        hd_augment a;
        const char *text;
    } row[] = {
        {{.crop = 1.5f}, "augmentation: crop is 1.5: at least 0, at most 1"},
        {{.rotate = -1}, "augmentation: rotate is -1: at least 0, at most 180"},
        {{.mixup = NAN}, "augmentation: mixup is nan: at least 0, at most 100"},
        {{.aspect = 0.5f}, "augmentation: aspect is 0.5: at least 1"},
        {{.scale_low = 2, .scale_high = 1}, "augmentation: scale from 2 to 1: two factors in order"},
        {{.scale_high = 1}, "augmentation: scale from 0 to 1: two factors in order"},
        {{.crop = 0.5f, .scale_low = 1, .scale_high = 2},
         "augmentation: crop and scale both choose a part: give one of them"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        hd_err err = {0};
        assert_int_equal(hd_augment_check(&row[i].a, &err), HD_EARG);
        assert_string_equal(err.text, row[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(option); i++)
        assert_int_equal(hd_augment_check(&option[i].a, NULL), HD_OK);
}

static void memory_that_is_missing_leaves_nothing_behind(void **state)
{
    (void)state;
    hd_image in = picture_of(30, 20, 3);
    hd_image_prepare p = prepare_of(1, 12, 12);
    const hd_augment all = {.flip = true,
                            .turns = true,
                            .crop = 0.5f,
                            .shift = 2,
                            .rotate = 9,
                            .color = 0.5f,
                            .hue = 0.1f,
                            .random_ops = 4,
                            .magnitude = 9,
                            .erase = 1};
    for (uint64_t key = 0; key < 4; key++) {
        hd_status s = HD_ENOMEM;
        for (size_t n = 1; s; n++) {
            const size_t before = hd_mem_now().blocks;
            hd_image out = {0};
            hd_err err = {0};
            hd_mem_fail_at(n);
            s = hd_augmented(&out, &in, NULL, NULL, &all, &p, key, &err);
            hd_mem_fail_at(0);
            hd_image_release(&out);
            assert_int_equal(hd_mem_now().blocks, before);
            assert_true(s == HD_OK || s == HD_ENOMEM);
        }
    }
    hd_image_release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(color_equals_pillow),
        cmocka_unit_test(hue_turns_colors_and_keeps_grey),
        cmocka_unit_test(each_option_changes_pictures_by_its_key_alone),
        cmocka_unit_test(a_part_that_is_cut_out_before_gives_the_same),
        cmocka_unit_test(one_pixel_is_enough),
        cmocka_unit_test(each_random_op_changes_pictures),
        cmocka_unit_test(boxes_move_with_their_pixels),
        cmocka_unit_test(boxes_move_with_random_ops),
        cmocka_unit_test(a_crop_keeps_the_center_of_a_box),
        cmocka_unit_test(boxes_follow_a_picture_that_is_only_prepared),
        cmocka_unit_test(mixup_blends_both_ways),
        cmocka_unit_test(cutmix_exchanges_what_the_share_says),
        cmocka_unit_test(only_equal_sizes_are_mixed),
        cmocka_unit_test(shares_have_the_distribution_they_should),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(memory_that_is_missing_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
