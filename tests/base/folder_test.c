/* Folders. Easy to get wrong here: the tests may run as root, whom no permission stops. */
#include "check.h"
#include "scratch.h"

#include "base/file/folder.h"

static hd_err last;

/* The text of a failure with this status. */
static const char *failed(hd_status expected, hd_status s)
{
    assert_int_equal(s, expected);
    assert_int_equal(last.status, expected);
    static char text[sizeof last.text];
    memcpy(text, last.text, sizeof text);
    last = (hd_err){0};
    return text;
}

static void paths_have_one_slash_between(void **state)
{
    (void)state;
    char to[HD_PATH], longest[HD_PATH];
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a///", "b/c", "a/b/c"},
        {"/", "b", "//b"}, {".", "b", "./b"},  {"a b", "ü", "a b/ü"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(hd_path(to, cases[i][0], cases[i][1], &last), HD_OK);
        assert_string_equal(to, cases[i][2]);
    }
    memset(longest, 'x', sizeof longest);
    longest[HD_PATH - 3] = 0; /* with "/b" and the zero: exactly as much as fits */
    assert_int_equal(hd_path(to, longest, "b", &last), HD_OK);
    assert_int_equal(strlen(to), HD_PATH - 1);
    assert_non_null(strstr(failed(HD_ELIMIT, hd_path(to, longest, "bc", &last)), "the path is too long"));
}

static void a_folder_is_made_once(void **state)
{
    (void)state;
    bool made = false;
    assert_int_equal(hd_folder_make(at("new"), &made, &last), HD_OK);
    assert_true(made);
    assert_int_equal(hd_folder_make(at("new"), &made, &last), HD_OK);
    assert_false(made);
    assert_int_equal(hd_folder_make(at("new"), NULL, &last), HD_OK);
    put_file(at("file"), "x");
    assert_non_null(
        strstr(failed(HD_EFILE, hd_folder_make(at("file"), &made, &last)), "file: is a file, not"));
    assert_non_null(strstr(failed(HD_EFILE, hd_folder_make(at("no/such"), NULL, &last)), "No such file"));
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    assert_non_null(strstr(failed(HD_EFILE, hd_folder_make(at("dangling"), NULL, &last)), "No such file"));
}

typedef struct walk {
    int seen, stop_at;
    bool named[3];
} walk;

static hd_status note(void *context, const char *name, hd_err *err)
{
    walk *w = context;
    assert_true(strlen(name) == 1 && *name >= 'a' && *name <= 'c');
    w->named[*name - 'a'] = true;
    return ++w->seen == w->stop_at ? hd_err_set(err, HD_ELIMIT, "enough") : HD_OK;
}

static void each_entry_is_met_once_until_a_failure(void **state)
{
    (void)state;
    walk all = {0}, some = {.stop_at = 2};
    assert_int_equal(mkdir(at("each"), 0777), 0);
    put_file(at("each/a"), "");
    put_file(at("each/b"), "");
    assert_int_equal(mkdir(at("each/c"), 0777), 0);
    assert_int_equal(hd_folder_each(at("each"), note, &all, &last), HD_OK);
    assert_true(all.seen == 3 && all.named[0] && all.named[1] && all.named[2]);
    assert_string_equal(failed(HD_ELIMIT, hd_folder_each(at("each"), note, &some, &last)), "enough");
    assert_int_equal(some.seen, 2);
    assert_non_null(
        strstr(failed(HD_EFILE, hd_folder_each(at("none"), note, &all, &last)), "none: cannot open"));
}

static void emptiness(void **state)
{
    (void)state;
    bool empty = false;
    assert_int_equal(hd_folder_empty(at("void"), &empty, &last), HD_OK);
    assert_true(empty); /* one that is not there */
    assert_int_equal(mkdir(at("void"), 0777), 0);
    assert_int_equal(hd_folder_empty(at("void"), &empty, &last), HD_OK);
    assert_true(empty);
    put_file(at("void/training.yml.tmp.12.0"), "");
    assert_int_equal(hd_folder_empty(at("void"), &empty, &last), HD_OK);
    assert_true(empty);
    put_file(at("void/.hidden"), "");
    assert_int_equal(hd_folder_empty(at("void"), &empty, &last), HD_OK);
    assert_false(empty);
    failed(HD_EFILE, hd_folder_empty(at("void/.hidden"), &empty, &last));
    failed(HD_EFILE, hd_folder_empty(at("void/.hidden/below"), &empty, &last));
}

static void all_below_a_folder_goes_and_nothing_behind_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("kept"), 0777), 0);
    put_file(at("kept/mine"), "mine");
    assert_int_equal(mkdir(at("tree"), 0777), 0);
    assert_int_equal(mkdir(at("tree/branch"), 0777), 0);
    put_file(at("tree/branch/leaf"), "");
    put_file(at("tree/.leaf"), "");
    assert_int_equal(symlink(at("kept"), at("tree/link")), 0);
    assert_int_equal(symlink(at("kept"), at("link")), 0);
    assert_int_equal(symlink("nowhere", at("tree/dangling")), 0);
    assert_int_equal(hd_folder_remove(at("tree"), &last), HD_OK);
    assert_false(is_there(at("tree")));
    assert_int_equal(hd_folder_remove(at("link"), &last), HD_OK);
    assert_false(is_there(at("link")));
    assert_true(is_there(at("kept/mine")));
    assert_int_equal(hd_folder_remove(at("tree"), &last), HD_OK); /* a second time */
    assert_int_equal(hd_folder_remove(at("kept/mine"), &last), HD_OK);
    assert_int_equal(entries_in(at("kept")), 0);
}

static void only_what_a_killed_save_left_is_swept(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool goes;
    } cases[] = {
        {"model.safetensors.tmp.1234.0", true},
        {"a.tmp.1.999", true},
        {"a.tmp.txt.tmp.12.3", true},
        {"model.safetensors", false},
        {"notes.tmp.txt", false},
        {"notes.tmp.12", false},
        {"notes.tmp.12.", false},
        {"notes.tmp..3", false},
        {"notes.tmp.12.3.gz", false},
        {".tmp.12.3", false},
        {"notes.tmp.12.3x", false},
    };
    assert_int_equal(mkdir(at("swept"), 0777), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) put_file(at("swept/%s", cases[i].name), "x");
    assert_int_equal(hd_folder_sweep(at("swept"), &last), HD_OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (is_there(at("swept/%s", cases[i].name)) == cases[i].goes) fail_msg("%s", cases[i].name);
    failed(HD_EFILE, hd_folder_sweep(at("nothing"), &last));
}

static void a_folder_is_synced_and_a_file_is_none(void **state)
{
    (void)state;
    assert_int_equal(hd_folder_sync(scratch, &last), HD_OK);
    put_file(at("plain"), "");
    failed(HD_EFILE, hd_folder_sync(at("plain"), &last));
    failed(HD_EFILE, hd_folder_sync(at("absent"), &last));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_have_one_slash_between),
        cmocka_unit_test(a_folder_is_made_once),
        cmocka_unit_test(each_entry_is_met_once_until_a_failure),
        cmocka_unit_test(emptiness),
        cmocka_unit_test(all_below_a_folder_goes_and_nothing_behind_links),
        cmocka_unit_test(only_what_a_killed_save_left_is_swept),
        cmocka_unit_test(a_folder_is_synced_and_a_file_is_none),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
