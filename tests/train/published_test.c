/* What is kept of a run's published model where a file system has no links, and in what order a run is
   removed. The calls of the system that matter are the test's own. */
#include "check.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "train/checkpoint.h"
#include "train/published.h"

static bool no_links, no_renames;
static char removed[16][128]; /* what was removed, or "sync", in order */
static int removals;

int link(const char *from, const char *to)
{
    if (no_links) return errno = EPERM, -1;
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int rename(const char *from, const char *to)
{
    if (no_renames) return errno = EIO, -1;
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

static void note(const char *what)
{
    if (removals < 16) snprintf(removed[removals++], sizeof removed[0], "%s", what);
}

int unlink(const char *path)
{
    note(strrchr(path, '/') + 1);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int fsync(int file)
{
    note("sync");
    return (int)syscall(SYS_fsync, file);
}

static void the_best_is_kept_without_links(void **state)
{
    (void)state;
    hd_err err = {0};
    for (int links = 0; links < 2; links++) {
        const char *folder = at("kept-%d", links);
        mkdir(folder, 0777);
        put_file(at("kept-%d/model.safetensors", links), "the best");
        no_links = !links;
        if (hd_published_keep(folder, &err)) fail_msg("%s", err.text);
        no_links = false;
        remove(at("kept-%d/model.safetensors", links));
        put_file(at("kept-%d/model.safetensors", links), "another");
        if (hd_published_restore(folder, &err)) fail_msg("%s", err.text);
        char *now = get_file(at("kept-%d/model.safetensors", links), NULL);
        assert_string_equal(now, "the best");
        free(now);
    }
}

static void what_cannot_be_kept_is_said(void **state)
{
    (void)state;
    hd_err err = {0};
    mkdir(at("lost"), 0777);
    put_file(at("lost/model.safetensors"), "the best");
    no_links = no_renames = true;
    assert_int_equal(hd_published_keep(at("lost"), &err), HD_EFILE);
    no_links = no_renames = false;
    if (!strstr(err.text, "lost/model.safetensors: cannot be kept as the best")) fail_msg("%s", err.text);
}

/* At no moment a checkpoint is named that is not there, also where a loss of power undoes what was not
 * synced.
 */
static void a_run_is_removed_by_its_name_first(void **state)
{
    (void)state;
    hd_err err = {0};
    mkdir(at("run"), 0777);
    mkdir(at("run/train"), 0777);
    mkdir(at("run/train/step-1"), 0777);
    put_file(at("run/train/step-1/state.json"), "{}");
    put_file(at("run/train/current"), "step-1\n");
    put_file(at("run/train/log.jsonl"), "");
    removals = 0;
    if (hd_checkpoint_remove(at("run"), &err)) fail_msg("%s", err.text);
    assert_true(removals >= 4);
    assert_string_equal(removed[0], "current");
    assert_string_equal(removed[1], "sync");
    assert_int_equal(entries_in(at("run")), 0);
    if (hd_checkpoint_remove(at("run"), &err)) fail_msg("%s", err.text); /* nothing is there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_kept_without_links),
        cmocka_unit_test(what_cannot_be_kept_is_said),
        cmocka_unit_test(a_run_is_removed_by_its_name_first),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
