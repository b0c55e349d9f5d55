/* Folders that appear whole or not at all. The calls of the system that matter are the test's own: they are
   counted, and fail where that is asked for. */
#include "check.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "base/file/file.h"
#include "base/file/staging.h"

static hd_err last;
static int renames_to_fail;
static char synced[16][512]; /* the folders that were synced, in order */
static int syncs, file_syncs;

int rename(const char *from, const char *to)
{
    if (renames_to_fail && !--renames_to_fail) return errno = EIO, -1;
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int fsync(int file)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (syncs < 16) {
        ssize_t n = readlink(link, synced[syncs], sizeof synced[0] - 1);
        synced[syncs++][n > 0 ? n : 0] = 0;
    }
    return (int)syscall(SYS_fsync, file);
}

int syncfs(int file)
{
    file_syncs++;
    return (int)syscall(SYS_syncfs, file);
}

static const char *failed(hd_status s)
{
    static char text[sizeof last.text];
    assert_int_not_equal(s, HD_OK);
    memcpy(text, last.text, sizeof text);
    last = (hd_err){0};
    return text;
}

static void write_in(hd_staging *s)
{
    char path[HD_PATH];
    assert_int_equal(hd_path(path, s->temp, "file", &last), HD_OK);
    assert_int_equal(hd_save_bytes(path, "x", 1, &last), HD_OK);
}

static void nothing_is_seen_before_the_end(void **state)
{
    (void)state;
    static hd_staging s;
    assert_int_equal(hd_staging_begin(&s, at("place"), &last), HD_OK);
    write_in(&s);
    assert_false(is_there(at("place/file")));
    syncs = 0;
    assert_int_equal(hd_staging_end(&s, HD_OK, &last), HD_OK);
    assert_true(is_there(at("place/file")));
    assert_int_equal(entries_in(at("place")), 1); /* no lock is left */
    assert_true(syncs > 0);
    assert_string_equal(synced[syncs - 1], scratch); /* the rename is in the folder above */
    assert_non_null(
        strstr(failed(hd_staging_begin(&s, at("place"), &last)), "place: exists already and is not empty"));
    assert_true(is_there(at("place/file")));
}

static void many_files_are_synced_at_once(void **state)
{
    (void)state;
    static hd_staging s;
    assert_int_equal(hd_staging_begin(&s, at("many"), &last), HD_OK);
    file_syncs = 0;
    assert_int_equal(hd_staging_write(&s, "a", "one", 3, &last), HD_OK);
    assert_int_equal(hd_staging_write(&s, "b", "two", 3, &last), HD_OK);
    assert_non_null(
        strstr(failed(hd_staging_write(&s, "a", "x", 1, &last)), "a: cannot create: File exists"));
    assert_int_equal(file_syncs, 0);
    assert_int_equal(hd_staging_end(&s, HD_OK, &last), HD_OK);
    assert_int_equal(file_syncs, 1);
    char *text = get_file(at("many/a"), NULL);
    assert_string_equal(text, "one");
    free(text);
    assert_int_equal(entries_in(at("many")), 2);
}

static void a_failure_leaves_the_place_as_it_was(void **state)
{
    (void)state;
    static hd_staging s;
    int before = entries_in(scratch);
    assert_int_equal(hd_staging_begin(&s, at("never"), &last), HD_OK);
    write_in(&s);
    assert_int_equal(hd_staging_end(&s, HD_EFORMAT, &last), HD_EFORMAT);
    assert_int_equal(entries_in(scratch), before);
    assert_int_equal(hd_staging_begin(&s, at("never"), &last), HD_OK);
    write_in(&s);
    renames_to_fail = 1;
    assert_non_null(strstr(failed(hd_staging_end(&s, HD_OK, &last)), "never: cannot put the folder there"));
    assert_int_equal(entries_in(scratch), before);
}

static void links_to_folders_are_followed(void **state)
{
    (void)state;
    static hd_staging s;
    assert_int_equal(mkdir(at("real"), 0777), 0);
    assert_int_equal(symlink("real", at("link")), 0);
    assert_int_equal(hd_staging_begin(&s, at("link"), &last), HD_OK);
    write_in(&s);
    assert_int_equal(hd_staging_end(&s, HD_OK, &last), HD_OK);
    assert_true(is_there(at("real/file")) && is_there(at("link/file")));
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    failed(hd_staging_begin(&s, at("dangling"), &last));
}

static void what_killed_processes_left_is_removed(void **state)
{
    (void)state;
    static hd_staging s;
    assert_int_equal(mkdir(at("home.tmp.77.0"), 0777), 0);
    put_file(at("home.tmp.77.0/half"), "x");
    put_file(at("home.tmp.txt"), "mine");
    assert_int_equal(mkdir(at("homes.tmp.77.0"), 0777), 0); /* another's */
    assert_int_equal(mkdir(at("home"), 0777), 0);
    put_file(at("home/training.yml.tmp.77.0"), "x");
    put_file(at("home/" HD_LOCK_FILE), "77 here\n");
    assert_int_equal(hd_staging_begin(&s, at("home/"), &last), HD_OK);
    write_in(&s);
    assert_int_equal(hd_staging_end(&s, HD_OK, &last), HD_OK);
    assert_false(is_there(at("home.tmp.77.0")));
    assert_true(is_there(at("home.tmp.txt")) && is_there(at("homes.tmp.77.0")));
    assert_int_equal(entries_in(at("home")), 1);
}

static void a_place_that_cannot_be_replaced_is_refused_at_once(void **state)
{
    (void)state;
    static hd_staging s;
    struct stat here, above;
    const char *mounted = "/dev/mqueue";
    put_file(at("plain"), "x");
    assert_non_null(
        strstr(failed(hd_staging_begin(&s, at("plain"), &last)), "plain: is a file, not a folder"));
    if (stat(mounted, &here) || stat("/dev", &above) || here.st_dev == above.st_dev || entries_in(mounted) ||
        access(mounted, W_OK) || access("/dev", W_OK))
        return; /* no such thing here */
    assert_non_null(strstr(failed(hd_staging_begin(&s, mounted, &last)), "/dev/mqueue: "));
}

static void a_new_folder_is_synced_in_the_one_above(void **state)
{
    (void)state;
    syncs = 0;
    assert_int_equal(hd_folder_make(at("durable"), NULL, &last), HD_OK);
    assert_int_equal(syncs, 1);
    assert_string_equal(synced[0], scratch);
    assert_int_equal(hd_folder_make(at("durable"), NULL, &last), HD_OK);
    assert_int_equal(syncs, 1); /* it was there */
}

static void a_failure_names_the_place(void **state)
{
    (void)state;
    static hd_staging s;
    char says[256];
    assert_int_equal(hd_staging_begin(&s, at("named"), &last), HD_OK);
    hd_status status = hd_err_set(&last, HD_EFILE, "%s/file: cannot write", s.temp);
    snprintf(says, sizeof says, "%s/file: cannot write", at("named"));
    assert_string_equal(failed(hd_staging_end(&s, status, &last)), says);
}

static void room_is_made_of_what_is_ours_alone(void **state)
{
    (void)state;
    static const char *const ours[] = {"a.tsv", "b.tsv", NULL};
    struct stat info;
    assert_int_equal(hd_staging_make_room(at("none"), false, "heed x", ours, &last), HD_OK);
    assert_int_equal(mkdir(at("room"), 0777), 0);
    assert_int_equal(hd_staging_make_room(at("room"), false, "heed x", ours, &last), HD_OK); /* it is empty */
    assert_int_equal(hd_save_bytes(at("room/a.tsv"), "x", 1, &last), HD_OK);
    assert_non_null(
        strstr(failed(hd_staging_make_room(at("room"), false, "heed x", ours, &last)), "--overwrite"));
    assert_int_equal(hd_save_bytes(at("room/c.tsv"), "x", 1, &last), HD_OK);
    assert_non_null(strstr(failed(hd_staging_make_room(at("room"), true, "heed x", ours, &last)),
                           "room/c.tsv: is not of heed x"));
    assert_int_equal(stat(at("room/a.tsv"), &info), 0); /* nothing was removed */
    assert_int_equal(unlink(at("room/c.tsv")), 0);
    assert_int_equal(hd_staging_make_room(at("room"), true, "heed x", ours, &last), HD_OK);
    assert_int_equal(stat(at("room"), &info), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_seen_before_the_end),
        cmocka_unit_test(many_files_are_synced_at_once),
        cmocka_unit_test(a_failure_leaves_the_place_as_it_was),
        cmocka_unit_test(links_to_folders_are_followed),
        cmocka_unit_test(what_killed_processes_left_is_removed),
        cmocka_unit_test(a_place_that_cannot_be_replaced_is_refused_at_once),
        cmocka_unit_test(a_new_folder_is_synced_in_the_one_above),
        cmocka_unit_test(a_failure_names_the_place),
        cmocka_unit_test(room_is_made_of_what_is_ours_alone),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
