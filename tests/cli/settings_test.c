/* Options as text: what is written reads back as it was, whatever is in it. The program's own sources are not
   in the library: they are included. */
#include "check.h"
#include "scratch.h"

#include "cli/frame/config.c"
#include "cli/frame/names.c"
#include "cli/frame/option.c"

struct values {
    bool flag;
    int number, color;
    int64_t steps;
    double lr;
    const char *text, *file, *config;
    hd_texts pair, names;
};

static const char *const colors[] = {"red", "off", "blue", NULL};

static const hd_option table[] = {
    {"flag", 'f', NULL, NULL, "", HD_FLAG_INTO(struct values, flag)},
    {"number", 0, "N", "4", "", HD_INT_INTO(struct values, number, -10000, 10000)},
    {"color", 0, "COLOR", "blue", "", HD_CHOICE_INTO(struct values, color, colors)},
    {"steps", 0, "N", "1", "", HD_LONG_INTO(struct values, steps, 0, 9007199254740992)},
    {"lr", 0, "RATE", "0.5", "", HD_FLOAT_INTO(struct values, lr, -1e300, 1e300)},
    {"text", 't', "TEXT", NULL, "", HD_TEXT_INTO(struct values, text)},
    {"file", 0, "FILE", NULL, "", HD_FILE_INTO(struct values, file)},
    {"pair", 0, "FILE", NULL, "", HD_FILES_AT_ONCE_INTO(struct values, pair, 2)},
    {"name", 0, "NAME", NULL, "", .type = HD_OPTION_TEXT, .many = true,
     HD_OPTION_INTO(hd_texts, struct values, names)},
    {HD_CONFIG_NAME, 0, "FILE", NULL, "", HD_FILE_INTO(struct values, config)},
    {0},
};

static bool is_kept(const hd_option *row, const void *options)
{
    (void)options;
    return strcmp(row->name, HD_CONFIG_NAME);
}

/* Writes v to a file and reads that. */
static struct values through_a_file(const struct values *v, hd_arena *memory)
{
    hd_text t = {0};
    hd_err err = {0};
    hd_given given[COUNT_OF(table)] = {HD_GIVEN_NOT};
    struct values back = {.config = at("settings.yml")};
    hd_config_write(&t, table, v, is_kept);
    assert_int_equal(hd_text_status(&t, &err), HD_OK);
    put_bytes(at("settings.yml"), t.data, t.size);
    hd_text_release(&t);
    const hd_option_set set = {table, &back, given, NULL};
    given[COUNT_OF(table) - 2] = true; /* the last row: config */
    if (hd_config_read(&set, memory, &err)) fail_msg("%s", err.text);
    return back;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_texts(const hd_texts *a, const hd_texts *b)
{
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) same = !strcmp(a->text[i], b->text[i]);
    return same;
}

static void values_come_back_as_they_were(void **state)
{
    (void)state;
    static const struct values cases[] = {
        {.flag = true, .number = -10000, .color = 1, .steps = 9007199254740992, .lr = 0.1, .text = "x"},
        {.flag = false, .number = 0, .color = 0, .steps = 0, .lr = 1e-300},
        {.lr = 1.0 / 3, .pair = {{"a", "b"}, 2}},
        {.lr = -123456789.123456789, .pair = {{"a"}, 1}, .names = {{"one", "two", "three"}, 3}},
        {.lr = 0.30000000000000004, .file = "/a/b c.txt"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_arena memory;
        hd_arena_init(&memory, hd_allocator_host, 0);
        struct values back = through_a_file(&cases[i], &memory);
        assert_true(back.flag == cases[i].flag && back.number == cases[i].number);
        assert_true(back.color == cases[i].color && back.steps == cases[i].steps && back.lr == cases[i].lr);
        assert_true(same_text(back.text, cases[i].text) && same_text(back.file, cases[i].file));
        assert_true(same_texts(&back.pair, &cases[i].pair) && same_texts(&back.names, &cases[i].names));
        hd_arena_release(&memory);
    }
}

static void any_text_comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "null",
        "~",
        "true",
        "- a",
        "a: b",
        "# no comment",
        "'",
        "\"",
        "\\",
        "\\n",
        "a\nb",
        "\ttab\r",
        "\x01\x1f\x7f",
        "[a, b]",
        "{",
        "&a",
        "*b",
        "!c",
        "%d",
        "@e",
        "`",
        "Grüße",
        "日本語",
        "\xf0\x9f\x98\x80",
        "\xc2\x80\xc2\x85\xc2\x9f\xc2\xa0",
        "a\xe2\x80\xa8 b\xe2\x80\xa9  c",
        "\xe2\x80\xa7\xe2\x80\xaa",
        "  two  spaces  ",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        hd_arena memory;
        hd_arena_init(&memory, hd_allocator_host, 0);
        struct values v = {.text = texts[i], .pair = {{texts[i], "x"}, 2}};
        struct values back = through_a_file(&v, &memory);
        if (!same_text(back.text, texts[i]) || !same_texts(&v.pair, &back.pair)) fail_msg("'%s'", texts[i]);
        hd_arena_release(&memory);
    }
}

static void what_has_no_value_is_not_written(void **state)
{
    (void)state;
    hd_text t = {0};
    struct values v = {.number = 3, .lr = 1e9, .config = "mine.yml"};
    hd_config_write(&t, table, &v, is_kept);
    assert_string_equal(t.data, "flag: false\nnumber: 3\ncolor: red\nsteps: 0\nlr: 1e+09\n");
    hd_text_release(&t);
}

static void numbers_have_no_more_digits_than_they_need(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {0.0007, "0.0007"},
                 {1, "1"},
                 {0.30000000000000004, "0.30000000000000004"},
                 {1e-9, "1e-09"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_text t = {0};
        struct values v = {.lr = cases[i].number};
        hd_option_value(&t, &table[4], &v);
        assert_string_equal(t.data, cases[i].text);
        hd_text_release(&t);
    }
}

static void one_row_is_copied_and_no_other(void **state)
{
    (void)state;
    const struct values from = {true, 1, 2, 3, 4, "five", "six", "seven", {{"a", "b"}, 2}, {{"c"}, 1}};
    for (size_t i = 0; table[i].name; i++) {
        struct values to = {0}, nothing = {0};
        hd_option_copy(&table[i], &to, &from);
        size_t offset = table[i].offset, size = table[i].size;
        assert_memory_equal((char *)&to + offset, (const char *)&from + offset, size);
        memset((char *)&to + offset, 0, size);
        assert_memory_equal(&to, &nothing, sizeof to);
    }
}

static void lack_of_memory_is_noticed(void **state)
{
    (void)state;
    struct values v = {.text = "text", .pair = {{"a", "b"}, 2}};
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (size_t missed = 1; missed; n++) {
        hd_text t = {0};
        hd_mem_fail_at(n);
        hd_config_write(&t, table, &v, is_kept);
        hd_mem_fail_at(0);
        missed = t.missed;
        hd_text_release(&t);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 5, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back_as_they_were),
        cmocka_unit_test(any_text_comes_back),
        cmocka_unit_test(what_has_no_value_is_not_written),
        cmocka_unit_test(numbers_have_no_more_digits_than_they_need),
        cmocka_unit_test(one_row_is_copied_and_no_other),
        cmocka_unit_test(lack_of_memory_is_noticed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
