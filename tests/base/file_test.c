/* Mapping and atomic saves. Easy to get wrong here: the tests may run as root, whom no permission stops; a
   failing write is made with a limit on the file size instead. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "outcome.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-file-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int files_in_folder(bool remove_them)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        count++;
        if (remove_them && remove(in_folder(e->d_name))) count = -1000;
    }
    if (d) closedir(d);
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    return files_in_folder(true) < 0 || rmdir(folder);
}

static int clean_folder(void **state)
{
    (void)state;
    hd_mem_fail_at(0);
    return files_in_folder(true) < 0;
}

static void put(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* Bytes of this process that are in memory now. */
static long resident(void)
{
    long all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &here) != 2) here = -1;
    if (f) fclose(f);
    return here * sysconf(_SC_PAGESIZE);
}

static void what_is_forgotten_leaves_memory_and_can_be_read_again(void **state)
{
    (void)state;
    enum { BYTES = 16 << 20, FROM = 5000, SOME = BYTES - 3 * FROM };
    if (resident() < 0) leave_out("this system does not tell what is resident");
    hd_map m = {0}, none = {0};
    hd_err err = {0};
    unsigned char *x = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++) x[i] = (unsigned char)(i * 7 + i / 1000);
    put(in_folder("large"), x, BYTES);
    assert_int_equal(hd_map_open(&m, in_folder("large"), &err), HD_OK);
    assert_memory_equal(m.data, x, BYTES);
    long read = resident();
    hd_map_forget(&m, m.data + FROM, SOME);
    assert_true(resident() < read - BYTES / 2);
    assert_memory_equal(m.data, x, BYTES);
    hd_map_forget(&m, m.data, 0);
    hd_map_forget(&none, x, SOME); /* bytes that are not of a file stay */
    hd_map_close(&m);
    free(x);
}

static void assert_holds(const char *path, const void *data, size_t bytes)
{
    hd_map m = {0};
    hd_err err = {0};
    assert_int_equal(hd_map_open(&m, path, &err), HD_OK);
    assert_int_equal(m.size, bytes);
    assert_memory_equal(m.data, data, bytes);
    hd_map_close(&m);
    uint8_t *copy = NULL;
    size_t size = 0;
    assert_int_equal(hd_file_read(&copy, &size, path, bytes, &err), HD_OK);
    assert_int_equal(size, bytes);
    assert_memory_equal(copy, data, bytes);
    hd_mem_free(copy);
    assert_int_equal(hd_file_read(&copy, &size, path, bytes - 1, &err), HD_ELIMIT);
    assert_non_null(strstr(err.text, "too large: more than "));
}

static void a_file_is_mapped_whole(void **state)
{
    (void)state;
    static char data[100000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 7 + i / 256);
    put(in_folder("a"), data, sizeof data);
    assert_holds(in_folder("a"), data, sizeof data);
}

static void an_empty_file_has_data_and_no_size(void **state)
{
    (void)state;
    put(in_folder("empty"), "", 0);
    hd_map m = {0};
    assert_int_equal(hd_map_open(&m, in_folder("empty"), NULL), HD_OK);
    assert_non_null(m.data);
    assert_int_equal(m.size, 0);
    hd_map_close(&m);
    hd_map_close(&m); /* closed is zeroed */
}

static void assert_refused(const char *path, const char *why)
{
    hd_map m = {0};
    hd_err err = {0};
    assert_int_equal(hd_map_open(&m, path, &err), HD_EFILE);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, why));
    assert_null(m.data);
    hd_err again = {0};
    uint8_t *copy = NULL;
    size_t size;
    assert_int_equal(hd_file_read(&copy, &size, path, 1 << 20, &again), HD_EFILE);
    assert_string_equal(again.text, err.text);
    assert_null(copy);
}

static void what_is_no_file_is_refused_with_its_reason(void **state)
{
    (void)state;
    assert_refused(in_folder("absent"), "No such file");
    assert_refused(folder, "folder");
    assert_refused("/dev/null", "device");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_refused(in_folder("pipe"), "pipe"); /* and does not wait for a writer */
    put(in_folder("file"), "x", 1);
    assert_refused(in_folder("file/below"), "Not a directory");
}

static hd_save *open_save(const char *path)
{
    hd_save *s = NULL;
    hd_err err = {0};
    assert_int_equal(hd_save_open(&s, path, &err), HD_OK);
    return s;
}

static void pieces_of_any_size_arrive_in_order(void **state)
{
    (void)state;
    static uint8_t data[400000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 31 + i / 1000);
    static const size_t piece[] = {1, 100, 65535, 0, 65536, 3, 70000, 65537, 8};
    hd_save *s = open_save(in_folder("pieces"));
    size_t done = 0;
    for (size_t i = 0; done < sizeof data; i++) {
        size_t n = piece[i % 9] < sizeof data - done ? piece[i % 9] : sizeof data - done;
        assert_int_equal(hd_save_write(s, data + done, n, NULL), HD_OK);
        done += n;
    }
    assert_int_equal(hd_save_commit(s, NULL), HD_OK);
    assert_holds(in_folder("pieces"), data, sizeof data);
    assert_int_equal(files_in_folder(false), 1);
}

static void nothing_is_visible_before_the_commit(void **state)
{
    (void)state;
    const char *path = in_folder("late");
    hd_save *s = open_save(path);
    assert_int_equal(hd_save_write(s, "new", 3, NULL), HD_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(hd_save_commit(s, NULL), HD_OK);
    assert_holds(path, "new", 3);
    s = open_save(path);
    assert_int_equal(hd_save_write(s, "newer", 5, NULL), HD_OK);
    assert_holds(path, "new", 3);
    assert_int_equal(hd_save_commit(s, NULL), HD_OK);
    assert_holds(path, "newer", 5);
    assert_int_equal(files_in_folder(false), 1);
}

static void an_abandoned_save_leaves_the_old_file(void **state)
{
    (void)state;
    put(in_folder("old"), "old", 3);
    hd_save *s = open_save(in_folder("old"));
    assert_int_equal(hd_save_write(s, "new", 3, NULL), HD_OK);
    assert_int_equal(files_in_folder(false), 2);
    hd_save_abandon(s);
    hd_save_abandon(NULL);
    assert_holds(in_folder("old"), "old", 3);
    assert_int_equal(files_in_folder(false), 1);
}

static void two_saves_of_one_path_do_not_meet(void **state)
{
    (void)state;
    hd_save *a = open_save(in_folder("same")), *b = open_save(in_folder("same"));
    assert_int_equal(hd_save_write(a, "aaaa", 4, NULL), HD_OK);
    assert_int_equal(hd_save_write(b, "bb", 2, NULL), HD_OK);
    assert_int_equal(hd_save_commit(a, NULL), HD_OK);
    assert_holds(in_folder("same"), "aaaa", 4);
    assert_int_equal(hd_save_commit(b, NULL), HD_OK);
    assert_holds(in_folder("same"), "bb", 2);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
}

static void a_failing_write_leaves_the_old_file(void **state)
{
    (void)state;
    static char data[200000];
    put(in_folder("full"), "old", 3);
    for (int large = 0; large < 2; large++) { /* fails in the write itself, or in the flush of the commit */
        hd_err err = {0}, later = {0};
        hd_save *s = open_save(in_folder("full"));
        limit_file_size(1000);
        hd_status written = hd_save_write(s, data, large ? sizeof data : 2000, &err);
        hd_status committed = hd_save_commit(s, large ? &later : &err);
        limit_file_size(RLIM_INFINITY);
        assert_int_equal(written, large ? HD_EFILE : HD_OK);
        assert_int_equal(committed, HD_EFILE); /* after a lost write, never a file with a gap */
        assert_non_null(strstr(err.text, in_folder("full")));
        assert_non_null(strstr(err.text, "File too large"));
        if (large) assert_non_null(strstr(later.text, "earlier write"));
        assert_holds(in_folder("full"), "old", 3);
        assert_int_equal(files_in_folder(false), 1);
    }
}

static void a_save_into_nowhere_is_refused_at_once(void **state)
{
    (void)state;
    hd_save *s = NULL;
    hd_err err = {0};
    assert_int_equal(hd_save_open(&s, in_folder("absent/x"), &err), HD_EFILE);
    assert_null(s);
    assert_non_null(strstr(err.text, in_folder("absent/x")));
    assert_non_null(strstr(err.text, "No such file"));
}

static void a_save_over_a_folder_fails_and_cleans_up(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    hd_save *s = open_save(in_folder("sub"));
    hd_err err = {0};
    assert_int_equal(hd_save_commit(s, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "rename"));
    assert_int_equal(files_in_folder(false), 1);
}

static void a_name_without_folder_is_saved_here(void **state)
{
    (void)state;
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(folder), 0);
    hd_save *s = open_save("bare");
    hd_status written = hd_save_write(s, "x", 1, NULL), committed = hd_save_commit(s, NULL);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_int_equal(written | committed, HD_OK);
    assert_holds(in_folder("bare"), "x", 1);
}

static void lack_of_memory_leaves_nothing(void **state)
{
    (void)state;
    size_t blocks = hd_mem_now().blocks;
    for (size_t n = 1; n <= 3; n++) {
        hd_save *s = NULL;
        hd_err err = {0};
        hd_mem_fail_at(n);
        assert_int_equal(hd_save_open(&s, in_folder("x"), &err), HD_ENOMEM);
        assert_null(s);
        assert_int_equal(hd_mem_now().blocks, blocks);
        assert_int_equal(files_in_folder(false), 0);
    }
}

static void what_killed_saves_of_the_same_file_left_goes(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_save *live = NULL;
    put(in_folder("x.tmp.99999.0"), "half", 4);
    put(in_folder("x.tmp.99999.1"), "half", 4);
    put(in_folder("xx.tmp.99999.0"), "another's", 9);
    put(in_folder("x.tmp.txt"), "mine", 4);
    assert_int_equal(hd_save_open(&live, in_folder("x"), &err), HD_OK); /* and is still writing: */
    assert_int_equal(hd_save_write(live, "first", 5, &err), HD_OK);
    assert_int_equal(files_in_folder(false), 3);
    assert_int_equal(hd_save_bytes(in_folder("x"), "second", 6, &err), HD_OK);
    assert_holds(in_folder("x"), "second", 6);
    assert_int_equal(files_in_folder(false), 4);
    assert_int_equal(hd_save_commit(live, &err), HD_OK);
    assert_holds(in_folder("x"), "first", 5);
    assert_holds(in_folder("xx.tmp.99999.0"), "another's", 9);
    assert_holds(in_folder("x.tmp.txt"), "mine", 4);
    assert_int_equal(files_in_folder(false), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_forgotten_leaves_memory_and_can_be_read_again, clean_folder),
        cmocka_unit_test_teardown(a_file_is_mapped_whole, clean_folder),
        cmocka_unit_test_teardown(an_empty_file_has_data_and_no_size, clean_folder),
        cmocka_unit_test_teardown(what_is_no_file_is_refused_with_its_reason, clean_folder),
        cmocka_unit_test_teardown(pieces_of_any_size_arrive_in_order, clean_folder),
        cmocka_unit_test_teardown(nothing_is_visible_before_the_commit, clean_folder),
        cmocka_unit_test_teardown(an_abandoned_save_leaves_the_old_file, clean_folder),
        cmocka_unit_test_teardown(two_saves_of_one_path_do_not_meet, clean_folder),
        cmocka_unit_test_teardown(a_failing_write_leaves_the_old_file, clean_folder),
        cmocka_unit_test_teardown(a_save_into_nowhere_is_refused_at_once, clean_folder),
        cmocka_unit_test_teardown(a_save_over_a_folder_fails_and_cleans_up, clean_folder),
        cmocka_unit_test_teardown(a_name_without_folder_is_saved_here, clean_folder),
        cmocka_unit_test_teardown(lack_of_memory_leaves_nothing, clean_folder),
        cmocka_unit_test_teardown(what_killed_saves_of_the_same_file_left_goes, clean_folder),
    };
    return outcome(cmocka_run_group_tests(tests, make_folder, remove_folder));
}
