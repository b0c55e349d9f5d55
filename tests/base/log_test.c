/* The log callback, and status and error text, which it carries. Easy to get wrong here: hd_err must start
 * zeroed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/status.h"

struct heard {
    int count;
    hd_level level;
    char text[4096];
};

static void hear(void *context, hd_level level, const char *text)
{
    struct heard *h = context;
    h->count++;
    h->level = level;
    strncpy(h->text, text, sizeof h->text - 1);
}

static void messages_up_to_the_level_arrive(void **state)
{
    (void)state;
    for (int most = HD_ERROR; most <= HD_DEBUG; most++) {
        struct heard h = {0};
        hd_log log = {.write = hear, .context = &h, .most = (hd_level)most};
        for (int level = HD_ERROR; level <= HD_DEBUG; level++)
            hd_log_say(&log, (hd_level)level, "step %d of %s", level, "n");
        assert_int_equal(h.count, most + 1);
        assert_int_equal(h.level, most);
    }
}

static void text_is_formatted(void **state)
{
    (void)state;
    struct heard h = {0};
    hd_log log = {.write = hear, .context = &h, .most = HD_DEBUG};
    hd_log_say(&log, HD_INFO, "%s %d%%", "done", 50);
    assert_string_equal(h.text, "done 50%");
}

static void silence_is_possible(void **state)
{
    (void)state;
    hd_log silent = {.most = HD_DEBUG};
    hd_log_say(&silent, HD_ERROR, "nobody hears %d", 1);
    hd_log_say(NULL, HD_ERROR, "nobody hears %d", 2);
}

static void long_text_arrives_whole_or_without_memory_cut(void **state)
{
    (void)state;
    char text[2001];
    memset(text, 'x', 2000);
    text[2000] = 0;
    struct heard h = {0};
    hd_log log = {.write = hear, .context = &h, .most = HD_DEBUG};
    size_t blocks = hd_mem_now().blocks;
    hd_log_say(&log, HD_WARN, "%s!", text);
    assert_int_equal(strlen(h.text), 2001);
    assert_int_equal(h.text[2000], '!');
    memset(&h, 0, sizeof h);
    hd_mem_fail_at(1);
    hd_log_say(&log, HD_WARN, "%s!", text);
    assert_int_equal(h.count, 1);
    assert_int_equal(strlen(h.text), 511);
    assert_int_equal(hd_mem_now().blocks, blocks);
}

static void every_level_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(hd_level_name(HD_ERROR), "error");
    assert_string_equal(hd_level_name(HD_WARN), "warning");
    assert_string_equal(hd_level_name(HD_INFO), "info");
    assert_string_equal(hd_level_name(HD_DEBUG), "debug");
    assert_string_equal(hd_level_name((hd_level)77), "unknown");
}

static void every_status_has_its_text(void **state)
{
    (void)state;
#define X(name, text) assert_string_equal(hd_status_text(HD_##name), text);
    HD_STATUS_LIST(X)
#undef X
    assert_string_equal(hd_status_text((hd_status)1000), "unknown status");
}

static void the_first_error_wins(void **state)
{
    (void)state;
    hd_err err = {0};
    assert_int_equal(hd_err_set(&err, HD_EFILE, "first %d", 1), HD_EFILE);
    assert_int_equal(hd_err_set(&err, HD_EARG, "second"), HD_EARG);
    assert_int_equal(hd_err_nomem(&err, 10), HD_ENOMEM);
    assert_int_equal(err.status, HD_EFILE);
    assert_string_equal(err.text, "first 1");
    assert_int_equal(hd_err_set(NULL, HD_EARG, "no one"), HD_EARG);
    hd_err other = {0};
    hd_err_nomem(&other, 123);
    assert_int_equal(other.status, HD_ENOMEM);
    assert_non_null(strstr(other.text, "123"));
}

static void error_text_is_one_line_of_valid_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *given, *kept;
    } cases[] = {
        {"plain", "plain"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\x1b[2J\r\n\t\x7f", "?[2J????"},
        {"\xc2\x9b"
         "31m",
         "??31m"},                           /* C1 control sequence introducer */
        {"\xc0\xaf|\xe0\x80\xaf", "??|???"}, /* overlong */
        {"\xed\xa0\x80", "???"},             /* surrogate */
        {"\xf4\x90\x80\x80", "????"},        /* beyond U+10FFFF */
        {"\xf5|\xff|\x80", "?|?|?"},
        {"cut \xe2\x82", "cut ??"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_err err = {0};
        hd_err_set(&err, HD_EFORMAT, "%s", cases[i].given);
        assert_string_equal(err.text, cases[i].kept);
    }
}

static void long_error_text_is_cut_and_marked(void **state)
{
    (void)state;
    char text[1201];
    for (int i = 0; i < 1200; i += 2) memcpy(text + i, "\xc3\xbc", 2);
    text[1200] = 0;
    for (int shift = 0; shift < 2; shift++) {
        hd_err err = {0};
        hd_err_set(&err, HD_EFORMAT, "%s%s", shift ? "x" : "", text);
        assert_int_equal(strlen(err.text), sizeof err.text - 1);
        assert_string_equal(err.text + sizeof err.text - 4, "...");
        assert_int_equal(strchr(err.text, '?') != NULL, shift); /* half a character is not left */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_up_to_the_level_arrive),
        cmocka_unit_test(text_is_formatted),
        cmocka_unit_test(silence_is_possible),
        cmocka_unit_test(long_text_arrives_whole_or_without_memory_cut),
        cmocka_unit_test(every_level_has_its_name),
        cmocka_unit_test(every_status_has_its_text),
        cmocka_unit_test(the_first_error_wins),
        cmocka_unit_test(error_text_is_one_line_of_valid_utf8),
        cmocka_unit_test(long_error_text_is_cut_and_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
