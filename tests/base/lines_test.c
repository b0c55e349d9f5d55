/* The line reader: line ends, compressed data in all its forms, limits, UTF-8, and every allocation failing
 * once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file/lines.h"
#include "base/mem.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static char folder[] = "/tmp/heed-lines-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/text", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_bytes(const void *bytes, size_t size, const char *mode)
{
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static size_t gzip_member(uint8_t *to, size_t room, const void *text, size_t size)
{
    z_stream z = {.next_in = (void *)(uintptr_t)text,
                  .avail_in = (unsigned)size,
                  .next_out = to,
                  .avail_out = (unsigned)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t used = z.total_out;
    deflateEnd(&z);
    return used;
}

#if HEED_XZ
#include <lzma.h>
static size_t xz_member(uint8_t *to, size_t room, const void *text, size_t size)
{
    size_t used = 0;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, text, size, to, &used, room),
                     LZMA_OK);
    return used;
}
#endif

#if HEED_ZSTD
#include <zstd.h>
static size_t zstd_member(uint8_t *to, size_t room, const void *text, size_t size)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t used = ZSTD_compress2(c, to, room, text, size);
    assert_false(ZSTD_isError(used));
    ZSTD_freeCCtx(c);
    return used;
}
#endif

/* Each makes whole compressed data of a text and returns its bytes in `to`. */
typedef struct format {
    const char *name;
    size_t (*member)(uint8_t *to, size_t room, const void *text, size_t size);
    size_t padding;  /* zeros that may follow, in multiples of it; 0: none may */
    size_t checksum; /* bytes from the end, of a byte of the checksum */
} format;

static const format formats[] = {
    {"gzip", gzip_member, 1, 6},
#if HEED_XZ
    {"xz", xz_member, 4, 30},
#endif
#if HEED_ZSTD
    {"zstd", zstd_member, 0, 2},
#endif
};

static hd_lines *open_path(hd_lines_opt opt)
{
    hd_err err = {0};
    hd_lines *l = NULL;
    if (hd_lines_open(&l, path, &opt, &err)) fail_msg("%s", err.text);
    return l;
}

/* Reads the file with these options to the end, or to the error whose text is returned. */
static const char *read_all(hd_lines_opt opt, const char *const *expected, size_t count)
{
    static hd_err err;
    err = (hd_err){0};
    hd_lines *l = NULL;
    hd_line line = {"", 0};
    size_t seen = 0;
    hd_status s = hd_lines_open(&l, path, &opt, &err);
    while (!s && line.text) {
        s = hd_lines_next(l, &line, &err);
        if (s || !line.text) break;
        assert_true(seen < count);
        assert_string_equal(line.text, expected[seen++]);
        assert_int_equal(hd_lines_count(l), seen);
    }
    assert_int_equal(seen, count);
    hd_lines_close(l);
    return s ? err.text : "";
}

static void only_newlines_end_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line[4];
        size_t count;
    } cases[] = {
        {"", {0}, 0},
        {"\n", {""}, 1},
        {"a", {"a"}, 1},
        {"a\n", {"a"}, 1},
        {"a\n\nb", {"a", "", "b"}, 3},
        {"a\r\nb\r\n", {"a", "b"}, 2},
        {"a\r\r\nb\rc\n", {"a\r", "b\rc"}, 2},
        {"a\r", {"a\r"}, 1},
        {"\r\n", {""}, 1},
        {"a\xe2\x80\xa8\x62\x0b\x0c\xc2\x85\n", {"a\xe2\x80\xa8\x62\x0b\x0c\xc2\x85"}, 1},
        {"\xef\xbb\xbf\x61\n", {"\xef\xbb\xbf\x61"}, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t packed = 0; packed <= COUNT_OF(formats); packed++) {
            uint8_t bytes[256];
            size_t size = strlen(cases[i].text);
            if (packed)
                size = formats[packed - 1].member(bytes, sizeof bytes, cases[i].text, size);
            else
                memcpy(bytes, cases[i].text, size);
            write_bytes(bytes, size, "w");
            assert_string_equal(read_all((hd_lines_opt){.utf8 = true}, cases[i].line, cases[i].count), "");
        }
}

static void nul_is_a_byte_like_others(void **state)
{
    (void)state;
    write_bytes("a\0b\n\0", 5, "w");
    hd_lines *l = open_path((hd_lines_opt){.utf8 = true});
    hd_line line;
    assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
    assert_true(line.size == 3 && !memcmp(line.text, "a\0b", 4));
    assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
    assert_true(line.size == 1 && !line.text[0]);
    assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
    assert_null(line.text);
    assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK); /* and so it stays */
    assert_null(line.text);
    hd_lines_close(l);
}

/* Lines of every length around the sizes of the buffers, plain and compressed in several pieces, with zeros
   behind where those may be. */
static void a_byte_order_mark_can_be_left_out(void **state)
{
    (void)state;
#define MARK "\xef\xbb\xbf"
    static const char *const with[] = {MARK "one", MARK "two"}, *const without[] = {"one", MARK "two"};
    write_bytes(MARK "one\n" MARK "two\n", 14, "wb");
    assert_string_equal(read_all((hd_lines_opt){.utf8 = true}, with, 2), "");
    assert_string_equal(read_all((hd_lines_opt){.utf8 = true, .no_mark = true}, without, 2), "");
    static const char *const nothing[] = {""};
    write_bytes(MARK, 3, "wb");
    assert_string_equal(read_all((hd_lines_opt){.no_mark = true}, nothing, 1), "");
}

static void long_files_arrive_whole(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 65534, 65535, 65536, 65537, 131071, 131072, 200000, 3, 1 << 20, 7};
    size_t total = 0;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) total += lengths[i] + 1;
    char *text = malloc(total), *at = text;
    uint8_t *zip = malloc(2 * total + 100000); /* the zeros too */
    assert_non_null(text);
    assert_non_null(zip);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        for (size_t k = 0; k < lengths[i]; k++) *at++ = (char)('a' + (k * k + i) % 26);
        *at++ = '\n';
    }
    for (size_t packed = 0; packed <= COUNT_OF(formats); packed++) {
        const format *f = packed ? &formats[packed - 1] : NULL;
        write_bytes(text, f ? 0 : total, "w");
        for (size_t from = 0; f && from < total; from += 300000) {
            size_t part = total - from < 300000 ? total - from : 300000;
            write_bytes(zip, f->member(zip, 2 * total, text + from, part), "a");
        }
        memset(zip, 0, 100000);
        if (f && f->padding) write_bytes(zip, 100000, "a");
        hd_lines *l = open_path((hd_lines_opt){0});
        const char *expected = text;
        hd_line line;
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
            assert_int_equal(line.size, lengths[i]);
            assert_memory_equal(line.text, expected, line.size);
            expected += line.size + 1;
        }
        assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
        assert_null(line.text);
        hd_lines_close(l);
    }
    free(text);
    free(zip);
}

static void assert_error(const char *said, const char *expected)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    if (strncmp(said, whole, strlen(whole))) fail_msg("said '%s', expected '%s'", said, whole);
}

static void limits_name_file_and_line(void **state)
{
    (void)state;
    static const char *const good[] = {"12345", "12345"};
    write_bytes("12345\n12345\r\n123456\n", 20, "w");
    assert_error(read_all((hd_lines_opt){.longest = 5}, good, 2), ":3: the line is longer than 5 bytes");
    write_bytes("12345\n12345\r\n123456", 19, "w");
    assert_error(read_all((hd_lines_opt){.longest = 5}, good, 2), ":3: the line is longer than 5 bytes");
    size_t size = HD_LINE_LONGEST + 1;
    char *text = malloc(size);
    memset(text, 'x', size);
    write_bytes(text, size, "w");
    assert_error(read_all((hd_lines_opt){0}, NULL, 0), ":1: the line is longer than 16777216 bytes");
    free(text);
}

/* Lines of any length around the limit, with either end, and at the end of the file: an empty one stands for
   what is refused, and those behind it are what they are. */
static void lines_that_are_refused_are_passed_over(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why[4]; /* of each line; "": it is given */
    } cases[] = {
        {"123456\nok\n", {"the line is longer than 5 bytes", ""}},
        {"ok\n1234567890123456789\r\n12345\n", {"", "the line is longer than 5 bytes", ""}},
        {"ok\n123456", {"", "the line is longer than 5 bytes"}},
        {"\xff\n\xc3\nok", {"not UTF-8: byte 0xff at offset 0", "not UTF-8: byte 0xc3 at offset 0", ""}},
        {"a\x01\n1234567\n\n12345\r\n",
         {"a zero byte at offset 1: is this a text file?", "the line is longer than 5 bytes", "", ""}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int zipped = 0; zipped < 2; zipped++) {
            char text[64];
            uint8_t packed[256];
            size_t size = strlen(cases[i].text), n = 0;
            memcpy(text, cases[i].text, size);
            for (size_t k = 0; k < size; k++)
                if (text[k] == 1) text[k] = 0;
            size_t bytes = zipped ? gzip_member(packed, sizeof packed, text, size) : size;
            write_bytes(zipped ? (void *)packed : text, bytes, "w");
            hd_lines *l =
                open_path((hd_lines_opt){.longest = 5, .utf8 = true, .no_zero = true, .goes_on = true});
            for (hd_line line; !hd_lines_next(l, &line, NULL) && line.text; n++) {
                const hd_err *why = hd_lines_refused(l);
                assert_true(n < 4 && cases[i].why[n]);
                assert_string_equal(why ? why->text : "", cases[i].why[n]);
                assert_int_equal(why && line.size, 0);
                assert_int_equal(line.text[line.size], 0);
                if (why || !line.size) continue;
                assert_non_null(strstr("ok 12345", line.text));
            }
            assert_true(n == 4 || !cases[i].why[n]);
            assert_int_equal(hd_lines_count(l), n);
            assert_null(hd_lines_refused(l));
            hd_lines_close(l);
        }
}

/* Far more than is kept in memory at once. */
static void a_line_that_is_passed_over_takes_no_memory(void **state)
{
    (void)state;
    char *text = malloc(1 << 22);
    memset(text, 'x', 1 << 22);
    write_bytes(text, 1 << 22, "w");
    write_bytes("\nok\n", 4, "a");
    free(text);
    hd_lines *l = open_path((hd_lines_opt){.longest = 100000, .goes_on = true});
    hd_mem_peak_reset();
    size_t before = hd_mem_now().used;
    hd_line line;
    assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
    assert_non_null(hd_lines_refused(l));
    assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
    assert_string_equal(line.text, "ok");
    assert_true(hd_mem_now().peak - before < 1 << 20);
    hd_lines_close(l);
}

static void what_is_not_utf8_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"\xff", ":2: not UTF-8: byte 0xff at offset 0"},
        {"12345678\x80", ":2: not UTF-8: byte 0x80 at offset 8"},
        {"ab\xc3", ":2: not UTF-8: byte 0xc3 at offset 2"},
        {"\xc0\x80", ":2: not UTF-8: byte 0xc0 at offset 0"},
        {"\xe0\x80\x80", ":2: not UTF-8: byte 0xe0 at offset 0"},
        {"\xed\xa0\x80", ":2: not UTF-8: byte 0xed at offset 0"},
        {"\xf4\x90\x80\x80", ":2: not UTF-8: byte 0xf4 at offset 0"},
        {"\xe2\x82\xac\xf8", ":2: not UTF-8: byte 0xf8 at offset 3"},
    };
    static const char *const first[] = {"\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_bytes(first[0], strlen(first[0]), "w");
        write_bytes("\n", 1, "a");
        write_bytes(cases[i].line, strlen(cases[i].line), "a");
        assert_error(read_all((hd_lines_opt){.utf8 = true}, first, 1), cases[i].error);
        const char *const both[] = {first[0], cases[i].line};
        assert_string_equal(read_all((hd_lines_opt){.utf8 = false}, both, 2), "");
    }
}

/* Reads to the error that must come. */
static void assert_damaged(const char *expected)
{
    hd_err err = {0};
    hd_line line = {"", 0};
    hd_lines *l = open_path((hd_lines_opt){0});
    hd_status s = HD_OK;
    while (!s && line.text) s = hd_lines_next(l, &line, &err);
    assert_int_equal(s, HD_EFORMAT);
    assert_error(err.text, expected);
    assert_int_equal(hd_lines_next(l, &line, &err), HD_EFORMAT); /* asked again */
    hd_lines_close(l);
}

static void damaged_data_is_named(void **state)
{
    (void)state;
    uint8_t zip[256];
    char expected[64];
    for (const format *f = formats; f < formats + COUNT_OF(formats); f++) {
        size_t size = f->member(zip, sizeof zip, "some text\nand some more\n", 24);
        snprintf(expected, sizeof expected, ": the %s data is cut short", f->name);
        for (size_t cut = 6; cut < size; cut++) {
            write_bytes(zip, cut, "w");
            assert_damaged(expected);
        }
        write_bytes(zip, size, "w");
        write_bytes("\0\0x", 3, "a");
        snprintf(expected, sizeof expected,
                 f->padding == 1 ? ": data that is not %s follows" : ": damaged %s data", f->name);
        assert_damaged(expected);
        zip[size - f->checksum] ^= 1;
        write_bytes(zip, size, "w");
        snprintf(expected, sizeof expected, ": damaged %s data", f->name);
        assert_damaged(expected);
    }
}

static void formats_that_are_not_read_get_a_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *said;
    } cases[] = {{"BZh91AY&SY....", ": is bzip2 data, which heed does not read: unpack it first"},
                 {"PK\3\4......", ": is zip data, which heed does not read: unpack it first"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_lines *l = NULL;
        write_bytes(cases[i].bytes, strlen(cases[i].bytes), "w");
        assert_int_equal(hd_lines_open(&l, path, NULL, &err), HD_EFORMAT);
        assert_error(err.text, cases[i].said);
    }
    static const char *const text[] = {"BZhang is a name"};
    write_bytes(text[0], strlen(text[0]), "w");
    assert_string_equal(read_all((hd_lines_opt){0}, text, 1), "");
}

static void missing_files_and_folders_are_named(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_lines *l = NULL;
    unlink(path);
    assert_int_equal(hd_lines_open(&l, path, NULL, &err), HD_EFILE);
    assert_error(err.text, ": cannot open: No such file or directory");
    err = (hd_err){0};
    assert_int_equal(hd_lines_open(&l, folder, NULL, &err), HD_EFILE);
    assert_non_null(strstr(err.text, ": is a folder, not a file"));
    assert_null(l);
}

/* A pipe that brings one byte at a time, on standard input. */
static void standard_input_is_read(void **state)
{
    (void)state;
    static const char *const lines[] = {"one", "two"};
    uint8_t bytes[64] = "one\ntwo";
    for (int zipped = 0; zipped < 2; zipped++) {
        size_t size = zipped ? gzip_member(bytes, sizeof bytes, "one\ntwo", 7) : 7;
        int ends[2], saved = dup(STDIN_FILENO);
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            for (size_t i = 0; i < size; i++)
                if (write(ends[1], bytes + i, 1) != 1 || usleep(1000)) _exit(1);
            _exit(0);
        }
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        hd_lines *l = NULL;
        hd_line line;
        assert_int_equal(hd_lines_open(&l, "-", NULL, NULL), HD_OK);
        assert_string_equal(hd_lines_name(l), "standard input");
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
            assert_string_equal(line.text, lines[i]);
        }
        assert_int_equal(hd_lines_next(l, &line, NULL), HD_OK);
        assert_null(line.text);
        hd_lines_close(l);
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    static char text[200000];
    static uint8_t zip[200000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\n';
    for (const format *f = formats; f < formats + COUNT_OF(formats); f++) {
        write_bytes(zip, f->member(zip, sizeof zip, text, sizeof text), "w");
        size_t before = hd_mem_now().blocks, failures = 0;
        for (size_t n = 1;; n++, failures++) {
            hd_err err = {0};
            hd_lines *l = NULL;
            hd_line line = {0};
            hd_mem_fail_at(n);
            hd_status s = hd_lines_open(&l, path, NULL, &err);
            if (!s) s = hd_lines_next(l, &line, &err);
            hd_mem_fail_at(0);
            bool whole = !s && line.size == sizeof text - 1;
            hd_lines_close(l);
            assert_int_equal(hd_mem_now().blocks, before);
            if (whole) break;
            assert_int_equal(s, HD_ENOMEM);
        }
        assert_true(failures >= 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_newlines_end_lines),
        cmocka_unit_test(nul_is_a_byte_like_others),
        cmocka_unit_test(a_byte_order_mark_can_be_left_out),
        cmocka_unit_test(long_files_arrive_whole),
        cmocka_unit_test(limits_name_file_and_line),
        cmocka_unit_test(lines_that_are_refused_are_passed_over),
        cmocka_unit_test(a_line_that_is_passed_over_takes_no_memory),
        cmocka_unit_test(what_is_not_utf8_is_named),
        cmocka_unit_test(damaged_data_is_named),
        cmocka_unit_test(formats_that_are_not_read_get_a_remedy),
        cmocka_unit_test(missing_files_and_folders_are_named),
        cmocka_unit_test(standard_input_is_read),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
