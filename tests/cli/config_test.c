/* Options from a YAML file: every type, who wins, and what is refused with which words. The program's own
   sources are not in the library: they are included. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/frame/config.c"
#include "cli/frame/names.c"
#include "cli/frame/option.c"

struct values {
    bool flag, other;
    int batch_tokens, color;
    int64_t steps;
    double lr;
    const char *text, *file, *config;
    hd_texts pair, refs;
    bool help;
    int threads;
};

static const char *const colors[] = {"red", "off", "blue", NULL};

static const hd_option table[] = {
    {"flag", 'f', NULL, NULL, "", HD_FLAG_INTO(struct values, flag)},
    {"other", 'o', NULL, NULL, "", HD_FLAG_INTO(struct values, other)},
    {"batch-tokens", 0, "N", "4096", "", HD_INT_INTO(struct values, batch_tokens, 1, 10000)},
    {"color", 0, "COLOR", "blue", "", HD_CHOICE_INTO(struct values, color, colors)},
    {"steps", 0, "N", "1", "", HD_LONG_INTO(struct values, steps, 0, 9007199254740992)},
    {"lr", 0, "RATE", "0.5", "", HD_FLOAT_INTO(struct values, lr, 0, 1)},
    {"text", 't', "TEXT", NULL, "", HD_TEXT_INTO(struct values, text)},
    {"file", 0, "FILE", NULL, "", HD_FILE_INTO(struct values, file)},
    {"pair", 0, "FILE", NULL, "", HD_FILES_AT_ONCE_INTO(struct values, pair, 2)},
    {"ref", 0, "FILE", NULL, "", HD_FILES_INTO(struct values, refs)},
    {HD_CONFIG_NAME, 0, "FILE", NULL, HD_CONFIG_HELP, HD_FILE_INTO(struct values, config)},
    {0},
};
static const hd_option common[] = {
    {"threads", 0, "N", "0", "", HD_INT_INTO(struct values, threads, 0, 8)},
    {"help", 'h', NULL, NULL, "", HD_FLAG_INTO(struct values, help)},
    {0},
};

enum { ROWS = sizeof table / sizeof *table - 1, COMMON_ROWS = sizeof common / sizeof *common - 1 };

static char path[] = "/tmp/heed-config-test-XXXXXX";
static struct values v;
static hd_given given[ROWS + COMMON_ROWS];
static hd_arena texts;
static hd_err err;

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    hd_arena_init(&texts, hd_allocator_host, 256);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    hd_arena_release(&texts);
    return unlink(path);
}

static void write_file(const char *data, size_t size)
{
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(data, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
}

/* Parses a line split at spaces, then the file `name` where it is not NULL. */
static hd_status read_all(const char *line, const char *name)
{
    static char copy[256], *word[32];
    hd_words words = {word, 0};
    v = (struct values){0};
    err = (hd_err){0};
    memset(given, 0, sizeof given);
    hd_arena_release(&texts);
    snprintf(copy, sizeof copy, "%s%s%s", line, name ? " --config " : "", name ? name : "");
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) word[words.count++] = w;
    const hd_option_set others = {common, &v, given + ROWS, NULL}, set = {table, &v, given, &others};
    hd_status s = hd_option_parse(&set, &words, false, &err);
    return s ? s : hd_config_read(&set, &texts, &err);
}

static hd_status read_bytes(const char *line, const char *data, size_t size)
{
    write_file(data, size);
    return read_all(line, path);
}

static void read_well(const char *line, const char *data)
{
    if (read_bytes(line, data, strlen(data))) fail_msg("%s", err.text);
}

static bool was_given(const char *name)
{
    const hd_option_set others = {common, &v, given + ROWS, NULL}, set = {table, &v, given, &others};
    return hd_option_given(hd_option_find(&set, name).given);
}

static void without_a_file_nothing_is_read(void **state)
{
    (void)state;
    assert_int_equal(read_all("--lr 0.25", NULL), HD_OK);
    assert_true(v.lr == 0.25 && v.batch_tokens == 4096);
    const hd_option_set set = {common, &v, given, NULL};
    assert_int_equal(hd_config_read(&set, &texts, &err), HD_OK);
}

static void every_type_is_read(void **state)
{
    (void)state;
    read_well("", "# a comment\n"
                  "flag: true\n"
                  "batch_tokens: 128  # and another\n"
                  "color: off\n"
                  "steps: 9007199254740992\n"
                  "lr: 1e-3\n"
                  "text: 'it''s: text'\n"
                  "file: no\n"
                  "pair: [a.en, \"b\\u00e9.de\"]\n"
                  "ref:\n  - one\n  - two\n  - '~'\n"
                  "threads: 3\n");
    assert_true(v.flag && !v.other && v.batch_tokens == 128 && v.color == 1 && v.lr == 1e-3 &&
                v.steps == 9007199254740992 && v.threads == 3);
    assert_string_equal(v.text, "it's: text");
    assert_string_equal(v.file, "no");
    assert_true(v.pair.count == 2 && v.refs.count == 3);
    assert_string_equal(v.pair.text[0], "a.en");
    assert_string_equal(v.pair.text[1], "b\xc3\xa9.de");
    assert_string_equal(v.refs.text[1], "two");
    assert_string_equal(v.refs.text[2], "~");
    assert_true(was_given("flag") && was_given("batch-tokens") && was_given("threads") && was_given("ref"));
    assert_false(was_given("other") || was_given("help"));
}

static void every_form_of_a_flag_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool value;
    } cases[] = {{"true", true}, {"True", true},   {"yes", true},  {"on", true},    {"'true'", true},
                 {"no", false},  {"FALSE", false}, {"off", false}, {"false", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "{flag: %s}", cases[i].word);
        read_well("", text);
        assert_int_equal(v.flag, cases[i].value);
        assert_true(was_given("flag"));
    }
}

static void one_value_needs_no_list(void **state)
{
    (void)state;
    read_well("", "pair: corpus.tsv\nref: '-'\n");
    assert_true(v.pair.count == 1 && v.refs.count == 1);
    assert_string_equal(v.pair.text[0], "corpus.tsv");
    assert_string_equal(v.refs.text[0], "-");
}

static void the_command_line_wins(void **state)
{
    (void)state;
    read_well("--lr 0.25 --pair x --ref y --ref z --text t --no-flag --threads 2",
              "lr: 0.125\nflag: true\nother: true\npair: [a, b]\nref: [a, b, c]\ntext: u\nthreads: 1\n"
              "steps: 7\n");
    assert_true(v.lr == 0.25 && !v.flag && v.other && v.threads == 2 && v.steps == 7 &&
                v.batch_tokens == 4096);
    assert_true(v.pair.count == 1 && v.refs.count == 2);
    assert_string_equal(v.pair.text[0], "x");
    assert_string_equal(v.refs.text[1], "z");
    assert_string_equal(v.text, "t");
    assert_true(was_given("steps") && was_given("lr") && !was_given("batch-tokens"));
}

static void nothing_in_it_is_no_option(void **state)
{
    (void)state;
    static const char *const files[] = {"",    "\n\n",       "# only a comment\n", "---\n",           "{}",
                                        "~\n", "---\n...\n", "\xef\xbb\xbf",       "%YAML 1.2\n---\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        read_well("", files[i]);
        assert_true(v.batch_tokens == 4096 && v.lr == 0.5 && !was_given("lr"));
    }
    read_well("", "\xef\xbb\xbfsteps: 5\r\nlr: 0\r\n"); /* as editors on Windows write it */
    assert_true(v.steps == 5 && v.lr == 0);
}

/* The text behind "FILE:". One that ends with a blank goes on in the words of libyaml, which change. */
static void assert_refused(const char *data, size_t size, hd_status status, const char *text)
{
    char expected[600];
    hd_status s = read_bytes("", data, size);
    snprintf(expected, sizeof expected, "%s:%s", path, text);
    size_t length = strlen(expected) + (expected[strlen(expected) - 1] != ' ');
    if (s != status || strncmp(err.text, expected, length))
        fail_msg("%.200s\ngives: %d %s\nnot:   %d %s", data, s, err.text, status, expected);
}

static void mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    static const struct {
        hd_status status;
        const char *file, *text;
    } cases[] = {
        {HD_EARG, "\nbacth_tokens: 3", "2: unknown option 'bacth-tokens', did you mean 'batch-tokens'?"},
        {HD_EARG, "qqqq: 3", "1: unknown option 'qqqq'"},
        {HD_EARG, "? \"a\\0b\"\n: 3", "1: unknown option 'a'"},
        {HD_EARG, "lr: 0.1\nsteps: 1\nlr: 0.1", "3: lr: is already set in line 1; keep one of them"},
        {HD_EARG, "batch_tokens: 1\nbatch-tokens: 1",
         "2: batch-tokens: is already set in line 1; keep one of them"},
        {HD_EARG, "lr: fast", "1: lr: 'fast' is not a number"},
        {HD_EARG, "lr: .nan", "1: lr: '.nan' is not a number"},
        {HD_EARG, "lr: 2", "1: lr: 2 is not between 0 and 1"},
        {HD_EARG, "steps: 9007199254740993",
         "1: steps: 9007199254740993 is not between 0 and 9007199254740992"},
        {HD_EARG, "\n\nsteps: 1.5", "3: steps: '1.5' is not a whole number"},
        {HD_EARG, "batch-tokens: true", "1: batch-tokens: 'true' is not a whole number"},
        {HD_EARG, "threads: 9", "1: threads: 9 is not between 0 and 8"},
        {HD_EARG, "color: pink", "1: color: 'pink' is not one of red, off, blue"},
        {HD_EARG, "flag: 1", "1: flag: '1' is not true or false"},
        {HD_EARG, "flag:\n", "1: flag: has no value; leave the line out for the default"},
        {HD_EARG, "text: null", "1: text: has no value; leave the line out for the default"},
        {HD_EARG, "text: \"a\\0b\"", "1: text: the value holds a zero byte; leave it out"},
        {HD_EARG, "lr: [0.1]", "1: lr: takes one value, not a list"},
        {HD_EARG, "flag: []", "1: flag: takes one value, not a list"},
        {HD_EARG, "pair: []", "1: pair: the list is empty; leave the line out"},
        {HD_EARG, "pair:\n  - a\n  - b\n  - c", "4: pair: takes at most 2 values"},
        {HD_EARG, "pair: [a, [b]]", "1: pair: takes a list of values; write them without nesting"},
        {HD_EARG, "pair: [a: b]", "1: pair: takes a list of values; write them without nesting"},
        {HD_EARG, "pair: [a, ~]", "1: pair: has no value; leave the line out for the default"},
        {HD_EARG, "steps: 3\ntext:\n  lr: 3",
         "2: text: holds 'name: value' lines; options are not nested, each stands at the left margin"},
        {HD_EARG, "config: other.yml", "1: config: belongs on the command line, not in a file"},
        {HD_EARG, "help: true", "1: help: belongs on the command line, not in a file"},
        {HD_EFORMAT, "[a]: 3", "1: the name of an option is expected before the ':'"},
        {HD_EFORMAT, "- lr: 3", "1: holds a list; write 'option: value' lines"},
        {HD_EFORMAT, "\nlr 3", "2: holds only text; write 'option: value' lines"},
        {HD_EFORMAT, "lr: 0.1\n---\nlr: 0.1", "2: a second document begins; put all options in one"},
        {HD_EFORMAT, "text: &a x",
         "1: anchors and aliases are not read: write the value out, or in quotes if it begins with '&' or "
         "'*'"},
        {HD_EFORMAT, "\ntext: *a",
         "2: anchors and aliases are not read: write the value out, or in quotes if it begins with '&' or "
         "'*'"},
        {HD_EFORMAT, "pair: &a [x]",
         "1: anchors and aliases are not read: write the value out, or in quotes if it begins with '&' or "
         "'*'"},
        {HD_EFORMAT, "&a lr: 1",
         "1: anchors and aliases are not read: write the value out, or in quotes if it begins with '&' or "
         "'*'"},
        {HD_EFORMAT, "steps: !!int 3",
         "1: tags are not read: leave 'tag:yaml.org,2002:int' out, or write the value in quotes if it begins "
         "with '!'"},
        {HD_EFORMAT, "steps: 2\ntext: a: b", "2: not YAML: "},
        {HD_EFORMAT, "lr: 1\n\tsteps: 2", "2: not YAML: "},
        {HD_EFORMAT, "text: 'a\n", "2: not YAML: "},
        {HD_EFORMAT, "text: a\ntext: \001\n", "2: not YAML: "},
        {HD_EFORMAT, "text: a\nfile: caf\xe9\n", "2: not UTF-8: byte 0xe9; save the file as UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].file, strlen(cases[i].file), cases[i].status, cases[i].text);
    assert_refused("l\0r\0:\0", 6, HD_EFORMAT, "1: not YAML: ");
    assert_refused("\xff\xfel\0r\0", 6, HD_EFORMAT, "1: not UTF-8: byte 0xff; save the file as UTF-8");
}

static void what_the_command_line_overrides_is_checked_too(void **state)
{
    (void)state;
    static const char data[] = "lr: 7\n", list[] = "pair: [a, b, c]";
    assert_int_equal(read_bytes("--lr 0.5", data, sizeof data - 1), HD_EARG);
    assert_non_null(strstr(err.text, ":1: lr: 7 is not between 0 and 1"));
    assert_int_equal(read_bytes("--pair a", list, sizeof list - 1), HD_EARG);
    assert_non_null(strstr(err.text, ":1: pair: takes at most 2 values"));
}

static void large_files_are_refused(void **state)
{
    (void)state;
    static char data[HD_CONFIG_LARGEST + 1];
    memset(data, '#', sizeof data);
    assert_int_equal(read_bytes("", data, sizeof data - 1), HD_OK);
    assert_refused(data, sizeof data, HD_ELIMIT,
                   " has 1048577 bytes, more than the 1048576 a file of options may have");
    memset(data, '[', sizeof data);
    memcpy(data, "pair: ", 6);
    assert_refused(data, sizeof data - 1, HD_EARG,
                   "1: pair: takes a list of values; write them without nesting");
    memset(data, 'x', sizeof data);
    memcpy(data, "text: ", 6);
    assert_int_equal(read_bytes("", data, sizeof data - 1), HD_OK);
    assert_int_equal(strlen(v.text), HD_CONFIG_LARGEST - 6);
    for (size_t i = 0; i + 2 < sizeof data; i += 2) memcpy(data + i, "&a", 2);
    assert_int_equal(read_bytes("", data, sizeof data - 1), HD_EFORMAT);
}

static void long_names_are_unknown(void **state)
{
    (void)state;
    char data[2000];
    memset(data, 'x', sizeof data);
    memcpy(data, "? ", 2);
    memcpy(data + 1500, "\n: 3\n", 5);
    assert_int_equal(read_bytes("", data, 1505), HD_EARG);
    assert_non_null(strstr(err.text, ":1: unknown option 'xxxxxxxx"));
    memcpy(data + 2, "lr_", 3);
    assert_int_equal(read_bytes("", data, 1505), HD_EARG);
}

static void a_list_may_be_too_long(void **state)
{
    (void)state;
    char data[1024] = "ref: [", *to = data + 6;
    for (int i = 0; i < HD_OPTION_MOST; i++) to += sprintf(to, "f%d, ", i);
    strcpy(to, "]");
    read_well("", data);
    assert_int_equal(v.refs.count, HD_OPTION_MOST);
    strcpy(to, "one more]");
    assert_refused(data, strlen(data), HD_EARG, "1: ref: given more than 64 times");
}

static void what_cannot_be_read_is_a_file_error(void **state)
{
    (void)state;
    assert_int_equal(read_all("", "/tmp/heed-no-such-file.yml"), HD_EFILE);
    assert_string_equal(err.text, "/tmp/heed-no-such-file.yml: cannot open: No such file or directory");
    assert_int_equal(read_all("", "/tmp"), HD_EFILE);
    assert_string_equal(err.text, "/tmp: is a folder, not a file");
    assert_int_equal(read_all("", "/dev/null"), HD_EFILE);
    assert_int_equal(read_all("--config=", NULL), HD_EFILE);
}

/* Text that the file gave is the arena's own: the file may change or go. */
static void values_outlive_the_file(void **state)
{
    (void)state;
    read_well("", "text: kept\npair: [also kept, and this]\n");
    write_file("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 40);
    assert_string_equal(v.text, "kept");
    assert_string_equal(v.pair.text[1], "and this");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char data[] = "lr: 0.125\ntext: some\npair: [a, b]\nflag: on\n";
    hd_arena_release(&texts);
    size_t before = hd_mem_now().blocks, failures = 0;
    for (;; failures++) {
        hd_mem_fail_at(failures + 1);
        hd_status s = read_bytes("", data, sizeof data - 1);
        hd_mem_fail_at(0);
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
        hd_arena_release(&texts);
        assert_int_equal(hd_mem_now().blocks, before);
    }
    assert_true(failures > 0);
    assert_true(v.lr == 0.125 && v.flag && v.pair.count == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_nothing_is_read),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(every_form_of_a_flag_is_read),
        cmocka_unit_test(one_value_needs_no_list),
        cmocka_unit_test(the_command_line_wins),
        cmocka_unit_test(nothing_in_it_is_no_option),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(what_the_command_line_overrides_is_checked_too),
        cmocka_unit_test(large_files_are_refused),
        cmocka_unit_test(long_names_are_unknown),
        cmocka_unit_test(a_list_may_be_too_long),
        cmocka_unit_test(what_cannot_be_read_is_a_file_error),
        cmocka_unit_test(values_outlive_the_file),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
