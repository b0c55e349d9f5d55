/* heed shapes as a user meets it: the folders and files, that they agree, and what is refused. */
#include "check.h"
#include "outcome.h"
#include "shell.h"

static int prepare(void **state)
{
    shell_prepare();
    return scratch_make(state);
}

/* Without libpng there is nothing to test. */
static void need_png(void)
{
    static char out[SHELL_ROOM];
    if (shell(out, "rm -rf probe; $HEED shapes -q -n 1 -o probe") && strstr(out, "libpng"))
        leave_out("%s", out);
}

static void folders_and_files_agree(void **state)
{
    (void)state;
    need_png();
    assert_prints("$HEED shapes --images 60 --seed 4 --size 24 --out demo/ 2>&1 | head -n 1", 0,
                  "heed: wrote 48 training, 6 validation and 6 test pictures to demo/\n");
    assert_prints(
        "ls demo | tr '\\n' ' '; ls demo/train | tr '\\n' ' '", 0,
        "boxes.csv captions-varied.txt captions.txt test test.txt train train.txt val val.txt circle "
        "square triangle ");
    assert_prints(
        "cd demo; find train val test -name '*.png' | wc -l; wc -l <train.txt; wc -l <captions.txt; "
        "wc -l <captions-varied.txt",
        0, "60\n48\n60\n180\n");
    /* every picture is in one list, has boxes of its split, one caption, and is there */
    assert_prints(
        "cd demo; cat train.txt val.txt test.txt | sort >listed; find train val test -name '*.png' | "
        "sort | cmp - listed; sed 1d boxes.csv | cut -d, -f1 | sort -u | cmp - listed; cut -d'#' -f1 "
        "captions.txt | sort | cmp - listed; awk -F, 'NR > 1 && index($1, $2 \"/\") != 1' boxes.csv; "
        "rm listed",
        0, "");
    /* the class is the first box's label and the first shape of the caption */
    assert_prints(
        "cd demo; sed 1d boxes.csv | awk -F, '!seen[$1]++ { split($1, p, \"/\"); if (p[2] != $3) "
        "print }'; awk -F'\\t' '{ split($1, p, \"/\"); split($2, w, \" \"); if (w[3] != p[2]) print "
        "}' captions.txt; head -n 1 boxes.csv",
        0, "image,split,label,xmin,ymin,xmax,ymax\n");
}

static void the_seed_decides(void **state)
{
    (void)state;
    need_png();
    assert_prints(
        "$HEED shapes -q -n 300 --size 16 -o a --threads 1 && $HEED shapes -q -n 300 --size 16 -o b "
        "--threads 3 && $HEED shapes -q -n 300 --size 16 --seed 2 -o c && diff -r a b",
        0, "");
    assert_prints("cmp -s a/captions.txt c/captions.txt", 1, "");
}

static void nothing_is_overwritten_unasked(void **state)
{
    (void)state;
    need_png();
    assert_prints("mkdir kept && echo mine >kept/letter && $HEED shapes -n 3 -o kept", 1,
                  "heed shapes: kept: exists already and is not empty (--overwrite replaces it)\n");
    assert_prints("$HEED shapes -n 3 -o kept --overwrite", 1,
                  "heed shapes: kept/letter: is not of heed shapes: name another folder\n");
    assert_prints("cat kept/letter; ls kept", 0, "mine\nletter\n");
    assert_prints("$HEED shapes -q -n 20 -o again && $HEED shapes -q -n 4 -o again --overwrite && wc -l "
                  "<again/captions.txt && find again -name '*.png' | wc -l",
                  0, "4\n4\n");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_prints("$HEED shapes", 2,
                  "heed shapes: --out is required: the folder for the pictures (try 'heed help shapes')\n");
    assert_prints("$HEED shapes --size 8 -o x", 2,
                  "heed shapes: --size: 8 is not between 16 and 2048 (try 'heed help shapes')\n");
    assert_prints(
        "$HEED shapes --valid-fraction 0.6 --test-fraction 0.4 -o x", 2,
        "heed shapes: --valid-fraction and --test-fraction leave nothing to train with (try 'heed help "
        "shapes')\n");
    need_png();
    assert_prints("touch file && $HEED shapes -o file", 1, "heed shapes: file: is a file, not a folder\n");
    assert_prints("$HEED shapes -n 2 -o no/such", 1,
                  "heed shapes: no/such: cannot make the folder: No such file or directory\n");
}

static void a_killed_one_leaves_no_half(void **state)
{
    (void)state;
    need_png();
    assert_prints(
        "for n in 02 05 10 15 20 30; do rm -rf half; timeout -s KILL 0.$n $HEED shapes -q -n 2000 "
        "--size 16 -o half; case $(ls half 2>/dev/null | grep -v '^heed.lock$' | wc -l) in 0 | 9) ;; "
        "*) ls half ;; esac; done 2>/dev/null; rm -rf half; $HEED shapes -q -n 10 -o half && ls -d "
        "half*",
        0, "half\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_and_files_agree),        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(nothing_is_overwritten_unasked), cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_killed_one_leaves_no_half),
    };
    return outcome(cmocka_run_group_tests(tests, prepare, scratch_remove));
}
