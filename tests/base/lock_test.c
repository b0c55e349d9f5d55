/* Locks of folders: who has one, what becomes of those of dead processes, and what is left behind. Other
   processes are children of the test, since a lock of its own does not keep a process out. */
#include "check.h"
#include "scratch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/file/lock.h"

static hd_err last;

/* A child that holds the lock until it is killed; it holds it when this returns. */
static pid_t hold(const char *folder)
{
    int ready[2];
    char word = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        static hd_lock l;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody */
        word = hd_lock_take(&l, folder, NULL) ? 'n' : 'y';
        if (write(ready[1], &word, 1) == 1) pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_second_is_told_who_is_there(void **state)
{
    (void)state;
    static hd_lock l;
    char says[64];
    pid_t child = hold(at("shared"));
    assert_int_equal(hd_lock_take(&l, at("shared"), &last), HD_EFILE);
    snprintf(says, sizeof says, "shared: process %ld is writing to this folder", (long)child);
    if (!strstr(last.text, says)) fail_msg("%s", last.text);
    assert_false(l.held);
    hd_lock_release(&l);
    assert_true(is_there(at("shared/" HD_LOCK_FILE))); /* it is the other's */
    last = (hd_err){0};
    end(child);
    assert_true(is_there(at("shared/" HD_LOCK_FILE))); /* nobody was left to remove it */
    assert_int_equal(hd_lock_take(&l, at("shared"), &last), HD_OK);
    hd_lock_release(&l);
    assert_int_equal(entries_in(at("shared")), 0);
}

/* A process on another machine cannot be asked whether it lives: its name is believed. */
static void processes_of_other_machines_are_named_with_them(void **state)
{
    (void)state;
    static hd_lock l;
    pid_t child = hold(at("far"));
    put_file(at("far/" HD_LOCK_FILE), "4 elsewhere\n");
    assert_int_equal(hd_lock_take(&l, at("far"), &last), HD_EFILE);
    if (!strstr(last.text, "far: process 4 on elsewhere is writing")) fail_msg("%s", last.text);
    last = (hd_err){0};
    put_file(at("far/" HD_LOCK_FILE), "no numbers");
    assert_int_equal(hd_lock_take(&l, at("far"), &last), HD_EFILE);
    if (!strstr(last.text, "far: another process is writing")) fail_msg("%s", last.text);
    last = (hd_err){0};
    end(child);
}

static void a_folder_that_was_made_goes_unless_it_is_used(void **state)
{
    (void)state;
    static hd_lock l;
    assert_int_equal(hd_lock_take(&l, at("new"), &last), HD_OK);
    assert_true(l.held && l.made && is_there(at("new/" HD_LOCK_FILE)));
    hd_lock_release(&l);
    hd_lock_release(&l);
    assert_false(is_there(at("new")));
    assert_int_equal(hd_lock_take(&l, at("new/"), &last), HD_OK);
    put_file(at("new/file"), "x");
    hd_lock_release(&l);
    assert_int_equal(entries_in(at("new")), 1);
    assert_int_equal(mkdir(at("old"), 0777), 0);
    assert_int_equal(hd_lock_take(&l, at("old"), &last), HD_OK);
    assert_false(l.made);
    hd_lock_release(&l);
    assert_int_equal(entries_in(at("old")), 0);
    assert_int_equal(hd_lock_take(&l, at("no/such"), &last), HD_EFILE);
    if (!strstr(last.text, "no/such: cannot make the folder")) fail_msg("%s", last.text);
    last = (hd_err){0};
}

/* Many take and give back at once: never two have it, though the file and the folder come and go. */
static void never_two_hold_one(void **state)
{
    (void)state;
    enum { CHILDREN = 4, ROUNDS = 50 };
    pid_t child[CHILDREN];
    for (int c = 0; c < CHILDREN; c++) {
        child[c] = fork();
        if (child[c]) continue;
        static hd_lock l;
        for (int had = 0; had < ROUNDS; had++) {
            while (hd_lock_take(&l, at("contested"), NULL)) usleep(100);
            if (mkdir(at("contested/mark"), 0777)) _exit(2); /* someone else is here */
            usleep(200);
            if (rmdir(at("contested/mark"))) _exit(3);
            hd_lock_release(&l);
        }
        _exit(0);
    }
    for (int c = 0; c < CHILDREN; c++) {
        int status = 0;
        assert_int_equal(waitpid(child[c], &status, 0), child[c]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_true(entries_in(at("contested")) <= 0); /* no lock is left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_is_told_who_is_there),
        cmocka_unit_test(processes_of_other_machines_are_named_with_them),
        cmocka_unit_test(a_folder_that_was_made_goes_unless_it_is_used),
        cmocka_unit_test(never_two_hold_one),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
