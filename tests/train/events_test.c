/* TensorBoard event files: bytes as TensorFlow writes them, and what a full disk leaves. A write is made to
   fail with a limit on the file size: root may write everywhere. */
#include "train/tfevents.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "train/log/events.h"

static char folder[64];
static tfevent event[TFEVENTS];
static char file[8][400];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-events-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    hd_mem_fail_at(0);
    for (int n = tf_files(file, folder); n; n--) unlink(file[n - 1]);
    return rmdir(folder);
}

static void limit_files_to(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static hd_events *open_events(uint64_t first, double time)
{
    hd_events *e = NULL;
    hd_err err = {0};
    if (hd_events_open(&e, folder, first, time, &err)) fail_msg("%s", err.text);
    return e;
}

static void the_checksum_of_the_test_is_that_of_the_standard(void **state)
{
    (void)state;
    assert_int_equal(tf_crc((const uint8_t *)"123456789", 9), 0xE3069283);
}

/* Every file of TensorFlow starts with the twelve bytes 18 00 .. a3 7f 4b 22; the rest was made by a program
   of some lines from the definition. */
static void bytes_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const uint8_t version[] = {0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa3, 0x7f,
                                      0x4b, 0x22, 0x09, 0x00, 0x00, 0x10, 0x40, 0xfc, 0x54, 0xd9,
                                      0x41, 0x1a, 0x0d, 0x62, 0x72, 0x61, 0x69, 0x6e, 0x2e, 0x45,
                                      0x76, 0x65, 0x6e, 0x74, 0x3a, 0x32, 0x33, 0x8d, 0x2f, 0xe9};
    static const uint8_t loss[] = {
        0x21, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7b, 0xec, 0xf6, 0x09, 0x00, 0x00, 0x10, 0x40,
        0xfc, 0x54, 0xd9, 0x41, 0x10, 0xac, 0x02, 0x2a, 0x13, 0x0a, 0x11, 0x0a, 0x0a, 0x74, 0x72, 0x61, 0x69,
        0x6e, 0x2f, 0x6c, 0x6f, 0x73, 0x73, 0x15, 0x00, 0x00, 0x20, 0x40, 0x8d, 0xab, 0xcc, 0x7d};
    enum { START = 16 + 9 + 4 }; /* the record between them, of step 0 */
    uint8_t data[256];
    hd_events *e = open_events(0, 1700000000.25);
    assert_int_equal(hd_events_add(e, "train/loss", 300, 2.5, 1700000000.25, NULL), HD_OK);
    assert_int_equal(hd_events_close(e, NULL), HD_OK);
    assert_int_equal(tf_files(file, folder), 1);
    assert_non_null(strstr(file[0], "/events.out.tfevents.1700000000.heed-000"));
    FILE *from = fopen(file[0], "rb");
    assert_int_equal(fread(data, 1, sizeof data, from), sizeof version + START + sizeof loss);
    fclose(from);
    assert_memory_equal(data, version, sizeof version);
    assert_memory_equal(data + sizeof version + START, loss, sizeof loss);
}

static void what_is_added_is_read_back(void **state)
{
    (void)state;
    char tag[301];
    memset(tag, 'x', 299);
    tag[299] = 0; /* longer than one byte of length can say */
    const struct {
        const char *tag;
        uint64_t step;
        double value, time;
    } cases[] = {
        {"a", 0, 0, 0},
        {"train/loss", 1, 1.5, 1.7e9 + 0.123},
        {"valid/bleu", 127, -0.0, 1},
        {"x", 128, 1e-45, 1},
        {"x", 16384, 3.25e38, 1},
        {"x", 9007199254740992, INFINITY, 1},
        {"x", INT64_MAX, -INFINITY, 1},
        {tag, 7, 0.1, 1},
        {"", 7, 1e300, 1}, /* too large for single precision */
    };
    size_t count = sizeof cases / sizeof *cases;
    hd_events *e = open_events(5, 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(hd_events_add(e, cases[i].tag, cases[i].step, cases[i].value, cases[i].time, NULL),
                         HD_OK);
    assert_int_equal(hd_events_add(e, "nan", 8, NAN, 3, NULL), HD_OK);
    assert_int_equal(hd_events_close(e, NULL), HD_OK);
    assert_int_equal(tf_files(file, folder), 1);
    assert_int_equal(tf_read(event, file[0]), count + 3);
    assert_string_equal(event[0].version, "brain.Event:2");
    assert_true(event[0].step == 0 && event[0].time == 2 && !event[0].start);
    assert_true(event[1].start && event[1].step == 5 && event[1].time == 2);
    for (size_t i = 0; i < count; i++) {
        const tfevent *is = &event[i + 2];
        assert_string_equal(is->tag, cases[i].tag);
        assert_true(is->step == (int64_t)cases[i].step && is->time == cases[i].time);
        assert_true(is->value == (float)cases[i].value && !signbit(is->value) == !signbit(cases[i].value));
    }
    assert_true(isnan(event[count + 2].value));
}

static void files_of_one_second_are_in_order(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) hd_events_close(open_events(i, 1700000000.9), NULL);
    hd_events_close(open_events(3, 1700000001), NULL);
    assert_int_equal(tf_files(file, folder), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tf_read(event, file[i]), 2);
        assert_int_equal(event[1].step, i);
    }
}

static void nothing_is_written_before_a_flush(void **state)
{
    (void)state;
    hd_events *e = open_events(0, 1);
    assert_int_equal(hd_events_add(e, "a", 1, 1, 1, NULL), HD_OK);
    tf_files(file, folder);
    assert_int_equal(tf_read(event, file[0]), 2);
    assert_int_equal(hd_events_flush(e, NULL), HD_OK);
    assert_int_equal(tf_read(event, file[0]), 3);
    for (int i = 0; i < 3000; i++) assert_int_equal(hd_events_add(e, "a", 1, 1, 1, NULL), HD_OK);
    assert_true(tf_read(event, file[0]) > 1000); /* much is written by itself */
    assert_int_equal(hd_events_close(e, NULL), HD_OK);
    assert_int_equal(tf_read(event, file[0]), 3003);
}

static void a_failed_write_leaves_whole_records(void **state)
{
    (void)state;
    hd_err err = {0};
    struct stat info;
    hd_events *e = open_events(0, 1);
    assert_int_equal(hd_events_add(e, "kept", 1, 1, 1, NULL), HD_OK);
    assert_int_equal(hd_events_flush(e, NULL), HD_OK);
    tf_files(file, folder);
    stat(file[0], &info);
    assert_int_equal(hd_events_add(e, "lost", 2, 1, 1, NULL), HD_OK);
    signal(SIGXFSZ, SIG_IGN);
    limit_files_to((rlim_t)info.st_size + 20); /* half a record fits */
    hd_status s = hd_events_flush(e, &err);
    limit_files_to(RLIM_INFINITY);
    assert_int_equal(s, HD_EFILE);
    assert_non_null(strstr(err.text, file[0]));
    assert_int_equal(tf_read(event, file[0]), 3);
    assert_int_equal(hd_events_add(e, "again", 3, 1, 1, NULL), HD_OK);
    assert_int_equal(hd_events_close(e, NULL), HD_OK);
    assert_int_equal(tf_read(event, file[0]), 4);
    assert_string_equal(event[3].tag, "again");
}

static void what_cannot_be_made_is_named(void **state)
{
    (void)state;
    hd_events *e = NULL;
    hd_err err = {0};
    char missing[100];
    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(hd_events_open(&e, missing, 0, 1, &err), HD_EFILE);
    assert_null(e);
    assert_non_null(strstr(err.text, missing));
    assert_non_null(strstr(err.text, "No such file"));
    limit_files_to(10);
    hd_status s = hd_events_open(&e, folder, 0, 1, NULL);
    limit_files_to(RLIM_INFINITY);
    assert_int_equal(s, HD_EFILE);
    assert_int_equal(tf_files(file, folder), 0);
    assert_int_equal(hd_events_close(NULL, NULL), HD_OK);
}

/* All in one: opens, adds, flushes, closes; the first failure. */
static hd_status use_events(hd_err *err)
{
    hd_events *e = NULL;
    hd_status s = hd_events_open(&e, folder, 0, 1, err);
    for (int i = 0; !s && i < 20; i++) s = hd_events_add(e, "some tag", 1, 1, 1, err);
    hd_status closed = hd_events_close(e, err);
    return s ? s : closed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t before = hd_mem_now().blocks, failures = 0;
    for (;; failures++) {
        hd_err err = {0};
        hd_mem_fail_at(failures + 1);
        hd_status s = use_events(&err);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, before);
        int files = tf_files(file, folder);
        for (int i = 0; i < files; i++) {
            assert_true(tf_read(event, file[i]) >= 2);
            unlink(file[i]);
        }
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
    }
    assert_true(failures >= 3);
}

static void a_record_that_found_no_memory_is_left_out(void **state)
{
    (void)state;
    char tag[300];
    memset(tag, 'x', 299);
    tag[299] = 0;
    hd_events *e = open_events(0, 1);
    assert_int_equal(hd_events_add(e, "before", 1, 1, 1, NULL), HD_OK);
    hd_mem_fail_at(1);
    assert_int_equal(hd_events_add(e, tag, 1, 1, 1, NULL), HD_ENOMEM);
    assert_int_equal(hd_events_add(e, "after", 1, 1, 1, NULL), HD_OK);
    assert_int_equal(hd_events_close(e, NULL), HD_OK);
    tf_files(file, folder);
    assert_int_equal(tf_read(event, file[0]), 4);
    assert_string_equal(event[3].tag, "after");
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_of_the_test_is_that_of_the_standard),
        EACH(bytes_are_those_of_tensorflow),
        EACH(what_is_added_is_read_back),
        EACH(files_of_one_second_are_in_order),
        EACH(nothing_is_written_before_a_flush),
        EACH(a_failed_write_leaves_whole_records),
        EACH(what_cannot_be_made_is_named),
        EACH(a_record_that_found_no_memory_is_left_out),
        EACH(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
