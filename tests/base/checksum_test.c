/* CRC-32C: the numbers of RFC 3720, in parts as at once, and the processor's instruction against the tables.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/file/checksum.h"

static void known_texts_have_their_known_checksums(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], up[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++) up[i] = (uint8_t)i;
    const struct {
        const void *bytes;
        size_t size;
        uint32_t sum;
    } cases[] = {{"", 0, 0},
                 {"123456789", 9, 0xe3069283u},
                 {zeros, 32, 0x8a9136aau},
                 {ones, 32, 0x62a8ab43u},
                 {up, 32, 0x46dd794eu}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(hd_checksum(0, cases[i].bytes, cases[i].size), cases[i].sum);
        assert_int_equal(hd_checksum_plain(0, cases[i].bytes, cases[i].size), cases[i].sum);
    }
    char text[HD_CHECKSUM_TEXT];
    assert_string_equal(hd_checksum_text(0xbeef, text), "0000beef");
}

static void parts_give_the_checksum_of_the_whole_by_either_way(void **state)
{
    (void)state;
    uint8_t bytes[300];
    for (int i = 0; i < 300; i++) bytes[i] = (uint8_t)(i * i * 31 + i);
    for (size_t from = 0; from < 9; from++) /* unaligned, too */
        for (size_t size = 0; size + from <= sizeof bytes; size += 7) {
            uint32_t whole = hd_checksum(0, bytes + from, size);
            assert_int_equal(hd_checksum_plain(0, bytes + from, size), whole);
            for (size_t cut = 0; cut <= size; cut += 13)
                assert_int_equal(
                    hd_checksum(hd_checksum(0, bytes + from, cut), bytes + from + cut, size - cut), whole);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_their_known_checksums),
        cmocka_unit_test(parts_give_the_checksum_of_the_whole_by_either_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
