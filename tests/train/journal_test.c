/* The log of a run: what is in it after reports, resumptions, kills and full disks. */
#include "train/tfevents.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "train/log/journal.h"

enum { ROOM = 1 << 16 };

static char folder[64], below[80], path[100];
static tfevent event[TFEVENTS];
static char file[8][400];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-journal-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(below, sizeof below, "%s/train", folder);
    snprintf(path, sizeof path, "%s/log.jsonl", below);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    hd_mem_fail_at(0);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static hd_journal *open_journal(uint64_t resumed)
{
    hd_journal *j = NULL;
    hd_err err = {0};
    if (hd_journal_open(&j, folder, resumed, &err)) fail_msg("%s", err.text);
    return j;
}

static void add(hd_journal *j, uint64_t step, const char *kind, double loss)
{
    hd_err err = {0};
    const hd_report_line line = {
        .step = step, .kind = kind, .time = 1700000000.25, HD_FIELDS(HD_FIELD("loss", loss))};
    if (hd_journal_add(j, &line, &err)) fail_msg("%s", err.text);
}

static void write_log(const char *text, size_t size)
{
    mkdir(below, 0777);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
}

static const char *log_now(void)
{
    static char text[ROOM];
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    size_t size = fread(text, 1, sizeof text - 1, from);
    fclose(from);
    text[size] = 0;
    return text;
}

static void a_line_holds_every_kind_of_field(void **state)
{
    (void)state;
    hd_journal *j = open_journal(0);
    char name[] = "a \"name\"\\ \n\t\x01 \xc3\xa9 \xff.";
    const char *none = NULL;
    const hd_report_line line = {
        .step = 9007199254740992,
        .kind = "valid",
        .time = 1700000000.1236,
        HD_FIELDS(HD_FIELD("loss", 0.1f), HD_FIELD("rate", 0.1), HD_FIELD("big", 1e300),
                  HD_FIELD("zero", -0.0), HD_FIELD("tokens", (size_t)4096), HD_FIELD("less", -3),
                  HD_FIELD("best", true), HD_FIELD("most", INT64_MAX), HD_FIELD("nan", NAN),
                  HD_FIELD("inf", -INFINITY), HD_FIELD("name", name), HD_FIELD("none", none),
                  HD_FIELD("said", "yes"))};
    assert_int_equal(hd_journal_add(j, &line, NULL), HD_OK);
    assert_int_equal(hd_journal_add(j, &(hd_report_line){.step = 1, .kind = "save", .time = 5}, NULL), HD_OK);
    assert_int_equal(hd_journal_close(j, NULL), HD_OK);
    assert_string_equal(
        log_now(), "{\"step\":9007199254740992,\"kind\":\"valid\",\"time\":1700000000.124,"
                   "\"loss\":0.10000000149011612,\"rate\":0.1,\"big\":1e+300,\"zero\":-0.0,\"tokens\":4096,"
                   "\"less\":-3,\"best\":1,\"most\":9223372036854775807,\"nan\":null,\"inf\":null,"
                   "\"name\":\"a \\\"name\\\"\\\\ \\u000a\\u0009\\u0001 \xc3\xa9 \\ufffd.\","
                   "\"none\":null,\"said\":\"yes\"}\n"
                   "{\"step\":1,\"kind\":\"save\",\"time\":5.000}\n");
}

/* Each number is read by Jansson, and has the bits it had. */
static void numbers_read_back_with_the_same_bits(void **state)
{
    (void)state;
    double cases[200] = {0, 1, 0.1, 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, -0.0, 1e15, 123456789012345678.0};
    uint64_t bits = 88172645463325252;
    for (size_t i = 10; i < 200; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&cases[i], &bits, 8);
        if (!isfinite(cases[i])) cases[i] = 0;
    }
    hd_journal *j = open_journal(0);
    for (size_t i = 0; i < 200; i++) add(j, i, "train", cases[i]);
    hd_journal_close(j, NULL);
    char *line = strdup(log_now()), *all = line;
    for (size_t i = 0; i < 200; i++, line = strchr(line, '\n') + 1) {
        hd_arena arena;
        json_error_t why;
        hd_arena_init(&arena, hd_allocator_host, 4096);
        json_t *root = hd_json_load(&arena, line, (size_t)(strchr(line, '\n') - line), &why);
        assert_non_null(root);
        double back = json_number_value(json_object_get(root, "loss"));
        assert_memory_equal(&back, &cases[i], sizeof back);
        assert_int_equal(json_integer_value(json_object_get(root, "step")), i);
        hd_arena_release(&arena);
    }
    free(all);
}

static void the_clock_is_asked_where_no_time_is_given(void **state)
{
    (void)state;
    hd_journal *j = open_journal(0);
    double before = (double)time(NULL), said;
    assert_int_equal(hd_journal_add(j, &(hd_report_line){.step = 1, .kind = "save"}, NULL), HD_OK);
    hd_journal_close(j, NULL);
    assert_int_equal(sscanf(log_now(), "{\"step\":1,\"kind\":\"save\",\"time\":%lf}", &said), 1);
    assert_true(said >= before - 0.001 && said < before + 60);
}

static void numbers_are_events(void **state)
{
    (void)state;
    hd_journal *j = open_journal(0);
    hd_report_line line = {.step = 100,
                           .kind = "train",
                           .time = 1700000000.5,
                           HD_FIELDS(HD_FIELD("loss", 2.5), HD_FIELD("file", "x"), HD_FIELD("tokens", 7))};
    assert_int_equal(hd_journal_add(j, &line, NULL), HD_OK);
    line.kind = "valid";
    line.count = 1;
    assert_int_equal(hd_journal_add(j, &line, NULL), HD_OK);
    assert_int_equal(tf_files(file, below), 1);
    assert_int_equal(tf_read(event, file[0]), 5); /* there before the journal is closed */
    assert_true(event[1].start && event[1].step == 0);
    assert_string_equal(event[2].tag, "train/loss");
    assert_string_equal(event[3].tag, "train/tokens");
    assert_string_equal(event[4].tag, "valid/loss");
    assert_true(event[2].value == 2.5f && event[3].value == 7 && event[3].step == 100);
    assert_true(event[2].time == 1700000000.5);
    hd_journal_close(j, NULL);
}

#define LINE(step) "{\"step\":" #step ",\"kind\":\"train\",\"time\":1700000000.250,\"loss\":1.0}\n"

static void a_new_run_starts_an_empty_log(void **state)
{
    (void)state;
    hd_journal *j = open_journal(0);
    add(j, 1, "train", 1);
    hd_journal_close(j, NULL);
    assert_string_equal(log_now(), LINE(1));
    j = open_journal(0);
    assert_string_equal(log_now(), "");
    add(j, 2, "train", 1);
    hd_journal_close(j, NULL);
    assert_string_equal(log_now(), LINE(2));
}

static void a_resumed_run_goes_on_where_it_was(void **state)
{
    (void)state;
    hd_journal *j = open_journal(0);
    for (uint64_t step = 0; step <= 50; step += 10) add(j, step, "train", 1);
    hd_journal_close(j, NULL);
    j = open_journal(30);
    assert_string_equal(log_now(), LINE(0) LINE(10) LINE(20) LINE(30));
    add(j, 40, "train", 1);
    hd_journal_close(j, NULL);
    assert_string_equal(log_now(), LINE(0) LINE(10) LINE(20) LINE(30) LINE(40));
    assert_int_equal(tf_files(file, below), 2);
    assert_int_equal(tf_read(event, file[1]), 3);
    assert_true(event[1].start && event[1].step == 31 && event[2].step == 40);
}

static void a_resumed_run_without_a_log_starts_one(void **state)
{
    (void)state;
    hd_journal *j = open_journal(30);
    add(j, 40, "train", 1);
    hd_journal_close(j, NULL);
    assert_string_equal(log_now(), LINE(40));
}

static void what_is_no_report_is_dropped(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        size_t size; /* 0: as long as it says */
    } cases[] = {
        {"", "", 0},
        {LINE(1) LINE(9) "{\"step\":2,\"kin", LINE(1), 0}, /* torn by a kill */
        {LINE(1) "{\"step\":2}", LINE(1) "{\"step\":2}\n", 0},
        {LINE(1) "{\"step\":2", LINE(1), 0},
        {LINE(1) LINE(2) "\0\0\0\0\0", LINE(1) LINE(2), sizeof LINE(1) LINE(2) + 4}, /* by a power cut */
        {"\n\n" LINE(3) "nonsense\n[1]\n{}\n{\"step\":\"1\"}\n{\"step\":1.5}\n{\"step\":-1}\n" LINE(2),
         LINE(3) LINE(2), 0},
        {"{\"step\":1,\"step\":99}\n" LINE(5), LINE(5), 0},
        {LINE(99999999999999999999) LINE(6) LINE(5), LINE(5), 0},
        {"{\"step\":5,\"x\":[[[{\"y\":\"\\u00e9\"}]]]}\n", "{\"step\":5,\"x\":[[[{\"y\":\"\\u00e9\"}]]]}\n",
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_log(cases[i].before, cases[i].size ? cases[i].size : strlen(cases[i].before));
        hd_journal_close(open_journal(5), NULL);
        assert_string_equal(log_now(), cases[i].after);
        for (int n = tf_files(file, below); n; n--) unlink(file[n - 1]);
    }
}

static void long_lines_and_logs_are_cut_too(void **state)
{
    (void)state;
    enum { LONG = 3 << 20 };
    char *text = malloc(LONG + 200);
    memset(text, 'x', LONG); /* one line longer than anything heed writes, and what follows it */
    strcpy(text + LONG, "\n" LINE(4) LINE(6));
    write_log(text, strlen(text));
    free(text);
    hd_journal_close(open_journal(5), NULL);
    assert_string_equal(log_now(), LINE(4));
}

static void limit_files_to(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static hd_status add_within(hd_journal *j, uint64_t step, rlim_t bytes, hd_err *err)
{
    const hd_report_line line = {
        .step = step, .kind = "train", .time = 1700000000.25, HD_FIELDS(HD_FIELD("loss", 1.0))};
    signal(SIGXFSZ, SIG_IGN);
    limit_files_to(bytes);
    hd_status s = hd_journal_add(j, &line, err);
    limit_files_to(RLIM_INFINITY);
    return s;
}

/* Half the line fits: it goes again, and the run goes on. */
static void a_full_disk_costs_one_line(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_journal *j = open_journal(0);
    add(j, 1, "train", 1);
    assert_int_equal(add_within(j, 2, sizeof LINE(1) + 10, &err), HD_EFILE);
    assert_non_null(strstr(err.text, path));
    assert_string_equal(log_now(), LINE(1));
    add(j, 3, "train", 1);
    assert_int_equal(hd_journal_close(j, NULL), HD_OK);
    assert_string_equal(log_now(), LINE(1) LINE(3));
    assert_int_equal(tf_files(file, below), 1);
    tf_read(event, file[0]); /* whole */
}

static void a_device_that_is_full_is_named(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_journal *j = NULL;
    mkdir(below, 0777);
    assert_int_equal(symlink("/dev/full", path), 0);
    j = open_journal(0);
    for (int i = 0; i < 2; i++) {
        err = (hd_err){0};
        assert_int_equal(hd_journal_add(j, &(hd_report_line){.step = 1, .kind = "save"}, &err), HD_EFILE);
        assert_non_null(strstr(err.text, "log.jsonl: cannot write: No space left on device"));
    }
    /* the events have a file of their own, and it has room */
    assert_int_equal(
        hd_journal_add(j, &(hd_report_line){.step = 1, .kind = "a", HD_FIELDS(HD_FIELD("b", 1))}, NULL),
        HD_EFILE);
    tf_files(file, below);
    assert_int_equal(tf_read(event, file[0]), 3);
    assert_int_equal(hd_journal_close(j, NULL), HD_OK);
    err = (hd_err){0};
    assert_int_equal(hd_journal_open(&j, folder, 5, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "log.jsonl: is a device"));
}

static void what_cannot_be_written_is_named(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_journal *j = NULL;
    char missing[100];
    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(hd_journal_open(&j, missing, 0, &err), HD_EFILE);
    assert_non_null(strstr(err.text, missing));
    FILE *to = fopen(below, "w"); /* a file where the folder should be */
    fclose(to);
    err = (hd_err){0};
    assert_int_equal(hd_journal_open(&j, folder, 0, &err), HD_EFILE);
    assert_non_null(strstr(err.text, below));
    unlink(below);
    mkdir(below, 0777);
    mkdir(path, 0777);
    for (uint64_t resumed = 0; resumed < 2; resumed++) {
        err = (hd_err){0};
        assert_int_equal(hd_journal_open(&j, folder, resumed, &err), HD_EFILE);
        assert_non_null(strstr(err.text, path));
    }
    assert_null(j);
    assert_int_equal(hd_journal_close(NULL, NULL), HD_OK);
}

/* The old log stays while the new one cannot be written. */
static void a_log_that_cannot_be_cut_stays(void **state)
{
    (void)state;
    hd_journal *j = NULL;
    write_log(LINE(1) LINE(2) LINE(3), strlen(LINE(1) LINE(2) LINE(3)));
    signal(SIGXFSZ, SIG_IGN);
    limit_files_to(10);
    hd_status s = hd_journal_open(&j, folder, 2, NULL);
    limit_files_to(RLIM_INFINITY);
    assert_int_equal(s, HD_EFILE);
    assert_string_equal(log_now(), LINE(1) LINE(2) LINE(3));
}

static hd_status use_journal(hd_err *err)
{
    hd_journal *j = NULL;
    hd_status s = hd_journal_open(&j, folder, 2, err);
    const hd_report_line line = {
        .step = 3, .kind = "train", .time = 1700000000.25, HD_FIELDS(HD_FIELD("loss", 1.0))};
    if (!s) s = hd_journal_add(j, &line, err);
    hd_status closed = hd_journal_close(j, err);
    return s ? s : closed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t before = hd_mem_now().blocks, failures = 0;
    for (;; failures++) {
        hd_err err = {0};
        write_log(LINE(1) LINE(2) LINE(3), strlen(LINE(1) LINE(2) LINE(3)));
        hd_mem_fail_at(failures + 1);
        hd_status s = use_journal(&err);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, before);
        for (int n = tf_files(file, below); n; n--) unlink(file[n - 1]);
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
        assert_int_equal(err.status, HD_ENOMEM);
        assert_int_equal(strncmp(log_now(), LINE(1) LINE(2), strlen(LINE(1) LINE(2))), 0); /* none is lost */
    }
    assert_true(failures > 5);
    assert_string_equal(log_now(), LINE(1) LINE(2) LINE(3));
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_line_holds_every_kind_of_field),
        EACH(numbers_read_back_with_the_same_bits),
        EACH(the_clock_is_asked_where_no_time_is_given),
        EACH(numbers_are_events),
        EACH(a_new_run_starts_an_empty_log),
        EACH(a_resumed_run_goes_on_where_it_was),
        EACH(a_resumed_run_without_a_log_starts_one),
        EACH(what_is_no_report_is_dropped),
        EACH(long_lines_and_logs_are_cut_too),
        EACH(a_full_disk_costs_one_line),
        EACH(a_device_that_is_full_is_named),
        EACH(what_cannot_be_written_is_named),
        EACH(a_log_that_cannot_be_cut_stays),
        EACH(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
