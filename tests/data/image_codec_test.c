/* Pictures in files: every kind against Pillow's pixels; broken, foreign and hostile files. */
#include "check.h"
#include "outcome.h"
#include "pictures.h"
#include "scratch.h"

#include <zlib.h>

#if HEED_JPEG
#include <jpeglib.h>
#endif

#include "base/rng.h"
#include "data/image/image.h"

static bool can_read(const sample *s)
{
    return sample_is_png(s) ? HEED_PNG : HEED_JPEG;
}

static uint64_t hash_of(const hd_image *im)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < hd_image_bytes(im); i++) h = (h ^ im->pixel[i]) * 0x100000001b3u;
    return h;
}

static void assert_refused(const uint8_t *bytes, size_t size, hd_status want, const char *says)
{
    hd_err err = {0};
    hd_image im;
    size_t blocks = hd_mem_now().blocks;
    hd_status s = hd_image_decode(&im, bytes, size, "x.file", &err);
    if (s != want || !strstr(err.text, says) || strncmp(err.text, "x.file: ", 8))
        fail_msg("status %d, \"%s\" instead of \"%s\"", (int)s, err.text, says);
    assert_null(im.pixel);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void every_kind_is_read_as_pillow_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        const sample *s = &samples[i];
        hd_err err = {0};
        hd_image im = {0}, header = {0};
        size_t size;
        uint8_t *bytes = sample_bytes(s, &size);
        if (can_read(s)) {
            if (hd_image_decode(&im, bytes, size, s->name, &err) ||
                hd_image_header(&header, bytes, size, s->name, &err))
                fail_msg("%s", err.text);
            assert_int_equal(im.width, s->width);
            assert_int_equal(im.height, s->height);
            assert_int_equal(im.channels, s->channels);
            if (hash_of(&im) != s->hash) fail_msg("%s: other pixels", s->name);
            assert_null(header.pixel);
            assert_true(header.width == im.width && header.height == im.height &&
                        header.channels == im.channels);
            hd_image_release(&im);
        } else
            assert_refused(bytes, size, HD_EMISSING, "and this heed was built without lib");
        free(bytes);
    }
}

/* Nobody takes a part for the whole. */
static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        size_t size;
        uint8_t *bytes = sample_bytes(&samples[i], &size);
        for (size_t n = 0; can_read(&samples[i]) && n < size; n++) {
            uint8_t *part = malloc(n + !n); /* so that a read past the end is seen */
            memcpy(part, bytes, n);
            assert_refused(part, n, HD_EFORMAT, "");
            free(part);
        }
        free(bytes);
    }
}

/* Whatever it becomes, it is refused with a text or read; all memory is given back. */
static void a_byte_changed_anywhere_does_no_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        size_t size, blocks = hd_mem_now().blocks;
        uint8_t *bytes = sample_bytes(&samples[i], &size);
        hd_mem_limit(hd_mem_now().used + (1 << 24));
        for (size_t n = 0; n < size; n++)
            for (int k = 0; k < 3; k++) {
                hd_err err = {0};
                hd_image im;
                uint8_t old = bytes[n];
                bytes[n] = (uint8_t)(k == 0 ? old ^ 1 : k == 1 ? 255 : old + 128);
                hd_status s = hd_image_decode(&im, bytes, size, "x", &err);
                assert_true(s == HD_OK || err.text[0]);
                hd_image_release(&im);
                bytes[n] = old;
            }
        hd_mem_limit(0);
        assert_int_equal(hd_mem_now().blocks, blocks);
        free(bytes);
    }
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* A PNG that claims this size, with its checksum right. */
static void claim(uint8_t *png, uint32_t width, uint32_t height)
{
    put32(png + 16, width);
    put32(png + 20, height);
    put32(png + 29, (uint32_t)crc32(0, png + 12, 17));
}

static void a_size_that_is_claimed_costs_no_memory(void **state)
{
    (void)state;
    static const struct {
        uint32_t width, height;
        hd_status status;
        const char *says;
    } cases[] = {{65536, 1, HD_ELIMIT, "65536 x 1 pixels; the limit is 65535 on a side"},
                 {1, 70000, HD_ELIMIT, "1 x 70000 pixels"},
                 {65535, 65535, HD_ELIMIT, "178956970 in all: make it smaller first"},
                 {0x7fffffff, 0x7fffffff, HD_ELIMIT, "the limit is"},
                 {0, 5, HD_EFORMAT, "damaged PNG"},
                 {0xffffffff, 5, HD_EFORMAT, "damaged PNG"},
                 {13000, 13000, HD_EFORMAT, "damaged PNG: the file is cut short"}};
    if (!HEED_PNG) leave_out("built without libpng");
    const sample *s = samples;
    while (strcmp(s->name, "PNG RGB of 16 bits, interlaced")) s++;
    size_t size;
    uint8_t *bytes = sample_bytes(s, &size);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        claim(bytes, cases[i].width, cases[i].height);
        hd_mem_peak_reset();
        size_t before = hd_mem_now().used;
        assert_refused(bytes, size, cases[i].status, cases[i].says);
        assert_true(hd_mem_now().peak - before < 1 << 20);
    }
    free(bytes);
}

/* Width and height of a JPEG lie behind its start-of-frame marker. */
static void a_large_jpeg_is_refused_before_it_is_decoded(void **state)
{
    (void)state;
    if (!HEED_JPEG) leave_out("built without libjpeg");
    for (int i = 1; i < 3; i++) { /* sequential, progressive */
        size_t size, n = 0;
        uint8_t *bytes = sample_bytes(&samples[i], &size);
        while (bytes[n] != 0xff || (bytes[n + 1] != 0xc0 && bytes[n + 1] != 0xc2)) n++;
        bytes[n + 5] = bytes[n + 7] = 0xff;
        bytes[n + 6] = bytes[n + 8] = 0;
        assert_refused(bytes, size, HD_ELIMIT, "65280 x 65280 pixels; the limit");
        bytes[n + 5] = bytes[n + 7] = 0x30;
        assert_refused(bytes, size, HD_EFORMAT, "damaged JPEG: the file is cut short");
        bytes[n + 5] = bytes[n + 7] = 0;
        bytes[n + 8] = 0;
        assert_refused(bytes, size, HD_EFORMAT, "damaged JPEG");
        free(bytes);
    }
}

/* It needs no data to go on for a whole picture. */
static void arithmetic_coding_is_refused(void **state)
{
    (void)state;
    if (!HEED_JPEG) leave_out("built without libjpeg");
    size_t size, n = 0;
    uint8_t *bytes = sample_bytes(&samples[1], &size);
    while (bytes[n] != 0xff || bytes[n + 1] != 0xc0) n++;
    bytes[n + 1] = 0xc9;
    assert_refused(bytes, size, HD_EFORMAT,
                   "in arithmetic coding, which heed does not read: convert it to PNG");
    free(bytes);
}

static void a_wrong_checksum_is_damage(void **state)
{
    (void)state;
    if (!HEED_PNG) leave_out("built without libpng");
    for (size_t i = 4; i < COUNT_OF(samples); i++) {
        size_t size;
        uint8_t *bytes = sample_bytes(&samples[i], &size);
        bytes[size - 14] ^= 1; /* of the last chunk but one, IDAT */
        assert_refused(bytes, size, HD_EFORMAT, "damaged PNG: IDAT: CRC error");
        free(bytes);
    }
}

static void foreign_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } cases[] = {
#define CASE(text, says) {text, sizeof text - 1, says}
        CASE("", "no picture in PNG or JPEG: it is empty"),
        CASE("Dear Sir, I write", "it begins with \"Dear Sir, I writ\""),
        CASE("\x01\x02", "it begins with the bytes 01 02"),
        CASE("\x01", "it begins with the bytes 01 00"),
        CASE("hi", "it begins with \"hi\""),
        CASE("GIF89a....", "is a GIF picture, which heed does not read: convert it to PNG"),
        CASE("RIFF\x10\0\0\0WEBPVP8 ", "is a WebP picture"),
        CASE("II*\0xxxx", "is a TIFF picture"),
        CASE("\0\0\0\x18"
             "ftypheic",
             "is a HEIF or AVIF picture"),
        CASE("<svg xmlns", "is a SVG picture"),
#undef CASE
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_refused((const uint8_t *)cases[i].bytes, cases[i].size, HD_EFORMAT, cases[i].says);
}

static void what_is_no_file_is_named(void **state)
{
    (void)state;
    hd_image im = {0};
    hd_err err = {0}, none = {0}, empty = {0};
    assert_int_equal(hd_image_read(&im, scratch, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "is a folder, not a file"));
    assert_int_equal(hd_image_read(&im, at("none.png"), &none), HD_EFILE);
    assert_non_null(strstr(none.text, "none.png: cannot open: No such file"));
    put_file(at("empty.png"), "");
    assert_int_equal(hd_image_read(&im, at("empty.png"), &empty), HD_EFORMAT);
    assert_non_null(strstr(empty.text, "it is empty"));
    if (geteuid()) { /* root may read everything */
        hd_err sealed = {0};
        put_file(at("sealed.png"), "x");
        assert_int_equal(chmod(at("sealed.png"), 0), 0);
        assert_int_equal(hd_image_read(&im, at("sealed.png"), &sealed), HD_EFILE);
    }
}

static void a_picture_written_is_read_again(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        hd_err err = {0};
        hd_image again, im;
        assert_int_equal(hd_image_make(&im, 37, 11, channels, "test", &err), HD_OK);
        for (size_t i = 0; i < hd_image_bytes(&im); i++) im.pixel[i] = (uint8_t)(i * i / 7);
        hd_status s = hd_image_write_png(&im, at("a.png"), &err);
        if (!HEED_PNG) {
            assert_int_equal(s, HD_EMISSING);
            assert_non_null(strstr(err.text, "libpng-dev"));
            assert_false(is_there(at("a.png")));
            hd_image_release(&im);
            continue;
        }
        if (s || hd_image_read(&again, at("a.png"), &err)) fail_msg("%s", err.text);
        assert_true(again.width == 37 && again.height == 11 && again.channels == channels);
        assert_true(hash_of(&im) == hash_of(&again));
        assert_int_equal(hd_image_write_png(&again, at("b.png"), &err), HD_OK);
        assert_same_file(at("a.png"), at("b.png"));
        hd_image_release(&im);
        hd_image_release(&again);
        assert_int_equal(hd_image_read(&im, at("nowhere/a.png"), NULL), HD_EFILE);
    }
}

/* At 1/2 the size and less as long as the shorter side has so many pixels. */
static void a_jpeg_is_decoded_smaller_where_asked(void **state)
{
    (void)state;
    static const struct {
        int side, width, height;
    } cases[] = {{0, 19, 11}, {6, 19, 11}, {5, 10, 6}, {3, 10, 6}, {2, 5, 3}, {1, 3, 2}};
    if (!HEED_JPEG) leave_out("built without libjpeg");
    size_t size;
    uint8_t *bytes = sample_bytes(&samples[1], &size);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_image im;
        if (hd_image_decode_scaled(&im, bytes, size, cases[i].side, NULL, "x", &err))
            fail_msg("%s", err.text);
        assert_int_equal(im.width, cases[i].width);
        assert_int_equal(im.height, cases[i].height);
        hd_image_release(&im);
    }
    free(bytes);
}

static hd_image_part wanted;

static hd_image_part want(const void *context, int width, int height)
{
    (void)context;
    assert_true(wanted.x + wanted.width <= width && wanted.y + wanted.height <= height);
    return wanted;
}

/* Parts of the picture in these bytes are those of all of it. */
static void check_parts(const uint8_t *bytes, size_t size, int side, const char *name)
{
    hd_err err = {0};
    hd_image all, part, cut;
    hd_rng rng = hd_rng_make(3, 0);
    if (hd_image_decode_scaled(&all, bytes, size, side, NULL, name, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 60; i++) {
        wanted.width = 1 + (int)hd_rng_below(&rng, (uint32_t)all.width);
        wanted.height = 1 + (int)hd_rng_below(&rng, (uint32_t)all.height);
        wanted.x = (int)hd_rng_below(&rng, (uint32_t)(all.width - wanted.width + 1));
        wanted.y = (int)hd_rng_below(&rng, (uint32_t)(all.height - wanted.height + 1));
        if (hd_image_decode_scaled(&part, bytes, size, side, &(hd_image_ask){want, NULL}, name, &err))
            fail_msg("%s", err.text);
        assert_int_equal(hd_image_crop(&cut, &all, wanted.x, wanted.y, wanted.width, wanted.height, &err),
                         HD_OK);
        assert_true(part.width == cut.width && part.height == cut.height && part.channels == cut.channels);
        if (memcmp(part.pixel, cut.pixel, hd_image_bytes(&cut)))
            fail_msg("%s: %d x %d at %d, %d differs", name, wanted.width, wanted.height, wanted.x, wanted.y);
        hd_image_release(&part);
        hd_image_release(&cut);
    }
    hd_image_release(&all);
}

#if HEED_JPEG
/* A picture of many blocks, whose colors have one sample for `across` pixels of a row. */
static uint8_t *large_jpeg(int channels, int across, bool progressive, size_t *size)
{
    enum { WIDTH = 203, HEIGHT = 77 };
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr error;
    unsigned char *bytes = NULL;
    unsigned long count = 0;
    uint8_t row[WIDTH * 4];
    JSAMPROW at_row = row;
    hd_rng rng = hd_rng_make(9, 0);
    j.err = jpeg_std_error(&error);
    jpeg_create_compress(&j);
    jpeg_mem_dest(&j, &bytes, &count);
    j.image_width = WIDTH, j.image_height = HEIGHT, j.input_components = channels;
    j.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&j);
    j.comp_info[0].h_samp_factor = across;
    if (progressive) jpeg_simple_progression(&j);
    jpeg_start_compress(&j, TRUE);
    while (j.next_scanline < HEIGHT) {
        for (size_t i = 0; i < sizeof row; i++) row[i] = (uint8_t)(i + hd_rng_below(&rng, 160));
        jpeg_write_scanlines(&j, &at_row, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    *size = count;
    return bytes;
}
#endif

static void a_part_is_what_all_of_it_has_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        size_t size;
        uint8_t *bytes = sample_bytes(&samples[i], &size);
        if (can_read(&samples[i])) check_parts(bytes, size, 0, samples[i].name);
        free(bytes);
    }
#if HEED_JPEG
    static const struct {
        int channels, across;
        bool progressive;
    } kinds[] = {{1, 1, false}, {3, 1, false}, {3, 2, false}, {3, 4, false}, {3, 2, true}, {4, 1, false}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int side = 0; side <= 40; side += 20) {
            size_t size;
            uint8_t *bytes = large_jpeg(kinds[i].channels, kinds[i].across, kinds[i].progressive, &size);
            char name[64];
            snprintf(name, sizeof name, "%d channels, %d across%s, side %d", kinds[i].channels,
                     kinds[i].across, kinds[i].progressive ? ", progressive" : "", side);
            check_parts(bytes, size, side, name);
            free(bytes);
        }
#endif
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        size_t size, blocks = hd_mem_now().blocks, n = 1;
        uint8_t *bytes = sample_bytes(&samples[i], &size);
        for (bool failed = can_read(&samples[i]); failed; n++) {
            hd_err err = {0};
            hd_image im;
            hd_mem_fail_at(n);
            hd_status s = hd_image_decode(&im, bytes, size, "x", &err);
            hd_mem_fail_at(0);
            failed = s != HD_OK;
            if (failed && s != HD_ENOMEM) fail_msg("%s, allocation %zu: %s", samples[i].name, n, err.text);
            hd_image_release(&im);
            assert_int_equal(hd_mem_now().blocks, blocks);
        }
        free(bytes);
    }
    size_t blocks = hd_mem_now().blocks;
    hd_image im;
    assert_int_equal(hd_image_make(&im, 5, 4, 3, "x", NULL), HD_OK);
    memset(im.pixel, 7, hd_image_bytes(&im));
    for (size_t n = 1, failed = HEED_PNG; failed; n++) {
        hd_err err = {0};
        hd_text to = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_image_encode_png(&to, &im, &err);
        hd_mem_fail_at(0);
        failed = s != HD_OK;
        if (failed) assert_int_equal(s, HD_ENOMEM);
        hd_text_release(&to);
    }
    hd_image_release(&im);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read_as_pillow_reads_it),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_byte_changed_anywhere_does_no_harm),
        cmocka_unit_test(a_size_that_is_claimed_costs_no_memory),
        cmocka_unit_test(a_large_jpeg_is_refused_before_it_is_decoded),
        cmocka_unit_test(arithmetic_coding_is_refused),
        cmocka_unit_test(a_wrong_checksum_is_damage),
        cmocka_unit_test(foreign_files_are_named),
        cmocka_unit_test(what_is_no_file_is_named),
        cmocka_unit_test(a_picture_written_is_read_again),
        cmocka_unit_test(a_jpeg_is_decoded_smaller_where_asked),
        cmocka_unit_test(a_part_is_what_all_of_it_has_there),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
