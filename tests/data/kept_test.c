/* Pictures that are kept are decoded once and whole; of others a part will do, and it is the same pixels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "data/image/kept.h"
#include "scratch.h"

enum { COUNT = 5, SIDE = 12, BYTES = SIDE * SIDE };

static hd_image_set set;

static int open_set(void **state)
{
    uint8_t all[16 + BYTES * COUNT] = {0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    if (scratch_make(state)) return -1;
    for (size_t i = 16; i < sizeof all; i++) all[i] = (uint8_t)(i * 7 + i / 13);
    put_bytes(at("images"), all, sizeof all);
    return (int)hd_image_set_idx(&set, NULL, at("images"), NULL, NULL);
}

static int close_set(void **state)
{
    hd_image_set_release(&set);
    return scratch_remove(state);
}

static hd_image_part middle(const void *context, int width, int height)
{
    assert_null(context);
    return (hd_image_part){3, 2, width - 5, height - 7};
}

/* A picture about as large as `room` says takes a row and a column more than it has. */
static void as_many_are_kept_as_there_is_room_for(void **state)
{
    (void)state;
    const hd_image_ask ask = {middle, NULL};
    for (size_t fit = 0; fit <= COUNT; fit++) {
        hd_kept *k;
        hd_err err = {0};
        assert_int_equal(hd_kept_new(&k, &set, 0, fit * (SIDE + 1) * (SIDE + 1), &err), HD_OK);
        for (size_t round = 0; round < 2; round++)
            for (size_t i = 0; i < COUNT; i++) {
                hd_image whole, cut, got;
                bool own, part;
                assert_int_equal(hd_image_set_picture(&set, i, &whole, &err), HD_OK);
                assert_int_equal(hd_image_crop(&cut, &whole, 3, 2, SIDE - 5, SIDE - 7, &err), HD_OK);
                assert_int_equal(hd_kept_picture(k, i, &ask, &got, &own, &part, &err), HD_OK);
                const hd_image *same = part ? &cut : &whole;
                assert_int_equal(part, i >= fit);
                assert_int_equal(own, i >= fit);
                assert_int_equal(hd_image_bytes(&got), hd_image_bytes(same));
                assert_memory_equal(got.pixel, same->pixel, hd_image_bytes(same));
                if (own) hd_image_release(&got);
                assert_int_equal(hd_kept_picture(k, i, NULL, &got, &own, &part, &err), HD_OK);
                assert_false(part);
                assert_memory_equal(got.pixel, whole.pixel, BYTES);
                if (own) hd_image_release(&got);
                hd_image_release(&whole);
                hd_image_release(&cut);
            }
        hd_kept_free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_many_are_kept_as_there_is_room_for)};
    return cmocka_run_group_tests(tests, open_set, close_set);
}
