/* Files by their endings: how they are named, when they appear, and what happens when something fails. */
#include "view/maps.h"

#include "view/attention/format.h"

static const char *const endings[] = {
#define X(ending, about) #ending,
    HD_ATTENTION_FORMAT_LIST(X)
#undef X
};

/* Whether this build writes the format. */
static bool can(size_t i)
{
    static const hd_attention_format *const formats[] = {
#define X(ending, about) &hd_attention_##ending,
        HD_ATTENTION_FORMAT_LIST(X)
#undef X
    };
    return !formats[i]->missing;
}

static void an_unknown_ending_is_refused_with_those_there_are(void **state)
{
    (void)state;
    static const char *const names[] = {"x.jpg", "x", ".svg", "json", "a.svg/x", "x.svg.gz", "x."};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        hd_err err = {0};
        hd_attention_file *f = NULL;
        assert_int_equal(hd_attention_file_open(&f, names[i], NULL, &err), HD_EARG);
        assert_null(f);
        char expected[160];
        snprintf(expected, sizeof expected,
                 "%s: attention files must end in .json, .html, .svg, .png or .pdf", names[i]);
        assert_string_equal(err.text, expected);
    }
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char expected[16];
        snprintf(expected, sizeof expected, " .%s (", endings[i]);
        assert_non_null(strstr(hd_attention_file_help, expected));
    }
}

static void a_folder_that_is_not_there_is_noticed_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char path[64];
        hd_err err = {0};
        hd_attention_file *f = NULL;
        if (!can(i)) continue;
        snprintf(path, sizeof path, "/nowhere/at/all.%s", endings[i]);
        assert_int_equal(hd_attention_file_open(&f, path, NULL, &err), HD_EFILE);
        assert_non_null(strstr(err.text, path));
    }
}

static void one_sentence_keeps_the_name_and_more_are_numbered(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a[3];
    for (int i = 0; i < 3; i++) a[i] = maps_of(&(maps_shape){(size_t)i + 2, 3, 1, 1, NULL, NULL});
    maps_write(&f, "one.SVG", NULL, a, 1);
    maps_write(&f, "v1.2.svg", NULL, a, 3);
    maps_write(&f, "none.svg", NULL, a, 0);
    assert_int_equal(maps_files(&f, false), 4);
    static const char *const names[] = {"v1.2-1.svg", "v1.2-2.svg", "v1.2-3.svg", "one.SVG"};
    char *text[4];
    for (int i = 0; i < 4; i++) {
        text[i] = maps_read(&f, names[i], NULL);
        if (!text[i]) fail_msg("no %s", names[i]);
        assert_non_null(strstr(text[i], "</svg>"));
    }
    assert_string_equal(text[0], text[3]);
    assert_string_not_equal(text[0], text[1]);
    for (int i = 0; i < 4; i++) free(text[i]);
    for (int i = 0; i < 3; i++) hd_attention_release(&a[i]);
    maps_folder_free(&f);
}

static void nothing_is_there_before_it_is_whole(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){4, 4, 1, 1, NULL, NULL});
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char name[16], path[128];
        hd_err err = {0};
        hd_attention_file *file = NULL;
        if (!can(i)) continue;
        snprintf(name, sizeof name, "a.%s", endings[i]);
        for (int abandoned = 0; abandoned < 2; abandoned++) {
            assert_int_equal(hd_attention_file_open(&file, maps_path(&f, name, path), NULL, &err), HD_OK);
            assert_int_equal(hd_attention_file_add(file, &a, &err), HD_OK);
            assert_int_not_equal(access(path, F_OK), 0);
            if (abandoned)
                hd_attention_file_abandon(file);
            else
                assert_int_equal(hd_attention_file_close(file, &err), HD_OK);
            assert_int_equal(maps_files(&f, true), !abandoned);
        }
    }
    hd_attention_file_abandon(NULL);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static void a_failure_stays(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){4, 4, 2, 2, NULL, NULL});
    char path[128];
    hd_err err = {0};
    hd_attention_file *file = NULL;
    assert_int_equal(
        hd_attention_file_open(&file, maps_path(&f, "a.svg", path), &(hd_attention_pick){.layer = 3}, &err),
        HD_OK);
    for (int i = 0; i < 2; i++) {
        err = (hd_err){0};
        assert_int_equal(hd_attention_file_add(file, &a, &err), HD_EARG);
        assert_string_equal(err.text, "there is no layer 3 in cross-attention: they are 1 to 2");
    }
    err = (hd_err){0};
    assert_int_equal(hd_attention_file_close(file, &err), HD_EARG);
    assert_non_null(strstr(err.text, "no layer 3"));
    assert_int_equal(maps_files(&f, false), 0);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static hd_status write_two(const char *path, const hd_attention_maps *a, hd_err *err)
{
    hd_attention_file *file = NULL;
    hd_status s = hd_attention_file_open(&file, path, NULL, err);
    if (s) return s;
    for (int i = 0; !s && i < 2; i++) s = hd_attention_file_add(file, a, err);
    if (!s) return hd_attention_file_close(file, err);
    hd_attention_file_abandon(file);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){20, 18, 2, 2, NULL, NULL});
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char name[16], path[128];
        size_t blocks = hd_mem_now().blocks, n = 0;
        if (!can(i)) continue;
        snprintf(name, sizeof name, "a.%s", endings[i]);
        maps_path(&f, name, path);
        for (size_t calls = n; calls >= n;) {
            hd_err err = {0};
            size_t before = hd_mem_now().calls;
            hd_mem_fail_at(++n);
            hd_status s = write_two(path, &a, &err);
            hd_mem_fail_at(0);
            calls = hd_mem_now().calls - before;
            if (s != (calls >= n ? HD_ENOMEM : HD_OK))
                fail_msg("%s, allocation %zu: %d %s", name, n, s, err.text);
            assert_int_equal(hd_mem_now().blocks, blocks);
            size_t left = maps_files(&f, true);
            assert_true(!s ? left >= 1 : left <= 1); /* NAME-1 may be there when NAME-2 fails */
        }
        print_message("%s: %zu allocations\n", name, n - 1);
        assert_true(n > 6);
    }
    hd_attention_release(&a);
    maps_folder_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_ending_is_refused_with_those_there_are),
        cmocka_unit_test(a_folder_that_is_not_there_is_noticed_at_once),
        cmocka_unit_test(one_sentence_keeps_the_name_and_more_are_numbered),
        cmocka_unit_test(nothing_is_there_before_it_is_whole),
        cmocka_unit_test(a_failure_stays),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
