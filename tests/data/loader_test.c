/* Batches of pictures: the same bytes whatever the threads and the way they are asked for; failures belong to
   the batch that needs the file. Run it under the thread sanitizer as well. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "data/image/loader.h"
#include "outcome.h"
#include "scratch.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { COUNT = 23, SIDE = 12, BATCH = 6 };

static hd_image_set set;
static hd_vocab labels;

static void put_parts(const char *path, const void *a, size_t size_a, const void *b, size_t size_b)
{
    uint8_t all[SIDE * SIDE * 3 * COUNT + 64];
    memcpy(all, a, size_a);
    memcpy(all + size_a, b, size_b);
    put_bytes(path, all, size_a + size_b);
}

/* Values of picture i begin at 10 i. */
static int open_idx(void **state)
{
    uint8_t pixel[SIDE * SIDE * 3 * COUNT], label[COUNT];
    if (scratch_make(state)) return -1;
    const uint8_t head[] = {0, 0, 8, 4, 0, 0, 0, COUNT, 0, 0, 0, SIDE, 0, 0, 0, SIDE, 0, 0, 0, 3};
    const uint8_t label_head[] = {0, 0, 8, 1, 0, 0, 0, COUNT};
    for (size_t i = 0; i < sizeof pixel; i++) pixel[i] = (uint8_t)(i / (SIDE * SIDE * 3) * 10 + i % 7);
    for (int i = 0; i < COUNT; i++) label[i] = (uint8_t)(i % 4);
    put_parts(at("images"), head, sizeof head, pixel, sizeof pixel);
    put_parts(at("labels"), label_head, sizeof label_head, label, sizeof label);
    return (int)hd_image_set_idx(&set, &labels, at("images"), at("labels"), NULL);
}

static int close_idx(void **state)
{
    hd_image_set_release(&set);
    hd_vocab_release(&labels);
    return scratch_remove(state);
}

static const hd_image_prepare prepare = {.channels = 3,
                                         .resize = true,
                                         .height = 10,
                                         .width = 8,
                                         .filter = HD_FILTER_BILINEAR,
                                         .rescale = 1.0 / 255,
                                         .deviation = {1, 1, 1}};
static const hd_augment much = {
    .flip = true, .crop = 0.4f, .rotate = 10, .color = 0.3f, .random_ops = 1, .magnitude = 5, .erase = 0.3f};
static const hd_augment mixing = {.shift = 2, .mixup = 0.8f, .cutmix = 1};

static hd_image_loader *loader_of(const hd_image_loader_opt *opt)
{
    hd_image_loader *l = NULL;
    hd_err err = {0};
    if (hd_image_loader_new(&l, opt, &err)) fail_msg("%s", err.text);
    return l;
}

static const hd_image_batch *batch_of(hd_image_loader *l, uint64_t number, size_t from, size_t to)
{
    const hd_image_batch *b = NULL;
    hd_err err = {0};
    if (hd_image_loader_get(l, number, from, to, &b, &err)) fail_msg("%s", err.text);
    assert_int_equal(b->items, to - from);
    return b;
}

static size_t items_of(hd_image_loader *l, uint64_t number)
{
    size_t items;
    hd_image_loader_which(l, number, &items);
    return items;
}

static uint64_t mixed_in(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

/* Of what the caller sees, item by item: how many are asked for at once makes no difference. */
static uint64_t hash_of(uint64_t h, const hd_image_batch *b)
{
    for (size_t i = 0; i < b->items; i++) {
        const size_t bytes = (size_t)(b->size[2 * i] * b->size[2 * i + 1] * b->channels);
        h = mixed_in(h, &b->which[i], sizeof *b->which);
        h = mixed_in(h, &b->size[2 * i], 2 * sizeof *b->size);
        h = mixed_in(h, b->bytes + b->begin[i], bytes);
        if (b->other) h = mixed_in(h, &b->other[i], sizeof *b->other);
        if (b->share) h = mixed_in(h, &b->share[i], sizeof *b->share);
    }
    return h;
}

/* -- order -- */

static void an_epoch_has_every_item_once_in_its_own_order(void **state)
{
    (void)state;
    hd_image_loader *l = loader_of(&(hd_image_loader_opt){
        .set = &set, .prepare = &prepare, .seed = 3, .batch = BATCH, .threads = 2, .keep = 0.1});
    uint32_t first[COUNT];
    assert_int_equal(hd_image_loader_batches(l), 4);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int seen[COUNT] = {0};
        size_t at = 0, same = 0;
        for (uint64_t k = 0; k < 4; k++) {
            size_t items = items_of(l, epoch * 4 + k);
            assert_int_equal(items, k < 3 ? BATCH : COUNT - 3 * BATCH);
            const hd_image_batch *b = batch_of(l, epoch * 4 + k, 0, items);
            for (size_t i = 0; i < items; i++, at++) {
                seen[b->which[i]]++;
                if (!epoch) first[at] = b->which[i];
                same += first[at] == b->which[i];
            }
        }
        for (int i = 0; i < COUNT; i++) assert_int_equal(seen[i], 1);
        assert_true(!epoch || same < COUNT / 2);
    }
    hd_image_loader_free(l);
}

static void in_order_nothing_is_shuffled_or_changed(void **state)
{
    (void)state;
    hd_image_loader *l = loader_of(&(hd_image_loader_opt){
        .set = &set, .prepare = &prepare, .batch = BATCH, .threads = 2, .in_order = true});
    for (uint64_t number = 0; number < 8; number++) {
        const hd_image_batch *b = batch_of(l, number, 0, items_of(l, number));
        assert_null(b->other);
        assert_null(b->box);
        assert_int_equal(b->byte_count, b->items * 10 * 8 * 3);
        for (size_t i = 0; i < b->items; i++) {
            hd_image picture, expected;
            assert_int_equal(b->which[i], number % 4 * BATCH + i);
            assert_int_equal(hd_image_set_picture(&set, b->which[i], &picture, NULL), HD_OK);
            assert_int_equal(hd_image_prepared(&expected, &picture, &prepare, NULL), HD_OK);
            assert_memory_equal(b->bytes + b->begin[i], expected.pixel, 10 * 8 * 3);
            hd_image_release(&picture);
            hd_image_release(&expected);
        }
    }
    hd_image_loader_free(l);
}

/* -- bytes -- */

/* Four processes of parts, each its own way: 0 whole, 1 in halves, 2 item by item. */
static uint64_t two_epochs(const hd_augment *a, int threads, size_t ahead, int parts)
{
    hd_image_loader *l = loader_of(&(hd_image_loader_opt){.set = &set,
                                                          .prepare = &prepare,
                                                          .augment = a,
                                                          .seed = 11,
                                                          .batch = BATCH,
                                                          .threads = threads,
                                                          .ahead = ahead});
    uint64_t h = 14695981039346656037u;
    for (uint64_t number = 0; number < 8; number++) {
        size_t items = items_of(l, number), n = parts == 0 ? 1 : parts == 1 ? 2 : items;
        for (size_t k = 0; k < n; k++)
            h = hash_of(h, batch_of(l, number, items * k / n, items * (k + 1) / n));
    }
    hd_image_loader_free(l);
    return h;
}

static void bytes_are_the_same_whatever_threads_and_parts(void **state)
{
    (void)state;
    const hd_augment *options[] = {NULL, &much, &mixing};
    uint64_t one[3];
    for (size_t k = 0; k < COUNT_OF(options); k++) {
        one[k] = two_epochs(options[k], -1, 1, 0);
        for (int threads = 0; threads <= 4; threads++)
            for (size_t ahead = 1; ahead <= 3; ahead++)
                for (int parts = 0; parts < 3; parts++)
                    assert_true(two_epochs(options[k], threads, ahead, parts) == one[k]);
    }
    assert_true(one[0] != one[1] && one[1] != one[2]);
}

static void any_batch_can_be_asked_for(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {9, 2, 3, 100, 0, 1, 2, 9, 8, 41};
    const hd_image_loader_opt opt = {
        .set = &set, .prepare = &prepare, .augment = &mixing, .seed = 4, .batch = BATCH, .threads = 3};
    hd_image_loader *l = loader_of(&opt);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        hd_image_loader *fresh = loader_of(&opt);
        size_t items = items_of(fresh, numbers[i]), from = i % 3;
        uint64_t a = hash_of(1, batch_of(l, numbers[i], from, items)),
                 b = hash_of(1, batch_of(fresh, numbers[i], from, items));
        assert_true(a == b);
        hd_image_loader_free(fresh);
    }
    hd_image_loader_free(l);
}

static void seed_and_epoch_change_what_augmentation_does(void **state)
{
    (void)state;
    hd_image_loader_opt opt = {
        .set = &set, .prepare = &prepare, .augment = &much, .seed = 4, .batch = COUNT, .in_order = true};
    hd_image_loader *l = loader_of(&opt);
    uint64_t a = hash_of(1, batch_of(l, 0, 0, COUNT)), b = hash_of(1, batch_of(l, 1, 0, COUNT)),
             again = hash_of(1, batch_of(l, 0, 0, COUNT));
    hd_image_loader_free(l);
    opt.seed = 5;
    l = loader_of(&opt);
    uint64_t c = hash_of(1, batch_of(l, 0, 0, COUNT));
    hd_image_loader_free(l);
    assert_true(a == again && a != b && a != c);
}

static void neighbors_are_mixed_and_say_so(void **state)
{
    (void)state;
    hd_image_loader *l = loader_of(&(hd_image_loader_opt){
        .set = &set, .prepare = &prepare, .augment = &mixing, .seed = 8, .batch = BATCH, .threads = 2});
    int mixed = 0;
    for (uint64_t number = 0; number < 4; number++) {
        const hd_image_batch *b = batch_of(l, number, 0, items_of(l, number));
        for (size_t i = 0; i < b->items; i++) {
            if (b->other[i] < 0) {
                assert_true(b->share[i] == 1);
                continue;
            }
            mixed++;
            assert_true(b->share[i] >= 0 && b->share[i] < 1);
            assert_int_equal(b->other[i], b->which[i ^ 1]);
            assert_true(b->share[i] == b->share[i ^ 1]);
        }
    }
    assert_true(mixed > COUNT / 2);
    hd_image_loader_free(l);
}

/* -- files -- */

static void write_png(const char *name, int width, int height)
{
    hd_image im;
    hd_err err = {0};
    assert_int_equal(hd_image_make(&im, width, height, 3, "test", NULL), HD_OK);
    for (size_t i = 0; i < hd_image_bytes(&im); i++) im.pixel[i] = (uint8_t)(i * 31 / 7);
    hd_status st = hd_image_write_png(&im, at("boxes/%s", name), &err);
    hd_image_release(&im);
    if (st) leave_out("%s", err.text);
}

/* Six pictures with a box each, all of different sizes. */
static void open_boxes(hd_image_set *s, hd_vocab *of)
{
    char table[1024] = "image,label,xmin,ymin,xmax,ymax\n";
    hd_err err = {0};
    mkdir(at("boxes"), 0700);
    for (int i = 0; i < 6; i++) {
        char name[16], row[64];
        snprintf(name, sizeof name, "%d.png", i);
        write_png(name, 20 + i, 30 + 2 * i);
        snprintf(row, sizeof row, "%s,%s,2,4,%d,20\n", name, i % 2 ? "a" : "b", 10 + i);
        strcat(table, row);
    }
    put_file(at("boxes/boxes.csv"), table);
    if (hd_image_set_boxes(s, of, at("boxes/boxes.csv"), NULL, NULL, false, &err)) fail_msg("%s", err.text);
}

static void pictures_of_different_sizes_lie_one_behind_the_other(void **state)
{
    (void)state;
    hd_image_set s = {0};
    hd_vocab of = {0};
    open_boxes(&s, &of);
    const hd_image_prepare own = {.channels = 1, .rescale = 1, .deviation = {1, 1, 1}};
    hd_image_loader *l = loader_of(&(hd_image_loader_opt){
        .set = &s, .prepare = &own, .augment = &(hd_augment){.flip = true}, .seed = 1, .batch = 4});
    int mirrored = 0;
    for (uint64_t number = 0; number < 20; number++) {
        const hd_image_batch *b = batch_of(l, number, 0, items_of(l, number));
        size_t at = 0;
        for (size_t i = 0; i < b->items; i++) {
            const int n = (int)b->which[i];
            assert_int_equal(b->begin[i], at);
            assert_int_equal(b->size[2 * i], 30 + 2 * n);
            assert_int_equal(b->size[2 * i + 1], 20 + n);
            at += (size_t)(b->size[2 * i] * b->size[2 * i + 1]);
            assert_int_equal(b->first_box[i + 1] - b->first_box[i], 1);
            const hd_box *box = &b->box[b->first_box[i]];
            assert_true(box->width == (float)(8 + n) && box->height == 16 && box->y == 4);
            assert_true(box->x == 2 || box->x == 10); /* 20 + n - 2 - (8 + n) */
            mirrored += box->x == 10;
        }
        assert_int_equal(b->byte_count, at);
    }
    assert_true(mirrored > 10 && mirrored < 50);
    hd_image_loader_free(l);
    hd_image_set_release(&s);
    hd_vocab_release(&of);
}

/* 64 x 48 grey pixels; with 8 needed it is decoded at a quarter of the size. */
static void boxes_fit_pictures_that_are_decoded_smaller(void **state)
{
    (void)state;
    static const uint8_t jpeg[] = {
        255, 216, 255, 224, 0,   16,  74,  70,  73,  70,  0,   1,   1,   0,   0,   1,   0,   1,   0,
        0,   255, 219, 0,   67,  0,   27,  18,  20,  23,  20,  17,  27,  23,  22,  23,  30,  28,  27,
        32,  40,  66,  43,  40,  37,  37,  40,  81,  58,  61,  48,  66,  96,  85,  101, 100, 95,  85,
        93,  91,  106, 120, 153, 129, 106, 113, 144, 115, 91,  93,  133, 181, 134, 144, 158, 163, 171,
        173, 171, 103, 128, 188, 201, 186, 166, 199, 153, 168, 171, 164, 255, 192, 0,   11,  8,   0,
        48,  0,   64,  1,   1,   17,  0,   255, 196, 0,   20,  0,   1,   0,   0,   0,   0,   0,   0,
        0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   255, 196, 0,   20,  16,  1,   0,   0,   0,
        0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   255, 218, 0,   8,   1,   1,
        0,   0,   63,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   255, 217};
    const hd_image_prepare small = {.channels = 1,
                                    .resize = true,
                                    .height = 8,
                                    .width = 8,
                                    .filter = HD_FILTER_BILINEAR,
                                    .rescale = 1,
                                    .deviation = {1, 1, 1}};
    hd_image_set s = {0};
    hd_vocab of = {0};
    hd_err err = {0};
    mkdir(at("jpeg"), 0700);
    put_bytes(at("jpeg/a.jpg"), jpeg, sizeof jpeg);
    put_file(at("jpeg/boxes.csv"), "image,label,xmin,ymin,xmax,ymax\na.jpg,x,16,12,40,30\n");
    hd_status st = hd_image_set_boxes(&s, &of, at("jpeg/boxes.csv"), NULL, NULL, false, &err);
    if (st == HD_EMISSING) leave_out("%s", err.text);
    if (st) fail_msg("%s", err.text);
    hd_image_loader *l = loader_of(
        &(hd_image_loader_opt){.set = &s, .prepare = &small, .augment = &(hd_augment){0}, .batch = 1});
    const hd_image_batch *b = batch_of(l, 0, 0, 1);
    assert_int_equal(b->bytes[0], 128);
    assert_true(b->box[0].x == 2 && b->box[0].y == 2 && b->box[0].width == 3 && b->box[0].height == 3);
    hd_image_loader_free(l);
    hd_image_set_release(&s);
    hd_vocab_release(&of);
}

static void a_broken_file_fails_the_batch_that_needs_it(void **state)
{
    (void)state;
    hd_image_set s = {0};
    hd_vocab of = {0};
    open_boxes(&s, &of);
    put_file(at("boxes/3.png"), "no picture");
    for (int threads = -1; threads <= 3; threads += 2) {
        hd_image_loader *l = loader_of(&(hd_image_loader_opt){
            .set = &s, .prepare = &prepare, .batch = 2, .threads = threads, .in_order = true});
        for (int round = 0; round < 2; round++) {
            const hd_image_batch *b = NULL;
            batch_of(l, 0, 0, 2);
            hd_err err = {0};
            assert_int_not_equal(hd_image_loader_get(l, 1, 0, 2, &b, &err), HD_OK);
            assert_non_null(strstr(err.text, "boxes/3.png"));
            batch_of(l, 1, 0, 1);
            batch_of(l, 2, 0, 2);
        }
        hd_image_loader_free(l);
    }
    hd_image_set_release(&s);
    hd_vocab_release(&of);
}

static void later_batches_are_made_before_they_are_asked_for(void **state)
{
    (void)state;
    hd_image_set s = {0};
    hd_vocab of = {0};
    open_boxes(&s, &of);
    hd_image_loader *l = loader_of(&(hd_image_loader_opt){
        .set = &s, .prepare = &prepare, .batch = 2, .threads = 1, .ahead = 2, .keep = 0.1, .in_order = true});
    batch_of(l, 0, 0, 2);
    for (size_t calls = 0; calls != hd_mem_now().calls; usleep(100000)) calls = hd_mem_now().calls;
    for (int i = 0; i < 6; i++) assert_int_equal(unlink(at("boxes/%d.png", i)), 0);
    batch_of(l, 1, 0, 2);
    batch_of(l, 2, 0, 2);
    batch_of(l, 0, 0, 2); /* a small set is kept decoded */
    hd_image_loader_free(l);
    hd_image_set_release(&s);
    hd_vocab_release(&of);
}

/* -- ends -- */

static void it_can_be_freed_at_any_moment(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        hd_image_loader *l = loader_of(&(hd_image_loader_opt){.set = &set,
                                                              .prepare = &prepare,
                                                              .augment = &much,
                                                              .batch = BATCH,
                                                              .threads = 1 + i % 4,
                                                              .ahead = 3});
        if (i % 3) batch_of(l, (uint64_t)i, 0, (size_t)(i % 3));
        hd_image_loader_free(l);
    }
    hd_image_loader_free(NULL);
}

static void memory_that_is_missing_is_said(void **state)
{
    (void)state;
    const size_t before = hd_mem_now().blocks;
    const hd_image_loader_opt opt = {
        .set = &set, .prepare = &prepare, .augment = &mixing, .batch = BATCH, .threads = -1, .ahead = 1};
    hd_status s = HD_ENOMEM;
    for (size_t n = 1; s; n++) {
        hd_image_loader *l = NULL;
        const hd_image_batch *b;
        hd_err err = {0};
        hd_mem_fail_at(n);
        s = hd_image_loader_new(&l, &opt, &err);
        if (!s) s = hd_image_loader_get(l, 0, 0, BATCH, &b, &err);
        hd_mem_fail_at(0);
        assert_true(s == HD_OK || s == HD_ENOMEM);
        hd_image_loader_free(l);
        assert_int_equal(hd_mem_now().blocks, before);
    }
}

static void impossible_requests_are_refused(void **state)
{
    (void)state;
    hd_image_loader *l = NULL;
    const hd_image_batch *b = NULL;
    hd_err err = {0};
    hd_image_loader_opt opt = {.set = &set, .prepare = &prepare};
    assert_int_equal(hd_image_loader_new(&l, &opt, &err), HD_EARG);
    opt.batch = BATCH, opt.augment = &(hd_augment){.crop = 2};
    assert_int_equal(hd_image_loader_new(&l, &opt, NULL), HD_EARG);
    opt.augment = NULL;
    l = loader_of(&opt);
    assert_int_equal(hd_image_loader_get(l, 0, 2, BATCH + 1, &b, NULL), HD_EARG);
    assert_int_equal(batch_of(l, 0, 2, 2)->items, 0);
    hd_image_loader_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_has_every_item_once_in_its_own_order),
        cmocka_unit_test(in_order_nothing_is_shuffled_or_changed),
        cmocka_unit_test(bytes_are_the_same_whatever_threads_and_parts),
        cmocka_unit_test(any_batch_can_be_asked_for),
        cmocka_unit_test(seed_and_epoch_change_what_augmentation_does),
        cmocka_unit_test(neighbors_are_mixed_and_say_so),
        cmocka_unit_test(it_can_be_freed_at_any_moment),
        cmocka_unit_test(memory_that_is_missing_is_said),
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(pictures_of_different_sizes_lie_one_behind_the_other),
        cmocka_unit_test(boxes_fit_pictures_that_are_decoded_smaller),
        cmocka_unit_test(a_broken_file_fails_the_batch_that_needs_it),
        cmocka_unit_test(later_batches_are_made_before_they_are_asked_for),
    };
    return outcome(cmocka_run_group_tests(tests, open_idx, close_idx));
}
