/* Whole files, plain and compressed: all of them, the first bytes of them, those that are cut short or unpack
   to more than they may, and every failure of memory on the way. */
#include "check.h"
#include "scratch.h"

#include <zlib.h>

#include "base/file/packed.h"

enum { SIZE = 200000 }; /* several pieces */

static char text[SIZE];

static int make_files(void **state)
{
    if (scratch_make(state)) return -1;
    for (size_t i = 0; i < SIZE; i++) text[i] = (char)('a' + i * i % 23);
    put_bytes(at("plain"), text, SIZE);
    gzFile gz = gzopen(at("packed"), "wb");
    assert_int_equal(gzwrite(gz, text, SIZE), SIZE);
    assert_int_equal(gzclose(gz), Z_OK);
    size_t size;
    char *all = get_file(at("packed"), &size);
    put_bytes(at("cut"), all, size / 2);
    free(all);
    put_bytes(at("empty"), "", 0);
    return 0;
}

static void both_are_read_up_to_a_limit(void **state)
{
    (void)state;
    static const size_t most[] = {0, 1, 4096, 65535, 65536, 65537, SIZE - 1, SIZE, SIZE + 1, 1 << 28};
    static const char *const names[] = {"plain", "packed"};
    for (size_t k = 0; k < COUNT_OF(names); k++)
        for (size_t i = 0; i < COUNT_OF(most); i++) {
            hd_err err = {0};
            uint8_t *bytes;
            size_t size;
            bool whole;
            if (hd_packed_read(&bytes, &size, &whole, at("%s", names[k]), most[i], &err))
                fail_msg("%s", err.text);
            assert_int_equal(size, most[i] < SIZE ? most[i] : SIZE);
            assert_int_equal(whole, most[i] >= SIZE);
            assert_memory_equal(bytes, text, size);
            hd_mem_free(bytes);
        }
}

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *name, *why;
    } cases[] = {{"cut", "the gzip data is cut short"}, {"none", "cannot open"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        uint8_t *bytes = NULL;
        size_t size = 0, used = hd_mem_now().blocks;
        bool whole;
        assert_true(hd_packed_read(&bytes, &size, &whole, at("%s", cases[i].name), 1 << 28, &err));
        if (!strstr(err.text, cases[i].why)) fail_msg("%s", err.text);
        assert_null(bytes);
        assert_int_equal(hd_mem_now().blocks, used);
    }
    hd_err err = {0};
    uint8_t *bytes;
    size_t size;
    bool whole;
    assert_int_equal(hd_packed_read(&bytes, &size, &whole, at("empty"), 10, &err), HD_OK);
    assert_true(whole && size == 0);
    hd_mem_free(bytes);
}

static void a_failing_allocation_leaves_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "packed"};
    for (size_t k = 0; k < COUNT_OF(names); k++)
        for (size_t n = 1, failed = 1; failed; n++) {
            hd_err err = {0};
            uint8_t *bytes = NULL;
            size_t size = 0, used = hd_mem_now().blocks;
            bool whole;
            hd_mem_fail_at(n);
            failed = hd_packed_read(&bytes, &size, &whole, at("%s", names[k]), 1 << 28, &err) == HD_ENOMEM;
            hd_mem_fail_at(0);
            if (!failed) assert_memory_equal(bytes, text, SIZE);
            hd_mem_free(bytes);
            assert_int_equal(hd_mem_now().blocks, used);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_read_up_to_a_limit),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(a_failing_allocation_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_files, scratch_remove);
}
